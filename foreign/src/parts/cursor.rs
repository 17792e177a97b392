//! A place in bytes that moves forward; every read checks that the bytes exist.

use tarflume_formats::message::Message;
use tarflume_formats::{Error, ErrorKind, Result};

/// Bytes, and how many of them were read.
#[derive(Debug, Clone)]
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

/// Returns the error of a part that is not what its extension says, at this byte.
pub(super) fn fault(at: usize, text: impl Into<Message>) -> Error {
    Error::new(ErrorKind::Damaged, text).with_byte(at as u64)
}

impl<'a> Cursor<'a> {
    /// Begins at the first byte.
    pub(super) fn new(bytes: &'a [u8]) -> Cursor<'a> {
        Cursor { bytes, at: 0 }
    }

    /// Begins at byte `at`, or at the end if there are fewer bytes.
    pub(super) fn from(bytes: &'a [u8], at: usize) -> Cursor<'a> {
        Cursor { bytes, at: at.min(bytes.len()) }
    }

    /// Returns the byte that is read next.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// Returns the number of bytes that were not read.
    pub(super) fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// Returns true if all bytes were read.
    pub(super) fn is_done(&self) -> bool {
        self.left() == 0
    }

    /// Returns the bytes that were not read.
    pub(super) fn rest(&self) -> &'a [u8] {
        &self.bytes[self.at..]
    }

    /// Reads `count` bytes of `what`.
    ///
    /// # Errors
    /// Returns an error if there are fewer.
    pub(super) fn take(&mut self, count: u64, what: &str) -> Result<&'a [u8]> {
        let left = self.left();
        let Some(taken) = usize::try_from(count).ok().and_then(|count| self.rest().get(..count))
        else {
            let text = format!("it ends inside {what}: {count} bytes are stated, {left} are there");
            return Err(fault(self.at, text));
        };
        self.at += taken.len();
        Ok(taken)
    }

    /// Reads an array of bytes of `what`.
    ///
    /// # Errors
    /// Returns an error if there are fewer bytes.
    pub(super) fn array<const N: usize>(&mut self, what: &str) -> Result<[u8; N]> {
        let taken = self.take(N as u64, what)?;
        Ok(*taken.first_chunk().expect("take returns as many bytes as it was asked for"))
    }

    /// Reads one byte of `what`.
    ///
    /// # Errors
    /// Returns an error at the end.
    pub(super) fn byte(&mut self, what: &str) -> Result<u8> {
        self.array::<1>(what).map(|[byte]| byte)
    }

    /// Reads the bytes up to the next line feed, and the line feed.
    ///
    /// # Errors
    /// Returns an error if none follows.
    pub(super) fn line(&mut self, what: &str) -> Result<&'a [u8]> {
        let Some(length) = self.rest().iter().position(|&byte| byte == b'\n') else {
            return Err(fault(self.at, format!("it ends inside {what}: its line has no end")));
        };
        let taken = self.take(length as u64 + 1, what)?;
        Ok(&taken[..length])
    }
}
