//! `TarReader`: walks the tar at a path and returns the bytes of its members.
//!
//! The I/O loop around [`crate::tar::Walk`], with two modes: headers only, skipping data; or every
//! byte in order, with the digest of the whole as a by-product. Memory is one window, whatever
//! sizes the headers declare.

use std::fmt;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use crate::bytes::checksum::{Crc, Digest};
use crate::disk::files;
use crate::errors::error::{Error, ErrorKind, Result};
use crate::index::TarFacts;
use crate::parts::name;
use crate::tar::{BLOCK, Event, Member, Walk, behind_end};

/// Bytes per read in the mode for every byte.
const PIECE: usize = 256 * 1024;
/// Bytes per read after a jump in the mode for headers; doubled while jumps stay short.
const PEEK: usize = 4 * 1024;

/// How much of a tar is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// Headers, and the data that the caller requests.
    Headers,
    /// Every byte, hashed.
    Everything,
}

/// Bytes that can be read at any place: those of a file, or of a tar that is no file of this machine.
pub trait ReadAt: fmt::Debug + Send + Sync {
    /// Fills `into` with the bytes from byte `at` on.
    ///
    /// # Errors
    /// Returns an error if they cannot be read, `UnexpectedEof` if there are fewer.
    fn read_exact_at(&self, into: &mut [u8], at: u64) -> io::Result<()>;
}

impl ReadAt for File {
    fn read_exact_at(&self, into: &mut [u8], at: u64) -> io::Result<()> {
        files::read_exact_at(self, into, at)
    }
}

/// Reads a tar member by member.
#[derive(Debug)]
pub struct TarReader {
    file: Box<dyn ReadAt>,
    path: PathBuf,
    length: u64,
    walk: Walk,
    window: Vec<u8>,
    /// Byte of the tar at the start of the window.
    at: u64,
    filled: usize,
    /// Bytes to read at the next jump.
    peek: usize,
    hasher: Option<blake3::Hasher>,
    /// Bytes of the tar that were hashed.
    hashed: u64,
    /// End markers before this byte do not end the tar.
    read_on: u64,
    /// Where the first tar behind an end marker begins, once found.
    joined: Option<u64>,
    /// Start of the end marker, once found.
    end: Option<u64>,
}

impl TarReader {
    /// The largest member that [`data`](Self::data) returns, in bytes.
    pub const MAX_WHOLE: u64 = 1 << 30;

    /// Opens the tar at `path`.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses or `path` is not a regular file.
    pub fn open(path: impl AsRef<Path>, reading: Reading) -> Result<TarReader> {
        let path = path.as_ref();
        let (file, found) = files::open(path)?;
        Ok(TarReader::of(Box::new(file), path, found.len(), reading))
    }

    /// Reads an open file. Errors name `path`.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses to state its length.
    pub fn of_file(file: File, path: impl AsRef<Path>, reading: Reading) -> Result<TarReader> {
        let path = path.as_ref();
        let found = file.metadata().map_err(|e| Error::io(e, "look at", path))?;
        Ok(TarReader::of(Box::new(file), path, found.len(), reading))
    }

    /// Reads a tar of `length` bytes. Errors name `path`.
    pub fn of(
        file: Box<dyn ReadAt>,
        path: impl AsRef<Path>,
        length: u64,
        reading: Reading,
    ) -> TarReader {
        let path = path.as_ref();
        TarReader {
            file,
            path: path.to_path_buf(),
            length,
            walk: Walk::new(),
            window: Vec::new(),
            at: 0,
            filled: 0,
            peek: PEEK,
            hasher: (reading == Reading::Everything).then(blake3::Hasher::new),
            hashed: 0,
            read_on: 0,
            joined: None,
            end: None,
        }
    }

    /// Reads on behind end markers, as `tar --ignore-zeros` does, for tars that were joined; without
    /// this, bytes other than zeros behind the first end marker are an error.
    #[must_use]
    pub fn ignore_zeros(self, yes: bool) -> TarReader {
        self.read_on_until(if yes { u64::MAX } else { 0 })
    }

    /// Reads on behind end markers before byte `until`: a sidecar of joined tars lists samples up to
    /// there.
    #[must_use]
    pub fn read_on_until(mut self, until: u64) -> TarReader {
        self.read_on = self.read_on.max(until);
        self.walk = self.walk.ignoring_zeros(self.read_on);
        self
    }

