//! The header of a NumPy `.npy` file: type, order and shape of an array, and where its data begins.
//!
//! Pure: no I/O, and no allocation but for an error's text. The format is that of
//! `numpy.lib.format`, versions 1.0, 2.0 and 3.0. Types that need Python (objects) or have no
//! single type (records) are refused here; a reader may refuse more.

mod layout;
mod text;
mod write;

use crate::errors::error::{Error, ErrorKind, Result};
use crate::message;
use crate::message::{Call, Message, Task};
pub use layout::{Dtype, MAGIC, MAX_DIMS, MAX_HEAD, Shape};
pub use write::write_header;

/// Bytes that every header has; they declare its length.
const FIRST: usize = 12;

/// The contents of a file's header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// The type of one element.
    pub dtype: Dtype,
    /// True if the first index varies fastest (column-major order).
    pub fortran: bool,
    /// The byte of the file at which the data begins.
    pub data: u64,
    shape: Shape,
    elements: u64,
    bytes: u64,
}

impl Header {
    /// Parses the header from the first bytes of a file; ignores the bytes after it.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Truncated`] if `bytes` ends inside the header,
    /// [`ErrorKind::WrongFormat`] if it is not a header, [`ErrorKind::Version`] for an unknown
    /// version, [`ErrorKind::Unsupported`] for types other than plain numbers or bytes,
    /// [`ErrorKind::Limit`] for more than [`MAX_DIMS`] dimensions or more than `u64::MAX` bytes of
    /// data. Each names the byte.
    pub fn parse(bytes: &[u8]) -> Result<Header> {
        let data = needed(bytes)?;
        let Some(head) = bytes.get(..data) else {
            let text = format!("the file ends inside its npy header of {data} bytes");
            return Err(Error::new(ErrorKind::Truncated, text).with_byte(bytes.len() as u64));
        };
        let start = if head[6] == 1 { 10 } else { 12 };
        let text::Described { dtype, fortran, shape, shape_at } = text::describe(head, start)?;
        let sizes = shape.elements().and_then(|n| Some((n, n.checked_mul(dtype.size.into())?)));
        let Some((elements, bytes)) = sizes else {
            let text = format!("an array of shape {shape} has more bytes than a file can have");
            return Err(Error::new(ErrorKind::Limit, text).with_byte(shape_at));
        };
        Ok(Header { dtype, fortran, data: data as u64, shape, elements, bytes })
    }

    /// Returns the number of elements along each dimension; empty for a scalar.
    pub fn shape(&self) -> &[u64] {
        self.shape.dims()
    }

    /// Returns the total number of elements.
    pub fn elements(&self) -> u64 {
        self.elements
    }

    /// Returns the bytes of data after the header.
    pub fn data_bytes(&self) -> u64 {
        self.bytes
    }
}

/// Returns how many bytes the header needs, as far as `bytes` shows: first the 12 that every file
/// has, then the length of the header. For readers that fetch no more than that.
///
/// # Errors
/// Returns an error if the bytes do not begin a header, or one of over [`MAX_HEAD`] bytes.
pub fn needed(bytes: &[u8]) -> Result<usize> {
    if let Some(at) = bytes.iter().zip(MAGIC).position(|(&found, magic)| found != magic) {
        let text = match bytes {
            [b'P', b'K', 3 | 5, ..] => message!(
                "this is not an npy file but a zip of arrays (npz); `{build}` packs its rows, and numpy.load \
                 reads its arrays";
                build = Call::of(Task::Build).on_stand("npz:FILE")
            ),
            _ => Message::words("this is not an npy file: it does not begin with \\x93NUMPY"),
        };
        return Err(Error::new(ErrorKind::WrongFormat, text).with_byte(at as u64));
    }
    if let Some(&major) = bytes.get(6)
        && (major == 0 || major > 3)
    {
        let text = format!("npy version {major}; this program reads 1, 2 and 3");
        return Err(Error::new(ErrorKind::Version, text).with_byte(6));
    }
    if bytes.len() < FIRST {
        return Ok(FIRST);
    }
    let short = usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    let head = match bytes[6] {
        1 => short + 10,
        _ => (short + (usize::from(u16::from_le_bytes([bytes[10], bytes[11]])) << 16)) + 12,
    };
    if head > MAX_HEAD {
        let text = format!("an npy header of {head} bytes; no more than {MAX_HEAD} are read");
        return Err(Error::new(ErrorKind::Limit, text).with_byte(8));
    }
    Ok(head.max(FIRST))
}

#[cfg(test)]
mod golden;
#[cfg(test)]
mod tests;
