//! Number fields of a header block, accepted only where GNU tar, bsdtar, Python's tarfile and
//! webdataset (which uses tarfile) read the same number: `tests/strange/numbers.rs` runs them.
//!
//! Where they differ, one of them sees a member in bytes that another skips as data. Python
//! silently ends at a header with any unreadable number, even an owner or a time, so those are
//! checked, too.

use crate::errors::error::{Error, ErrorKind, Result};

/// The largest accepted size: file offsets are signed on every system.
pub(super) const SIZE_MAX: u64 = i64::MAX as u64;

/// Returns the bytes before the first zero, or all.
pub(super) fn until_zero(field: &[u8]) -> &[u8] {
    field.iter().position(|&b| b == 0).map_or(field, |end| &field[..end])
}

/// Returns true for octal digits up to a zero byte at the end of the field: the usual form.
#[inline]
pub(super) fn is_plain(field: &[u8]) -> bool {
    let Some((0, digits)) = field.split_last() else { return false };
    // No early exit, so that the compiler compares all digits at once.
    digits.iter().fold(0, |odd, &b| odd | (b & !7 ^ b'0')) == 0
}

/// Parses an octal number: spaces, digits, then only spaces and zero bytes; `None` for all else. At
/// most 12 digits, so it cannot overflow.
///
/// Zero bytes before the digits are refused: GNU tar skips one of them, the other readers none.
pub(super) fn octal(field: &[u8]) -> Option<u64> {
    if is_plain(field) {
        let digits = &field[..field.len() - 1];
        return Some(digits.iter().fold(0, |n, &b| n << 3 | u64::from(b & 7)));
    }
    let start = field.iter().position(|&b| b != b' ')?;
    let field = &field[start..];
    let digits = field.iter().position(|b| matches!(b, b' ' | 0)).unwrap_or(field.len());
    let (digits, rest) = field.split_at(digits);
    if digits.is_empty() || !rest.iter().all(|b| matches!(b, b' ' | 0)) {
        return None;
    }
    digits.iter().try_fold(0u64, |n, &b| match b {
        b'0'..=b'7' => Some(n << 3 | u64::from(b - b'0')),
        _ => None,
    })
}

/// Parses a size field.
///
/// # Errors
/// Returns [`ErrorKind::BadHeader`] if it is not a size or readers disagree about it.
pub(super) fn size(field: &[u8]) -> Result<u64> {
    if field[0] & 0x80 == 0 {
        return octal(field).ok_or_else(|| {
            bad("size", field, "which is not an octal number that all tar readers read alike")
        });
    }
    // Base 256 (a GNU extension): big-endian after a marker bit.
    if field[0] & 0x40 != 0 {
        return Err(bad("size", field, "a size below zero"));
    }
    let (high, low) = field.split_at(4);
    match <[u8; 8]>::try_from(low).map(u64::from_be_bytes) {
        Ok(size) if high == [0x80, 0, 0, 0] && size <= SIZE_MAX => Ok(size),
        _ => Err(bad("size", field, "more bytes than any file has")),
    }
}

/// Parses the size field of a member without data, where zero bytes after optional spaces mean 0.
///
/// # Errors
/// Returns the errors of [`size`].
pub(super) fn size_without_data(field: &[u8]) -> Result<u64> {
    let empty = field.contains(&0) && field.iter().all(|b| matches!(b, b' ' | 0));
    if empty { Ok(0) } else { size(field) }
}

/// Checks a field whose value means nothing to shards but that some reader could fail to parse.
///
/// # Errors
/// Returns [`ErrorKind::BadHeader`] if it could.
pub(super) fn check(what: &str, field: &[u8]) -> Result<()> {
    let good = match field[0] {
        0x80 => fits(field, 0),
        0xff => fits(field, 0xff),
        _ => {
            let text = until_zero(field).trim_ascii_start();
            let end = text.iter().rposition(|&b| b != b' ').map_or(0, |last| last + 1);
            !until_zero(field).iter().any(|b| b.is_ascii_whitespace() && *b != b' ')
                && text[..end].iter().all(|b| matches!(b, b'0'..=b'7'))
        }
    };
    if good {
        return Ok(());
    }
    Err(bad(what, field, "at which some tar readers stop and others continue"))
}

