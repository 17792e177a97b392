//! Python's pickles: a walk over their operations. Nothing is executed, imported or built.
//!
//! The operations and their arguments are those of CPython's `pickletools`, protocols 0 to 5.

use tarflume_formats::Result;

use super::Looked;
use super::cursor::{Cursor, fault};

/// The operation that ends a pickle.
const STOP: u8 = b'.';
/// A buffer that is outside of the pickle, which `pickle.loads` needs as an argument.
const NEXT_BUFFER: u8 = 0x97;

/// What follows an operation.
enum Argument {
    /// So many bytes.
    Bytes(u64),
    /// So many lines of text.
    Lines(u8),
    /// A length of so many bytes, and as many bytes as it states.
    Counted(u64),
}

/// Walks over pickles that follow one another without a gap, as `pickle.dump` appends them to a file.
///
/// # Errors
/// Returns an error at the first operation that does not exist or is cut.
pub(super) fn check(bytes: &[u8]) -> Result<Looked> {
    let mut cursor = Cursor::new(bytes);
    let mut looked = Looked::Whole;
    loop {
        let begin = cursor.at();
        match walk(&mut cursor) {
            Ok(Looked::Whole) => {}
            Ok(unread) => looked = unread,
            Err(_) if begin > 0 => {
                let text = format!("{} bytes follow the end of the pickle", bytes.len() - begin);
                return Err(fault(begin, text));
            }
            Err(error) => return Err(error),
        }
        if cursor.is_done() {
            return Ok(looked);
        }
    }
}

/// Walks over the first pickle.
///
/// # Errors
/// As [`check`].
pub(super) fn walk(cursor: &mut Cursor<'_>) -> Result<Looked> {
    let mut looked = Looked::Whole;
    loop {
        let at = cursor.at();
        if cursor.is_done() {
            return Err(fault(at, "it ends before the pickle does: its operation STOP is missing"));
        }
        let operation = cursor.byte("an operation")?;
        if operation == STOP {
            return Ok(looked);
        }
        if operation == NEXT_BUFFER {
            looked = Looked::Unread("pickles with buffers outside of them");
        }
        let Some(argument) = argument_of(operation) else {
            return Err(fault(at, format!("{operation:#04x} is no operation of a pickle")));
        };
        match argument {
            Argument::Bytes(count) => drop(cursor.take(count, "an argument of the pickle")?),
            Argument::Lines(lines) => {
                for _ in 0..lines {
                    cursor.line("an argument of the pickle")?;
                }
            }
            Argument::Counted(width) => {
                let stated = cursor.take(width, "a length of the pickle")?;
                let length = stated.iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte));
                cursor.take(length, "a value of the pickle")?;
            }
        }
    }
}

fn argument_of(operation: u8) -> Option<Argument> {
    Some(match operation {
        b'('
        | b'0'
        | b'1'
        | b'2'
        | b'N'
        | b'Q'
        | b'R'
        | b'a'
        | b'b'
        | b'd'
        | b'}'
        | b'e'
        | b'l'
        | b']'
        | b'o'
        | b's'
        | b't'
        | b')'
        | b'u'
        | 0x81
        | 0x85..=0x89
        | 0x8f..=0x94
        | 0x97
        | 0x98 => Argument::Bytes(0),
        b'K' | b'h' | b'q' | 0x80 | 0x82 => Argument::Bytes(1),
        b'M' | 0x83 => Argument::Bytes(2),
        b'J' | b'j' | b'r' | 0x84 => Argument::Bytes(4),
        // A frame is a hint about the bytes that follow, which are operations.
        b'G' | 0x95 => Argument::Bytes(8),
        b'F' | b'I' | b'L' | b'P' | b'S' | b'V' | b'g' | b'p' => Argument::Lines(1),
        b'c' | b'i' => Argument::Lines(2),
        b'U' | b'C' | 0x8a | 0x8c => Argument::Counted(1),
        b'T' | b'X' | b'B' | 0x8b => Argument::Counted(4),
        0x8d | 0x8e | 0x96 => Argument::Counted(8),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `pickle.dumps({"a": [1, 2.5, None]}, protocol=4)`.
    const FOUR: &[u8] =
        b"\x80\x04\x95\x18\0\0\0\0\0\0\0}\x94\x8c\x01a\x94]\x94(K\x01G@\x04\0\0\0\0\0\0Nes.";
    /// `pickle.dumps({"a": 1}, protocol=0)`.
    const ZERO: &[u8] = b"(dp0\nVa\np1\nI1\ns.";

    #[test]
    fn a_pickle_ends_with_stop_and_its_lengths_fit() {
        for whole in [FOUR, ZERO] {
            assert_eq!(check(whole).unwrap(), Looked::Whole);
            assert_eq!(check(&[whole, whole].concat()).unwrap(), Looked::Whole);
            for length in 0..whole.len() {
                assert!(check(&whole[..length]).is_err(), "cut to {length}");
            }
            let error = check(&[whole, b"\xfe"].concat()).unwrap_err();
            assert!(error.text().contains("1 bytes follow"), "{error}");
        }
        let mut long = FOUR.to_vec();
        let at = long.iter().position(|&byte| byte == 0x8c).unwrap();
        long[at + 1] = 200;
        assert!(check(&long).unwrap_err().text().contains("ends inside a value"));
        long[at] = 0xff;
        assert!(check(&long).unwrap_err().text().contains("0xff is no operation"));
        assert!(matches!(check(b"\x80\x05\x97."), Ok(Looked::Unread(_))));
    }
}
