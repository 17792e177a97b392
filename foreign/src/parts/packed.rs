//! MessagePack and CBOR (RFC 8949): a walk over one value. Nothing is built.

use tarflume_formats::Result;

use super::Looked;
use super::cursor::{Cursor, fault};

/// Checks that bytes are one value of MessagePack and nothing more.
///
/// # Errors
/// Returns the first fault.
pub(super) fn message_pack(bytes: &[u8]) -> Result<Looked> {
    walked(bytes, message_pack_item)
}

/// Checks that bytes are one value of CBOR and nothing more.
///
/// # Errors
/// Returns the first fault.
pub(super) fn cbor(bytes: &[u8]) -> Result<Looked> {
    walked(bytes, cbor_item)
}

/// How many values follow an item inside of it.
enum Inside {
    Values(u64),
    /// Values up to a break.
    Open,
    Break,
}

/// Walks over items with a list of the values that are awaited, so that nested lists take no stack.
fn walked(bytes: &[u8], item: fn(&mut Cursor<'_>) -> Result<Inside>) -> Result<Looked> {
    let mut cursor = Cursor::new(bytes);
    // Values that are awaited in each open list; `None` in one that ends with a break.
    let mut open: Vec<Option<u64>> = vec![Some(1)];
    while let Some(awaited) = open.last_mut() {
        match awaited {
            Some(0) => {
                open.pop();
                continue;
            }
            Some(count) => *count -= 1,
            None => {}
        }
        let is_endless = awaited.is_none();
        let at = cursor.at();
        match item(&mut cursor)? {
            Inside::Values(0) => {}
            Inside::Values(count) => open.push(Some(count)),
            Inside::Open => open.push(None),
            Inside::Break if is_endless => drop(open.pop()),
            Inside::Break => return Err(fault(at, "a break is outside of a list that has one")),
        }
    }
    if cursor.is_done() {
        return Ok(Looked::Whole);
    }
    Err(fault(cursor.at(), format!("{} bytes follow the value", cursor.left())))
}

fn big(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |sum, &byte| sum << 8 | u64::from(byte))
}

const WHAT: &str = "a value";

fn message_pack_item(cursor: &mut Cursor<'_>) -> Result<Inside> {
    let at = cursor.at();
    let first = cursor.byte(WHAT)?;
    let low = u64::from(first);
    let values = match first {
        0x80..=0x8f => (low & 15) * 2,
        0x90..=0x9f => low & 15,
        0xdc => big(cursor.take(2, WHAT)?),
        0xdd => big(cursor.take(4, WHAT)?),
        0xde => big(cursor.take(2, WHAT)?) * 2,
        0xdf => big(cursor.take(4, WHAT)?) * 2,
        _ => 0,
    };
    let bytes = match first {
        0xa0..=0xbf => low & 31,
        0xc1 => return Err(fault(at, "0xc1 is no value of MessagePack")),
        0xc4 | 0xd9 => big(cursor.take(1, WHAT)?),
        0xc5 | 0xda => big(cursor.take(2, WHAT)?),
        0xc6 | 0xdb => big(cursor.take(4, WHAT)?),
        // An extension has a byte that states its type.
        0xc7 => big(cursor.take(1, WHAT)?) + 1,
        0xc8 => big(cursor.take(2, WHAT)?) + 1,
        0xc9 => big(cursor.take(4, WHAT)?) + 1,
        0xca | 0xce | 0xd2 => 4,
        0xcb | 0xcf | 0xd3 => 8,
        0xcc | 0xd0 => 1,
        0xcd | 0xd1 => 2,
        0xd4..=0xd8 => (1 << (low - 0xd4)) + 1,
        _ => 0,
    };
    cursor.take(bytes, WHAT)?;
    Ok(Inside::Values(values))
}

fn cbor_item(cursor: &mut Cursor<'_>) -> Result<Inside> {
    let at = cursor.at();
    let first = cursor.byte(WHAT)?;
    let kind = first >> 5;
    let argument = match first & 31 {
        small @ 0..=23 => Some(u64::from(small)),
        width @ 24..=27 => Some(big(cursor.take(1 << (width - 24), WHAT)?)),
        31 => None,
        _ => return Err(fault(at, format!("{first:#04x} is no value of CBOR"))),
    };
    Ok(match (kind, argument) {
        (2 | 3, Some(length)) => {
            cursor.take(length, WHAT)?;
            Inside::Values(0)
        }
        (2..=5, None) => Inside::Open,
        (4, Some(count)) => Inside::Values(count),
        (5, Some(count)) => match count.checked_mul(2) {
            Some(count) => Inside::Values(count),
            None => return Err(fault(at, "a map states more entries than a file can have")),
        },
        (6, Some(_)) => Inside::Values(1),
        (7, None) => Inside::Break,
        (_, Some(_)) => Inside::Values(0),
        (_, None) => return Err(fault(at, format!("{first:#04x} is no value of CBOR"))),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_value_ends_with_the_bytes() {
        // {"a": [1, 300, -1, 1.5, null, "žž"], "b": b"xyz"}
        let packed: &[u8] =
            b"\x82\xa1a\x96\x01\xcd\x01\x2c\xff\xcb\x3f\xf8\0\0\0\0\0\0\xc0\xa4\xc5\xbe\xc5\xbe\xa1b\xc4\x03xyz";
        let cbor_bytes: &[u8] =
            b"\xa2\x61a\x86\x01\x19\x01\x2c\x20\xfb\x3f\xf8\0\0\0\0\0\0\xf6\x64\xc5\xbe\xc5\xbe\x61b\x43xyz";
        let endless: &[u8] = b"\x9f\x01\x5f\x42ab\x41c\xff\xff";
        for (check, whole) in [
            (message_pack as fn(&[u8]) -> Result<Looked>, packed),
            (cbor, cbor_bytes),
            (cbor, endless),
        ] {
            assert_eq!(check(whole).unwrap(), Looked::Whole);
            for length in 0..whole.len() {
                assert!(check(&whole[..length]).is_err(), "cut to {length}");
            }
            assert!(check(&[whole, b"\0"].concat()).unwrap_err().text().contains("follow"));
        }
        assert!(message_pack(b"\xc1").is_err() && cbor(b"\xff").is_err());
        // A count that no file has takes no memory; lists in lists take no stack.
        assert!(cbor(b"\x9b\xff\xff\xff\xff\xff\xff\xff\xff").is_err());
        assert!(message_pack(&vec![0x91; 1 << 20]).is_err());
    }
}
