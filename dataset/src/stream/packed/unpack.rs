//! `Unpack`: the bytes of a shard's tar, which may be plain, gzip or zstd.
//!
//! The compression is detected from the first bytes, never from the name. Memory is one buffer of packed bytes and
//! the decompressor's bounded window. Knows nothing of tar.

use std::io::{self, BufRead, Read};

use tarflume_formats::frames::LargeWindow;
use tarflume_types::{Error, ErrorKind, Result};

use super::members::GzipMembers;
#[cfg(feature = "zstd")]
use super::zstd_frames::ZstdFrames;
use crate::stream::raw::RawReader;

/// Packed bytes read at a time.
const PIECE: usize = 128 * 1024;
/// Number of bytes that identify the compression.
const MAGIC: usize = 4;

/// A tar's bytes, in order.
pub(in crate::stream) struct Unpack {
    form: Compression,
}

enum Compression {
    Plain(PeekReader),
    Gzip(Box<GzipMembers<PeekReader>>),
    #[cfg(feature = "zstd")]
    Zstd(ZstdFrames<PeekReader>),
}

impl Unpack {
    /// Detects the compression from the first bytes of `raw`. A zstd frame may use a window of at most
    /// `most_window` bytes.
    ///
    /// # Errors
    /// Returns an error if the bytes cannot be read.
    pub(in crate::stream) fn new(raw: RawReader, most_window: u64) -> Result<Unpack> {
        let mut front = PeekReader { raw, piece: Vec::new(), start: 0, end: 0 };
        front.peek(MAGIC).map_err(unreadable)?;
        let form = match front.piece[front.start..front.end] {
            [0x1f, 0x8b, ..] => Compression::Gzip(Box::new(GzipMembers::new(front))),
            // A zstd frame (RFC 8878, 3.1.1), or a skippable frame (3.1.2), which parallel compressors
            // write first.
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => {
                zstd(front, most_window)?
            }
            _ => Compression::Plain(front),
        };
        Ok(Unpack { form })
    }

    /// True if the tar is compressed.
    pub(in crate::stream) fn is_packed(&self) -> bool {
        !matches!(self.form, Compression::Plain(_))
    }

    /// Fills the beginning of `into` and returns its length; 0 at the end.
    ///
    /// # Errors
    /// Returns an error if the bytes cannot be read, end too early, or are not valid gzip or zstd. The
    /// byte is counted in the packed file.
    pub(in crate::stream) fn read(&mut self, into: &mut [u8]) -> Result<usize> {
        loop {
            let read = match &mut self.form {
                Compression::Plain(front) => front.read(into),
                Compression::Gzip(decoder) => decoder.read(into),
                #[cfg(feature = "zstd")]
                Compression::Zstd(decoder) => decoder.read(into),
            };
            match read {
                Ok(bytes) => return Ok(bytes),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(self.failure(e)),
            }
        }
    }

    /// Converts the error of a failed read: either the read failed or the data is invalid.
    fn failure(&mut self, cause: io::Error) -> Error {
        let cause = match cause.downcast::<Error>() {
            Ok(error) => return error, // the read itself failed, and not a decompressor above it
            Err(cause) => cause,
        };
        let (front, format) = match &mut self.form {
            Compression::Plain(front) => (front, "plain"),
            Compression::Gzip(decoder) => (decoder.get_mut(), "gzip"),
            #[cfg(feature = "zstd")]
            Compression::Zstd(decoder) => (decoder.get_mut(), "zstd"),
        };
        let byte = front.raw.at() - (front.end - front.start) as u64;
        if cause.kind() == io::ErrorKind::UnexpectedEof {
            let text = format!("the {format} data is truncated");
            return Error::new(ErrorKind::Truncated, text).with_byte(front.raw.at());
        }
        if cause.kind() == io::ErrorKind::OutOfMemory {
            let text = format!("no memory to decompress the {format} data");
            return Error::new(ErrorKind::Machine, text).with_byte(byte).with_source(cause);
        }
        if LargeWindow::is(&cause) {
            let text = "this zstd data needs a larger window than the stream's memory allows: \
                        raise its memory";
            return Error::new(ErrorKind::Limit, text).with_byte(byte).with_source(cause);
        }
        let text = format!("the {format} data is damaged here or shortly before");
        Error::new(ErrorKind::Damaged, text).with_byte(byte).with_source(cause)
    }
}

/// Begins to decompress zstd data whose window may have at most `most_window` bytes.
#[cfg(feature = "zstd")]
fn zstd(front: PeekReader, most_window: u64) -> Result<Compression> {
    let log = most_window.max(1).ilog2().clamp(10, 31);
    Ok(Compression::Zstd(ZstdFrames::new(front, log).map_err(unreadable)?))
}

/// Refuses zstd data.
#[cfg(not(feature = "zstd"))]
fn zstd(_front: PeekReader, _most_window: u64) -> Result<Compression> {
    let what = "zstd, which compressed this tar";
    Err(tarflume_types::left_out(ErrorKind::Usage, what, "zstd"))
}

fn unreadable(cause: io::Error) -> Error {
    cause
        .downcast::<Error>()
        .unwrap_or_else(|cause| Error::new(ErrorKind::Io, "cannot read").with_source(cause))
}

/// Packed bytes with a read buffer.
struct PeekReader {
    raw: RawReader,
    piece: Vec<u8>,
    start: usize,
    end: usize,
}

impl PeekReader {
    /// Reads until `want` bytes are in the buffer, or the data ends.
    fn peek(&mut self, want: usize) -> io::Result<()> {
        self.piece.resize(PIECE, 0);
        while self.end < want {
            match self.raw.read(&mut self.piece[self.end..])? {
                0 => break,
                bytes => self.end += bytes,
            }
        }
        Ok(())
    }
}

impl Read for PeekReader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        // A large read bypasses the empty buffer.
        if self.start == self.end && into.len() >= self.piece.len() / 4 {
            return self.raw.read(into);
        }
        let bytes = self.fill_buf()?.read(into)?;
        self.consume(bytes);
        Ok(bytes)
    }
}

impl BufRead for PeekReader {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
            self.end = self.raw.read(&mut self.piece)?;
        }
        Ok(&self.piece[self.start..self.end])
    }

    fn consume(&mut self, bytes: usize) {
        self.start = (self.start + bytes).min(self.end);
    }
}