/// Returns true if a number in base 256 fits a signed 64-bit integer, whose upper bytes are all
/// `sign`.
fn fits(field: &[u8], sign: u8) -> bool {
    let high = field.len() - 8;
    let signed = high == 0 || field[high] & 0x80 == sign & 0x80;
    signed && field[1..high.max(1)].iter().all(|&b| b == sign)
}

fn bad(what: &str, field: &[u8], why: &str) -> Error {
    let text = format!("the {what} field holds \"{}\", {why}", field.escape_ascii());
    Error::new(ErrorKind::BadHeader, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_field_has_octal_digits_and_one_zero_byte() {
        for (field, plain) in [
            (&b"0001750\0"[..], true),
            (b"00000001000\0", true),
            (b"0001750 ", false),
            (b"000175\0 ", false),
            (b"000175\0\0", false),
            (b"0001780\0", false),
            (b"/001750\0", false),
            (b"0001750", false),
            (b"\x80\0\0\0\0\0\0\0", false),
        ] {
            assert_eq!(is_plain(field), plain, "{}", field.escape_ascii());
        }
    }

    #[test]
    fn an_octal_number_has_spaces_before_it_and_zeros_or_spaces_behind() {
        for (field, want) in [
            (&b"0000017\0"[..], Some(15)),
            (b"     17 ", Some(15)),
            (b"17\0\0\0 \0 ", Some(15)),
            (b"00000017", Some(15)),
            (b"\x00000017\0", None),
            (b"  \x0017\0\0\0", None),
            (b"17\x001\0\0\0\0", None),
            (b"1 7\0\0\0\0\0", None),
            (b"\t17\0\0\0\0\0", None),
            (b"18\0\0\0\0\0\0", None),
            (b"        ", None),
            (b"\0\0\0\0\0\0\0\0", None),
        ] {
            assert_eq!(octal(field), want, "{}", field.escape_ascii());
        }
    }

    #[test]
    fn a_number_that_means_nothing_must_be_readable_all_the_same() {
        for good in [
            &b"0000017\0"[..],
            b"17\0junk\0",
            b"        ",
            b"\0\0\0\0\0\0\0\0",
            b" 17     ",
            b"\x80\xff\xff\xff\xff\xff\xff\xff",
            b"\xff\0\0\0\0\0\0\0",
            b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
            b"\x80\0\0\0\x7f\xff\xff\xff\xff\xff\xff\xff",
        ] {
            check("mtime", good).unwrap();
        }
        for refused in [
            &b"17 x\0\0\0\0"[..],
            b"x\0\0\0\0\0\0\0",
            b"-17\0\0\0\0\0",
            b"1_7\0\0\0\0\0",
            b"\x8117\0\0\0\0\0",
            b"\xc017\0\0\0\0\0",
            b"\x80\0\0\0\x80\0\0\0\0\0\0\0",
            b"\x80\0\x01\0\0\0\0\0\0\0\0\0",
            b"\xff\0\0\0\0\0\0\0\0\0\0\0",
            b"\t17\0\0\0\0\0",
        ] {
            let error = check("mtime", refused).expect_err("refused");
            assert!(error.text().starts_with("the mtime field holds"), "{error}");
        }
    }

    #[test]
    fn a_member_without_data_may_have_an_empty_size() {
        for empty in [&[0; 12][..], b"           \0", b"00000000000\0"] {
            assert_eq!(size_without_data(empty).unwrap(), 0);
        }
        assert_eq!(size_without_data(b"00000001000\0").unwrap(), 512);
        assert!(size_without_data(b"            ").is_err());
        assert!(size_without_data(b"\x00000001000\0").is_err());
    }
}
