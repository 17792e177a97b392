//! Headers and tags.

use tarflume_formats::{Error, ErrorKind, Result};

/// Bytes of the header of a file.
pub const HEADER: usize = 128;
/// Bytes of a tag.
pub const TAG: usize = 8;
/// The kind of an array of any class.
pub const MATRIX: u32 = 14;
/// The kind of an element that is compressed.
pub const COMPRESSED: u32 = 15;

/// The order of bytes of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// The lowest byte first.
    Little,
    /// The highest byte first.
    Big,
}

impl Order {
    /// Parses the header of a file.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Version`] for version 7.3, which is HDF5, and [`ErrorKind::WrongFormat`] for a file of
    /// another format.
    pub fn of_file(header: &[u8]) -> Result<Order> {
        let Some(header) = header.first_chunk::<HEADER>() else {
            let text = "this is no MAT file of version 5, which begins with a header of 128 bytes; save it with \
                        scipy.io.savemat, or in MATLAB with save -v7";
            return Err(Error::new(ErrorKind::Truncated, text).with_byte(header.len() as u64));
        };
        let order = match &header[126..] {
            b"IM" => Order::Little,
            b"MI" => Order::Big,
            _ => {
                let text = "this is no MAT file of version 5: bytes 126 and 127 are not 'IM' or 'MI'; save it with \
                            scipy.io.savemat, or in MATLAB with save -v7";
                return Err(Error::new(ErrorKind::WrongFormat, text).with_byte(126));
            }
        };
        let version = order.u16(&header[124..126]);
        match version {
            0x0100 => Ok(order),
            0x0200 => Err(Error::new(
                ErrorKind::Version,
                "this is a MAT file of version 7.3, which is HDF5",
            )
            .with_byte(124)),
            _ => {
                let text = format!("a MAT file of version {version:#06x}; version 5 is read");
                Err(Error::new(ErrorKind::Unsupported, text).with_byte(124))
            }
        }
    }

    fn u16(self, bytes: &[u8]) -> u16 {
        let bytes = *bytes.first_chunk().expect("the caller gives two bytes");
        match self {
            Order::Little => u16::from_le_bytes(bytes),
            Order::Big => u16::from_be_bytes(bytes),
        }
    }

    /// Returns the `u32` at a byte.
    pub(super) fn u32(self, bytes: &[u8], at: usize) -> u32 {
        let bytes = *bytes[at..].first_chunk().expect("the caller checked the length");
        match self {
            Order::Little => u32::from_le_bytes(bytes),
            Order::Big => u32::from_be_bytes(bytes),
        }
    }

    /// Copies numbers of `size` bytes as little-endian ones.
    pub(super) fn little(self, bytes: &[u8], size: usize) -> Vec<u8> {
        let mut numbers = bytes.to_vec();
        if self == Order::Big {
            numbers.chunks_exact_mut(size).for_each(<[u8]>::reverse);
        }
        numbers
    }
}

/// The tag of an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tag {
    /// The kind of its bytes.
    pub kind: u32,
    /// The position of its bytes, counted from the tag.
    pub data: u64,
    /// Its bytes.
    pub length: u64,
    /// The position of the next tag, counted from this one.
    pub next: u64,
}

impl Tag {
    /// Parses a tag.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Truncated`] for fewer bytes than a tag has, and [`ErrorKind::Damaged`] for a small element of
    /// more than 4 bytes.
    pub fn parse(bytes: &[u8], order: Order) -> Result<Tag> {
        if bytes.len() < TAG {
            return Err(Error::new(ErrorKind::Truncated, "the data ends inside a tag of 8 bytes"));
        }
        let first = order.u32(bytes, 0);
        let small = first >> 16;
        if small > 4 {
            let text = format!("a small element of {small} bytes, which has room for 4");
            return Err(Error::new(ErrorKind::Damaged, text));
        }
        if small > 0 {
            return Ok(Tag { kind: first & 0xffff, data: 4, length: small.into(), next: 8 });
        }
        let length = u64::from(order.u32(bytes, 4));
        // A compressed element is not padded.
        let padded = if first == COMPRESSED { length } else { length.next_multiple_of(8) };
        Ok(Tag { kind: first, data: 8, length, next: 8 + padded })
    }
}

