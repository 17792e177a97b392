//! NumPy's `npy`: the header, and exactly the bytes that type and shape need.

use tarflume_formats::npy::{Header, MAGIC, MAX_DIMS};
use tarflume_formats::{ErrorKind, Result};

use super::Looked;
use super::cursor::fault;

/// What is not looked into: NumPy itself needs pickle or a list of fields for them.
const OBJECTS: Looked = Looked::Unread("arrays of objects, records or many dimensions");

/// What is known of an array from its header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    /// Bytes of header and data.
    Known(u64),
    /// A type or shape whose size is not computed here.
    Unread,
}

/// Checks arrays that follow one another without a gap, as `numpy.save` appends them to a file.
///
/// # Errors
/// Returns the first fault.
pub(super) fn check(bytes: &[u8]) -> Result<Looked> {
    let mut at = 0;
    loop {
        let rest = &bytes[at..];
        let end = match extent(rest).map_err(|error| behind(error, at))? {
            Extent::Known(end) => end,
            Extent::Unread => return Ok(OBJECTS),
        };
        let Some(next) = usize::try_from(end).ok().filter(|&end| end <= rest.len()) else {
            let text = format!("header and shape need {end} bytes, {} are there", rest.len());
            return Err(fault(bytes.len(), text));
        };
        at += next;
        if at == bytes.len() {
            return Ok(Looked::Whole);
        }
        if !bytes[at..].starts_with(&MAGIC) {
            let more = bytes.len() - at;
            let text = format!("{more} bytes follow the array, whose shape needs {at} bytes");
            return Err(fault(at, text));
        }
    }
}

fn behind(error: tarflume_formats::Error, at: usize) -> tarflume_formats::Error {
    let byte = error.place().byte.unwrap_or(0) + at as u64;
    error.with_byte(byte)
}

/// Reads the header at the begin of an array.
///
/// # Errors
/// Returns an error if it is none.
pub(super) fn extent(bytes: &[u8]) -> Result<Extent> {
    match Header::parse(bytes) {
        Ok(header) => match header.data.checked_add(header.data_bytes()) {
            Some(end) => Ok(Extent::Known(end)),
            None => Err(fault(0, "its shape needs more bytes than a file can have")),
        },
        Err(error) if error.kind() == ErrorKind::Unsupported || has_many(bytes, &error) => {
            Ok(Extent::Unread)
        }
        Err(error) => Err(error),
    }
}

/// Returns true if a header was refused because of its number of dimensions, which NumPy allows.
fn has_many(bytes: &[u8], error: &tarflume_formats::Error) -> bool {
    let Some(byte) = error.place().byte.filter(|_| error.kind() == ErrorKind::Limit) else {
        return false;
    };
    // The place of the error is a shape or a dimension in it.
    let from = usize::try_from(byte).unwrap_or(usize::MAX).min(bytes.len());
    let open = bytes[..from].iter().rposition(|&byte| byte == b'(').unwrap_or(from);
    let shape = bytes[open..].split(|&byte| byte == b')').next().unwrap_or_default();
    (MAX_DIMS..64).contains(&shape.iter().filter(|&&byte| byte == b',').count())
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn npy(dict: &str, data: usize) -> Vec<u8> {
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        let text = format!("{dict:<117}\n");
        bytes.extend((text.len() as u16).to_le_bytes());
        bytes.extend(text.bytes());
        bytes.extend(vec![7; data]);
        bytes
    }

    #[test]
    fn an_array_has_exactly_the_bytes_of_its_shape() {
        let dict = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
        let whole = npy(dict, 24);
        assert_eq!(check(&whole).unwrap(), Looked::Whole);
        assert_eq!(check(&[whole.clone(), whole.clone()].concat()).unwrap(), Looked::Whole);
        for length in 0..whole.len() {
            assert!(check(&whole[..length]).is_err(), "cut to {length}");
        }
        let longer = check(&npy(dict, 25)).unwrap_err();
        assert_eq!(longer.place().byte, Some(whole.len() as u64), "{longer}");
        assert!(longer.text().contains("1 bytes follow the array"), "{longer}");
    }

    #[test]
    fn what_needs_more_than_a_header_is_not_looked_into() {
        for dict in [
            "{'descr': '|O', 'fortran_order': False, 'shape': (3,), }",
            "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (3,), }",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1, 1, 1, 1, 1, 1, 1, 1), }",
        ] {
            assert!(matches!(check(&npy(dict, 4)), Ok(Looked::Unread(_))), "{dict}");
        }
        let huge = "{'descr': '<f4', 'fortran_order': False, 'shape': (9999999999, 9999999999), }";
        assert!(check(&npy(huge, 4)).is_err());
    }
}
