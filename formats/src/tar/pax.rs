//! The records of a pax extended header (IEEE Std 1003.1, pax): `len key=value\n`, where `len`
//! counts the whole record.
//!
//! Reads only the keys that move or rename a member (path, size) or make it one we refuse (sparse);
//! writes only path and size. Knows nothing of blocks and offsets.

use crate::errors::error::{Error, ErrorKind, Result};
use crate::tar::number::SIZE_MAX;

/// The number of digits of a time in seconds that always fits 64 bits.
const TIME_DIGITS: usize = 18;

/// The records of one pax header that matter for the next member.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Records {
    /// The member's name.
    pub(super) path: Option<Vec<u8>>,
    /// Bytes of the member's data.
    pub(super) size: Option<u64>,
    /// Set if the member is a GNU sparse file: its true name, empty if `path` holds that.
    pub(super) sparse: Option<Vec<u8>>,
}

impl Records {
    /// Parses all records. Of a repeated key the later one counts, as POSIX requires. By POSIX an
    /// empty value cancels other headers; readers take it as an empty name or size, so it is
    /// refused.
    pub(super) fn parse(bytes: &[u8]) -> Result<Records> {
        let mut found = Records::default();
        let mut rest = bytes;
        // Some writers count the padding after the last record as part of the records.
        while rest.first().is_some_and(|&b| b != 0) {
            let (key, value, after) = split_record(rest)?;
            found.note(key, value)?;
            rest = after;
        }
        if rest.iter().any(|&b| b != 0) {
            return Err(bad("bytes follow the zeros after the last pax record".into()));
        }
        Ok(found)
    }