    /// Returns the bytes of the tar.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Returns the next member, of any kind; `None` after the end marker.
    ///
    /// # Errors
    /// Returns the errors of [`Walk::step`], [`ErrorKind::AfterEnd`] if more than zeros follows the
    /// end marker (the next call then returns `None`), and an error if the operating system refuses to
    /// read.
    pub fn next_member(&mut self) -> Result<Option<Member>> {
        loop {
            if self.end.is_some() {
                return Ok(None);
            }
            let (offset, length) = self.walk.want();
            if offset.checked_add(length as u64).is_none_or(|end| end > self.length) {
                // A file shorter than a header may still be recognizable, for example as gzip.
                if offset == 0 && self.length > 0 && self.length < length as u64 {
                    self.load(0, self.length as usize)?;
                    let short = self.walk.step(&self.window[..self.length as usize]);
                    return short.map(|_| None).map_err(|e| e.with_path(&self.path));
                }
                return Err(self.walk.eof(self.length).with_path(&self.path));
            }
            self.load(offset, length)?;
            let start = (offset - self.at) as usize;
            let step = self.walk.step(&self.window[start..start + length]);
            match step.map_err(|e| e.with_path(&self.path))? {
                Some(Event::Member(member)) if member.end() > self.length => {
                    return Err(self.cut(&member));
                }
                Some(Event::Member(member)) => return Ok(Some(member)),
                Some(Event::End { offset }) => self.after_end(offset)?,
                None => {}
            }
        }
    }

    /// Examines what follows the end marker at `end`: zeros end the tar.
    fn after_end(&mut self, end: u64) -> Result<()> {
        self.end = Some(end);
        let Some(at) = self.first_nonzero_from(end + 2 * BLOCK)? else { return Ok(()) };
        let block = at / BLOCK * BLOCK;
        if at < self.read_on {
            self.end = None;
            self.joined.get_or_insert(block);
            self.walk.read_on(block);
            return Ok(());
        }
        let length = BLOCK.min(self.length - block) as usize;
        self.load(block, length)?;
        let start = (block - self.at) as usize;
        let error = behind_end(end, at, &self.window[start..start + length]);
        Err(error.with_path(&self.path))
    }

    /// Returns the error for a member whose data ends past the end of the file, before its data is
    /// read.
    fn cut(&self, member: &Member) -> Error {
        let missing = member.end() - self.length;
        let text = format!(
            "the tar ends inside this member: {missing} of the {} bytes of its data and padding are missing",
            member.end() - member.data
        );
        Error::new(ErrorKind::Truncated, text)
            .with_path(&self.path)
            .with_byte(member.first)
            .with_key(name::shown(&member.name))
    }

    /// Returns the byte at which the next header is expected.
    pub fn position(&self) -> u64 {
        self.walk.want().0
    }

    /// Continues at `offset`, which must be a member's first header or the end marker: past damage,
    /// at a position from a sidecar, or to examine one member.
    pub fn resume_at(&mut self, offset: u64) {
        self.walk = Walk::at(offset).ignoring_zeros(self.read_on);
        self.end = None;
    }

    /// Returns where the first tar behind an end marker begins, if the reader has read on there.
    pub fn joined(&self) -> Option<u64> {
        self.joined
    }

    /// Returns the start of the end marker, once [`TarReader::next_member`] has returned `None`.
    pub fn end(&self) -> Option<u64> {
        self.end
    }

    /// Returns the whole data of the member.
    ///
    /// # Errors
    /// Returns an error if it is longer than [`TarReader::MAX_WHOLE`] or the operating system refuses to read.
    pub fn data(&mut self, member: &Member) -> Result<&[u8]> {
        if member.size > Self::MAX_WHOLE {
            let text = format!("{} bytes are too many to hold in memory", member.size);
            return Err(Error::new(ErrorKind::Limit, text)
                .with_path(&self.path)
                .with_byte(member.data)
                .with_key(name::shown(&member.name)));
        }
        let length = member.size as usize;
        self.load(member.data, length)?;
        let start = (member.data - self.at) as usize;
        Ok(&self.window[start..start + length])
    }

