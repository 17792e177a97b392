//! `Compression`: the bytes of a tar -> frames of zstd, cut at samples and parts.
//!
//! Parts that are compressed already get frames of their own, whose blocks are not compressed. Everything between
//! them, headers included, is compressed in frames of about 128 KiB that end between two samples. Where frames end
//! depends on the tar alone, not on how its bytes arrive.

use std::collections::VecDeque;

use crate::bytes::frames::{FRAME_MAX, encode_table, is_stored, store};
use crate::bytes::zstd_codec::Compressor;
use crate::errors::error::{Error, ErrorKind, Result};

/// A frame of compressed bytes ends at the next sample after this many bytes. Measured: larger frames are a few
/// percent smaller, and take longer to decompress for one sample.
const TARGET: usize = 128 << 10;
/// A frame of compressed bytes ends here, even inside a sample.
const LARGEST: usize = 1 << 20;
/// Shorter parts are compressed with the headers around them, whatever they are.
const STORED_FROM: u64 = 4096;

/// Something about the tar that determines where frames end.
#[derive(Debug, Clone, Copy)]
enum Mark {
    /// A sample begins at this byte.
    Sample(u64),
    /// A part that is stored begins and ends at these bytes.
    Stored(u64, u64),
}

impl Mark {
    fn at(self) -> u64 {
        match self {
            Mark::Sample(at) | Mark::Stored(at, _) => at,
        }
    }
}

/// What a writer returns to when a sample is abandoned.
#[derive(Debug, Clone, Default)]
struct State {
    /// Bytes of the tar that were taken.
    taken: u64,
    /// The end of the part that is being stored, if one is.
    stored_to: Option<u64>,
    /// The bytes of the frame that is not yet written.
    pending: Vec<u8>,
    /// Bytes of the file.
    written: u64,
    /// The ends of frames: in the file, in the tar.
    ends: Vec<(u64, u64)>,
}

/// Compresses one shard.
pub(super) struct Compression {
    compressor: Compressor,
    marks: VecDeque<Mark>,
    state: State,
    kept: Option<State>,
}

impl std::fmt::Debug for Compression {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Compression({} frames)", self.state.ends.len())
    }
}

impl Compression {
    /// Creates a compressor with this level of zstd, 1 to 22.
    ///
    /// # Errors
    /// Returns an error if memory is exhausted.
    pub(super) fn new(level: i32) -> Result<Compression> {
        fn failed(e: std::io::Error) -> Error {
            Error::io(e, "begin", "the compression")
        }
        let mut compressor = Compressor::new(level).map_err(failed)?;
        compressor.include_checksum().map_err(failed)?;
        Ok(Compression { compressor, marks: VecDeque::new(), state: State::default(), kept: None })
    }

    /// Notes that a sample begins at this byte of the tar.
    pub(super) fn sample(&mut self, at: u64) {
        self.marks.push_back(Mark::Sample(at));
    }

    /// Notes that the data of a part is at these bytes of the tar.
    pub(super) fn part(&mut self, ext: &[u8], at: u64, length: u64) {
        if length >= STORED_FROM && is_stored(ext) {
            self.marks.push_back(Mark::Stored(at, at + length));
        }
    }

    /// Keeps the state, which [`Compression::roll_back`] returns to. All bytes before the sample have been taken.
    pub(super) fn keep(&mut self) {
        self.kept = Some(self.state.clone());
    }

    /// Forgets the kept state.
    pub(super) fn forget(&mut self) {
        self.kept = None;
    }

    /// Forgets the sample that begins at `first`; returns the length of the file before it, if a state was kept.
    pub(super) fn roll_back(&mut self, first: u64) -> Option<u64> {
        self.marks.retain(|mark| mark.at() < first);
        self.state = self.kept.take()?;
        Some(self.state.written)
    }

    /// Takes the next bytes of the tar, and appends complete frames to `out`.
    ///
    /// # Errors
    /// Returns an error if the compression fails.
    pub(super) fn take(&mut self, mut bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
        while !bytes.is_empty() {
            let at = self.state.taken;
            if self.state.stored_to.is_none()
                && let Some(mark) = self.marks.front().copied().filter(|mark| mark.at() <= at)
            {
                self.marks.pop_front();
                self.meet(mark, out)?;
                continue;
            }
            let next = match self.state.stored_to {
                Some(end) => end,
                None => self.marks.front().map_or(u64::MAX, |mark| mark.at()),
            };
            let room = self.limit() - self.state.pending.len();
            let length = (next - at).min(bytes.len() as u64).min(room as u64) as usize;
            self.state.pending.extend_from_slice(&bytes[..length]);
            self.state.taken += length as u64;
            bytes = &bytes[length..];
            let is_part_over = self.state.stored_to == Some(self.state.taken);
            if is_part_over || self.state.pending.len() == self.limit() {
                self.close(out)?;
            }
            if is_part_over {
                self.state.stored_to = None;
            }
        }
        Ok(())
    }

    /// Returns the largest size of the frame that is being filled.
    fn limit(&self) -> usize {
        if self.state.stored_to.is_some() { FRAME_MAX } else { LARGEST }
    }

    fn meet(&mut self, mark: Mark, out: &mut Vec<u8>) -> Result<()> {
        match mark {
            Mark::Sample(_) if self.state.pending.len() >= TARGET => self.close(out),
            Mark::Sample(_) => Ok(()),
            Mark::Stored(_, end) => {
                self.close(out)?;
                self.state.stored_to = Some(end);
                Ok(())
            }
        }
    }

    /// Ends the frame.
    fn close(&mut self, out: &mut Vec<u8>) -> Result<()> {
        let State { pending, stored_to, written, ends, taken, .. } = &mut self.state;
        if pending.is_empty() {
            return Ok(());
        }
        let before = out.len();
        if stored_to.is_some() {
            store(pending, out);
        } else {
            let compressed = self.compressor.compress(pending);
            out.extend_from_slice(&compressed.map_err(|e: std::io::Error| {
                Error::new(ErrorKind::Io, format!("zstd cannot compress a piece of the shard: {e}"))
            })?);
        }
        pending.clear();
        *written += (out.len() - before) as u64;
        ends.push((*written, *taken));
        Ok(())
    }

    /// Ends the file: appends the last frame and the table to `out`. Returns the ends of all frames, in the file and
    /// in the tar.
    ///
    /// # Errors
    /// Returns an error if the compression fails, or for more frames than a table can count.
    pub(super) fn finish(mut self, out: &mut Vec<u8>) -> Result<Vec<(u64, u64)>> {
        self.close(out)?;
        out.extend_from_slice(&encode_table(&self.state.ends)?);
        Ok(self.state.ends)
    }
}