    fn note(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        match key {
            b"path" if value.contains(&0) => Err(bad("the pax path holds a zero byte".into())),
            b"path" | b"size" if value.is_empty() => {
                let key = String::from_utf8_lossy(key);
                Err(bad(format!("the pax {key} is empty: readers of tars disagree about it")))
            }
            b"path" => {
                self.path = Some(value.to_vec());
                Ok(())
            }
            b"size" => {
                let size = decimal(value).filter(|&size| size <= SIZE_MAX).ok_or_else(|| {
                    bad(format!(
                        "the pax size is {}, which is not a number of bytes",
                        quoted(value)
                    ))
                })?;
                self.size = Some(size);
                Ok(())
            }
            b"GNU.sparse.name" => {
                self.sparse = Some(value.to_vec());
                Ok(())
            }
            b"mtime" if whole_digits(value) > TIME_DIGITS => {
                Err(bad(format!("the pax mtime is {}: some readers end at it", quoted(value))))
            }
            // star's key; bsdtar replaces the size by it.
            b"SCHILY.realsize" => {
                self.sparse.get_or_insert_default();
                Ok(())
            }
            _ if key.starts_with(b"GNU.sparse.") => {
                self.sparse.get_or_insert_default();
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// Counts the digits of a time before its fraction.
fn whole_digits(value: &[u8]) -> usize {
    value
        .trim_ascii_start()
        .iter()
        .skip_while(|b| !b.is_ascii_digit())
        .take_while(|b| b.is_ascii_digit())
        .count()
}

/// Splits the first record into key and value and returns the bytes after it. `rest` must not be
/// empty.
fn split_record(rest: &[u8]) -> Result<(&[u8], &[u8], &[u8])> {
    // A u64 has at most 20 digits, so a longer search is useless.
    let space = rest.iter().take(21).position(|&b| b == b' ');
    let space = space.ok_or_else(|| wrong_record("does not start with its length", rest))?;
    let len = decimal(&rest[..space]).and_then(|n| usize::try_from(n).ok());
    let len = len.ok_or_else(|| wrong_record("does not start with its length", rest))?;
    let record = rest.get(space + 1..len);
    let record =
        record.ok_or_else(|| wrong_record("has a length that does not fit its header", rest))?;
    let record = record
        .strip_suffix(b"\n")
        .ok_or_else(|| wrong_record("does not end in a newline", rest))?;
    match record.iter().position(|&b| b == b'=') {
        None | Some(0) => Err(wrong_record("has no key", rest)),
        Some(equals) => Ok((&record[..equals], &record[equals + 1..], &rest[len..])),
    }
}

fn wrong_record(why: &str, rest: &[u8]) -> Error {
    bad(format!("the pax record at {} {why}", quoted(rest)))
}

/// Parses plain decimal digits only: no sign, no space.
fn decimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u64, |n, &b| match b {
        b'0'..=b'9' => n.checked_mul(10)?.checked_add(u64::from(b - b'0')),
        _ => None,
    })
}

/// Returns the bytes of a record, including its own length field.
pub(super) fn record_len(key: &[u8], value_len: usize) -> usize {
    let body = key.len() + value_len + " =\n".len();
    // The length counts its own digits, so one more digit can push it over a power of ten.
    body + digits(body + digits(body))
}

fn digits(n: usize) -> usize {
    n.checked_ilog10().map_or(1, |log| log as usize + 1)
}

/// Appends one record.
pub(super) fn push_record(out: &mut Vec<u8>, key: &[u8], value: &[u8]) {
    out.extend_from_slice(record_len(key, value.len()).to_string().as_bytes());
    out.push(b' ');
    out.extend_from_slice(key);
    out.push(b'=');
    out.extend_from_slice(value);
    out.push(b'\n');
}

fn bad(text: String) -> Error {
    Error::new(ErrorKind::BadHeader, text)
}

/// Returns the first bytes of foreign text, escaped for one line.
fn quoted(bytes: &[u8]) -> String {
    format!("\"{}\"", bytes[..bytes.len().min(32)].escape_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text_of(bytes: &[u8]) -> String {
        let error = Records::parse(bytes).expect_err("refused");
        assert_eq!(error.kind(), ErrorKind::BadHeader);
        error.text().to_owned()
    }

    #[test]
    fn path_and_size_are_read_and_other_keys_passed_over() {
        let found = Records::parse(b"22 mtime=1700000000.5\n12 path=a b\n12 size=513\n");
        let want = Records { path: Some(b"a b".to_vec()), size: Some(513), sparse: None };
        assert_eq!(found.expect("good records"), want);
    }

    #[test]
    fn a_value_may_hold_newlines_and_equals_signs() {
        let found = Records::parse(b"14 path=a\n=b\n\n").expect("good records");
        assert_eq!(found.path.as_deref(), Some(&b"a\n=b\n"[..]));
    }

    #[test]
    fn the_later_record_counts_and_an_empty_one_is_refused() {
        let found = Records::parse(b"9 path=a\n9 path=b\n9 size=1\n9 size=2\n").expect("good");
        assert_eq!(found, Records { path: Some(b"b".to_vec()), size: Some(2), sparse: None });
        for empty in [&b"9 path=a\n8 path=\n"[..], b"9 size=1\n8 size=\n", b"8 size=\n"] {
            assert!(text_of(empty).contains("is empty"), "{}", empty.escape_ascii());
        }
    }

    #[test]
    fn a_time_that_overflows_some_reader_is_refused() {
        for good in ["1700000000.123456789", "-1.5", "x", "", "999999999999999999"] {
            let mut out = Vec::new();
            push_record(&mut out, b"mtime", good.as_bytes());
            assert_eq!(Records::parse(&out).expect("good"), Records::default(), "{good}");
        }
        assert!(text_of(b"30 mtime=99999999999999999999\n").contains("some readers end"));
    }

    #[test]
    fn sparse_is_noticed() {
        let major = Records::parse(b"22 GNU.sparse.major=1\n").expect("good");
        assert_eq!(major.sparse, Some(Vec::new()));
        let named = Records::parse(b"21 GNU.sparse.name=a\n22 GNU.sparse.major=1\n");
        assert_eq!(named.expect("good").sparse, Some(b"a".to_vec()));
        let star = Records::parse(b"24 SCHILY.realsize=1024\n");
        assert_eq!(star.expect("good").sparse, Some(Vec::new()));
    }

    #[test]
    fn nothing_and_zeros_after_the_records_are_fine() {
        assert_eq!(Records::parse(b"").expect("good"), Records::default());
        assert_eq!(Records::parse(b"9 path=a\n\0\0\0").expect("good").path, Some(b"a".to_vec()));
    }

    #[test]
    fn false_records_are_refused() {
        for start in [
            "path=a\n",
            " 9 path=a\n",
            "x path=a\n",
            "+9 path=a\n",
            "99999999999999999999999 a=b\n",
        ] {
            assert!(
                text_of(start.as_bytes()).contains("does not start with its length"),
                "{start}"
            );
        }
        for length in ["0 path=a\n", "1 path=a\n", "11 path=a\n", "18446744073709551615 a=b\n"] {
            assert!(text_of(length.as_bytes()).contains("does not fit"), "{length}");
        }
        assert!(text_of(b"8 path=a\n").contains("newline"));
        assert!(text_of(b"2 path=a\n").contains("newline"));
        assert!(text_of(b"8 patha\n").contains("no key"));
        assert!(text_of(b"5 =a\n").contains("no key"));
        assert!(text_of(b"12 path=a\0b\n").contains("zero byte"));
        assert!(text_of(b"11 size=-1\n").contains("\"-1\""));
        assert!(text_of(b"29 size=18446744073709551616\n").contains("not a number"));
        assert!(text_of(b"9 path=a\n\0x").contains("after the last"));
    }

    #[test]
    fn the_length_counts_itself_also_across_a_power_of_ten() {
        for n in 0..2_000 {
            let mut out = Vec::new();
            push_record(&mut out, b"path", &vec![b'v'; n]);
            assert_eq!(out.len(), record_len(b"path", n));
            let stored: String =
                out.iter().take_while(|b| **b != b' ').map(|&b| b as char).collect();
            assert_eq!(stored, out.len().to_string());
        }
    }

    proptest! {
        #[test]
        fn written_data_are_read_back(path in prop::collection::vec(1u8.., 1..300), size in 0..=SIZE_MAX) {
            let mut out = Vec::new();
            push_record(&mut out, b"path", &path);
            push_record(&mut out, b"size", size.to_string().as_bytes());
            let want = Records { path: Some(path), size: Some(size), sparse: None };
            prop_assert_eq!(Records::parse(&out).expect("good"), want);
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in "[0-9]{0,3} ?[a-z=\n]{0,20}[0-9 =\n\0]{0,30}") {
            let _ = Records::parse(bytes.as_bytes());
        }
    }
}