    /// Returns the crc32c of the member's data, read in pieces.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses to read.
    pub fn checksum(&mut self, member: &Member) -> Result<u32> {
        let mut crc = Crc::new();
        let mut done = 0;
        while done < member.size {
            let piece = (member.size - done).min(PIECE as u64) as usize;
            self.load(member.data + done, piece)?;
            let start = (member.data + done - self.at) as usize;
            crc.update(&self.window[start..start + piece]);
            done += piece as u64;
        }
        Ok(crc.value())
    }

    /// Reads to the end of the file, end marker and padding, and returns length and digest.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses to read.
    pub fn finish(mut self) -> Result<TarFacts> {
        if self.hasher.is_some() {
            self.load(self.length, 0)?;
        }
        let digest: Option<Digest> = self.hasher.map(|h| h.finalize());
        Ok(TarFacts { length: self.length, digest })
    }

    /// Returns true if all bytes from `offset` to the end of the file are zeros.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses to read.
    pub fn only_zeros_from(&mut self, offset: u64) -> Result<bool> {
        Ok(self.first_nonzero_from(offset)?.is_none())
    }

    /// Returns the first byte from `offset` on that is not zero; `None` if there is none.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses to read.
    pub(crate) fn first_nonzero_from(&mut self, offset: u64) -> Result<Option<u64>> {
        let mut at = offset;
        while at < self.length {
            let piece = (self.length - at).min(PIECE as u64) as usize;
            self.load(at, piece)?;
            let start = (at - self.at) as usize;
            let nonzero = self.window[start..start + piece].iter().position(|&b| b != 0);
            if let Some(place) = nonzero {
                return Ok(Some(at + place as u64));
            }
            at += piece as u64;
        }
        Ok(None)
    }

    /// Loads `length` bytes at `offset` into the window. They must be inside the file.
    fn load(&mut self, offset: u64, length: usize) -> Result<()> {
        let have = self.at..self.at + self.filled as u64;
        if have.contains(&offset) && offset + length as u64 <= have.end {
            return Ok(());
        }
        if self.hasher.is_some() {
            self.load_in_order(offset, length)
        } else {
            self.jump(offset, length)
        }
    }

    /// Headers only: discards the window and reads at `offset`, more if the last reads were close
    /// together.
    fn jump(&mut self, offset: u64, length: usize) -> Result<()> {
        let near = offset < self.at + 2 * self.filled.max(PEEK) as u64;
        self.peek = if near { (self.peek * 2).min(PIECE) } else { PEEK };
        self.at = offset;
        self.filled = 0;
        let want = (self.peek.max(length) as u64).min(self.length - offset) as usize;
        self.read_more(want)
    }

    /// Everything: hashes each byte once, in order. A gap is read and hashed on the way; bytes that
    /// are requested again are read again but not hashed again.
    fn load_in_order(&mut self, offset: u64, length: usize) -> Result<()> {
        if offset < self.at {
            self.at = offset;
            self.filled = 0;
        }
        let mut end = self.at + self.filled as u64;
        while end < offset {
            self.at = end;
            self.filled = 0;
            let piece = (offset - end).min(PIECE as u64) as usize;
            self.read_more(piece)?;
            end = self.at + self.filled as u64;
        }
        let keep = (offset - self.at) as usize;
        self.window.copy_within(keep..self.filled, 0);
        self.at = offset;
        self.filled -= keep;
        let want = (length.max(PIECE) as u64).min(self.length - offset) as usize;
        self.read_more(want.saturating_sub(self.filled))
    }

    fn read_more(&mut self, length: usize) -> Result<()> {
        let end = self.filled + length;
        if self.window.len() < end {
            self.window.resize(end, 0);
        }
        let piece = &mut self.window[self.filled..end];
        let from = self.at + self.filled as u64;
        self.file
            .read_exact_at(piece, from)
            .map_err(|e| Error::io(e, "read", &self.path).with_byte(from))?;
        if let Some(hasher) = &mut self.hasher {
            let seen = self.hashed.saturating_sub(from).min(piece.len() as u64) as usize;
            hasher.update(&piece[seen..]);
            self.hashed = self.hashed.max(from + piece.len() as u64);
        }
        self.filled = end;
        Ok(())
    }
}
