//! Arrays of characters.

use tarflume_formats::{Error, ErrorKind, Result};

use super::element::{Element, Order};

const INT8: u32 = 1;
const UINT8: u32 = 2;
const UINT16: u32 = 4;
const UTF8: u32 = 16;
const UTF16: u32 = 17;
const UTF32: u32 = 18;

/// Returns the lines of an array of characters: those of its first dimension, without the blanks at their ends, by which
/// MATLAB gives all of them one length.
pub(super) fn lines(dims: &[u64], data: Element<'_>, order: Order) -> Result<Vec<String>> {
    let chars = chars(data, order)?;
    check(dims, data, &chars)?;
    let lines = dims.first().copied().unwrap_or(0);
    if lines <= 1 {
        return Ok(vec![chars.into_iter().collect()]);
    }
    let lines = usize::try_from(lines).unwrap_or(usize::MAX);
    if chars.is_empty() || chars.len() % lines != 0 {
        let text = format!("{} characters are not {lines} lines of one length", chars.len());
        return Err(Error::new(ErrorKind::Damaged, text));
    }
    let texts = (0..lines).map(|n| {
        let line: String = chars.iter().skip(n).step_by(lines).collect();
        line.trim_end_matches(' ').to_string()
    });
    Ok(texts.collect())
}

/// Refuses a text of another length than its shape. Writers count characters, units of UTF-16, or bytes of UTF-8.
fn check(dims: &[u64], data: Element<'_>, chars: &[char]) -> Result<()> {
    let count = dims.iter().try_fold(1u64, |count, &dim| count.checked_mul(dim));
    let units: usize = chars.iter().map(|char| char.len_utf16()).sum();
    let lengths = [chars.len(), units, data.bytes.len()];
    if lengths.iter().any(|&length| Some(length as u64) == count) {
        return Ok(());
    }
    let text = format!("a text of the shape {dims:?} has {} characters", chars.len());
    Err(Error::new(ErrorKind::Damaged, text))
}

fn wrong(why: &str) -> Error {
    Error::new(ErrorKind::Damaged, format!("its text is no {why}"))
}

fn chars(data: Element<'_>, order: Order) -> Result<Vec<char>> {
    let bytes = data.bytes;
    match data.kind {
        UTF8 | UINT8 | INT8 => {
            let text = std::str::from_utf8(bytes).map_err(|_| wrong("UTF-8"))?;
            Ok(text.chars().collect())
        }
        UINT16 | UTF16 => {
            let little = order.little(bytes, 2);
            let (units, rest) = little.as_chunks::<2>();
            if !rest.is_empty() {
                return Err(wrong("UTF-16"));
            }
            let units = units.iter().map(|&unit| u16::from_le_bytes(unit));
            char::decode_utf16(units)
                .collect::<std::result::Result<_, _>>()
                .map_err(|_| wrong("UTF-16"))
        }
        UTF32 => {
            let little = order.little(bytes, 4);
            let (units, rest) = little.as_chunks::<4>();
            let chars = units.iter().map(|&unit| char::from_u32(u32::from_le_bytes(unit)));
            let chars = chars.collect::<Option<Vec<char>>>();
            chars.filter(|_| rest.is_empty()).ok_or_else(|| wrong("UTF-32"))
        }
        kind => {
            Err(Error::new(ErrorKind::Damaged, format!("its text is an element of kind {kind}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(dims: &[u64], kind: u32, bytes: &[u8]) -> Result<Vec<String>> {
        lines(dims, Element { kind, bytes }, Order::Little)
    }

    #[test]
    fn texts_are_lines_in_column_major_order() {
        assert_eq!(of(&[1, 2], UTF8, "ä ".as_bytes()).unwrap(), ["ä "]);
        assert_eq!(of(&[2, 3], UINT16, b"a\0b\0x\0 \0y\0 \0").unwrap(), ["axy", "b"]);
        assert_eq!(of(&[0, 0], UTF8, b"").unwrap(), [""]);
        assert_eq!(of(&[1, 1], UTF32, &[0x41, 0, 0, 0]).unwrap(), ["A"]);
    }

    #[test]
    fn damaged_texts_are_errors() {
        assert!(of(&[2, 2], UTF8, b"abc").is_err());
        assert!(of(&[1, 1], UTF8, b"\xff").is_err());
        assert!(of(&[1, 1], UTF16, b"\0\xd8").is_err());
        assert!(of(&[1, 1], UTF16, b"a").is_err());
        assert!(of(&[1, 1], UTF32, &[0, 0, 0xff, 0]).is_err());
        assert!(of(&[1, 1], 9, b"").is_err());
        assert!(of(&[u64::MAX, 1], UTF8, b"ab").is_err());
    }
}
