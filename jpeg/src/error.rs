//! The error type: what is wrong with a JPEG or with a request, and where.

use std::fmt;

/// The result of everything that can fail here.
pub type Result<T> = std::result::Result<T, Error>;

/// The kind of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The bytes are not a whole JPEG: truncated, overwritten, or never one.
    Damaged,
    /// A whole JPEG of a kind that is not decoded.
    Unsupported,
    /// More pixels or more memory than allowed.
    Limit,
    /// An excerpt does not hold what its entry points lead to, or has changed: the whole JPEG may be good.
    Excerpt,
    /// An invalid request: a region outside the picture, or too small a buffer.
    Usage,
}

/// An error with its place in the bytes.
#[derive(Clone, PartialEq, Eq)]
pub struct Error(Box<Inner>);

#[derive(Clone, PartialEq, Eq)]
struct Inner {
    kind: ErrorKind,
    text: String,
    byte: Option<u64>,
    row: Option<u32>,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, text: impl Into<String>) -> Error {
        Error(Box::new(Inner { kind, text: text.into(), byte: None, row: None }))
    }

    pub(crate) fn damaged(byte: usize, text: impl Into<String>) -> Error {
        Error::new(ErrorKind::Damaged, text).at(byte)
    }

    pub(crate) fn at(mut self, byte: usize) -> Error {
        self.0.byte = Some(byte as u64);
        self
    }

    pub(crate) fn in_row(mut self, row: u32) -> Error {
        self.0.row = Some(row);
        self
    }

    /// Returns the kind of error.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Returns what was found and what was expected, without the place.
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// Returns the byte at which it was noticed, counted from the start of the JPEG.
    pub fn byte(&self) -> Option<u64> {
        self.0.byte
    }

    /// Returns the row of MCUs (coded units of 8 or 16 lines) in which it was noticed, from 0.
    pub fn mcu_row(&self) -> Option<u32> {
        self.0.row
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(byte) = self.0.byte {
            write!(f, "byte {byte}")?;
            match self.0.row {
                Some(row) => write!(f, ", MCU row {row}: ")?,
                None => f.write_str(": ")?,
            }
        }
        f.write_str(&self.0.text)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {self}", self.0.kind)
    }
}

impl std::error::Error for Error {}