/// Reads elements one after another.
#[derive(Debug, Clone, Copy)]
pub(super) struct Elements<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) order: Order,
    pub(super) at: usize,
}

/// One element.
#[derive(Debug, Clone, Copy)]
pub(super) struct Element<'a> {
    pub(super) kind: u32,
    pub(super) bytes: &'a [u8],
}

impl<'a> Elements<'a> {
    /// Reads the next element.
    ///
    /// # Errors
    /// Returns an error if the bytes end inside it.
    pub(super) fn next(&mut self) -> Result<Element<'a>> {
        let at = self.at;
        let rest = &self.bytes[at..]; // `at` is at most the length
        let tag = Tag::parse(rest, self.order).map_err(|e| e.with_byte(at as u64))?;
        let end = tag.data + tag.length;
        let Some(bytes) = rest.get(tag.data as usize..usize::try_from(end).unwrap_or(usize::MAX))
        else {
            let text = format!("an element of {} bytes ends after the data", tag.length);
            return Err(Error::new(ErrorKind::Truncated, text).with_byte(at as u64));
        };
        // Writers leave out the padding of the last element.
        self.at = at.saturating_add(tag.next as usize).min(self.bytes.len());
        Ok(Element { kind: tag.kind, bytes })
    }

    /// Reads the next element, which must be of this kind.
    pub(super) fn of_kind(&mut self, kinds: &[u32], what: &str) -> Result<&'a [u8]> {
        let at = self.at as u64;
        let element = self.next()?;
        if kinds.contains(&element.kind) {
            return Ok(element.bytes);
        }
        let text = format!("{what} is an element of kind {}", element.kind);
        Err(Error::new(ErrorKind::Damaged, text).with_byte(at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(version: u16, mark: &[u8; 2]) -> Vec<u8> {
        let mut header = vec![b' '; 124];
        header.extend(version.to_le_bytes());
        header.extend(mark);
        header
    }

    #[test]
    fn a_header_has_version_and_order() {
        assert_eq!(Order::of_file(&header(0x0100, b"IM")).unwrap(), Order::Little);
        assert_eq!(Order::of_file(&header(1, b"MI")).unwrap(), Order::Big);
        let newer = Order::of_file(&header(0x0200, b"IM")).unwrap_err();
        assert_eq!(newer.kind(), ErrorKind::Version);
        assert!(newer.to_string().contains("HDF5"), "{newer}");
        assert!(Order::of_file(&header(0x0300, b"IM")).is_err());
        assert!(Order::of_file(&header(0x0100, b"XX")).is_err());
        assert!(Order::of_file(&[0; 127]).is_err());
    }

    fn tag(bytes: &[u8]) -> Result<Tag> {
        Tag::parse(bytes, Order::Little)
    }

    #[test]
    fn tags_are_small_padded_or_compressed() {
        let found = tag(&[2, 0, 3, 0, 1, 2, 3, 0]).unwrap();
        assert_eq!(found, Tag { kind: 2, data: 4, length: 3, next: 8 });
        let found = tag(&[9, 0, 0, 0, 9, 0, 0, 0]).unwrap();
        assert_eq!(found, Tag { kind: 9, data: 8, length: 9, next: 24 });
        let found = tag(&[15, 0, 0, 0, 9, 0, 0, 0]).unwrap();
        assert_eq!(found.next, 17);
        assert!(tag(&[2, 0, 5, 0, 0, 0, 0, 0]).is_err());
        assert!(tag(&[2, 0, 5]).is_err());
        let mut elements =
            Elements { bytes: &[1, 0, 0, 0, 9, 0, 0, 0, 1], order: Order::Little, at: 0 };
        assert!(elements.next().is_err());
    }
}
