//! Escapes in JSON strings.

use std::borrow::Cow;

/// Returns the text of a string that `Scan::string` has accepted, quotes included. Half of a surrogate pair becomes
/// U+FFFD.
pub fn unescaped(quoted: &str) -> Cow<'_, str> {
    let inner = &quoted[1..quoted.len() - 1];
    if !inner.contains('\\') {
        return Cow::Borrowed(inner);
    }
    let mut text = String::with_capacity(inner.len());
    let mut rest = inner;
    while let Some(at) = rest.find('\\') {
        text.push_str(&rest[..at]);
        let (character, length) = character(&rest.as_bytes()[at..]);
        text.push(character);
        rest = &rest[at + length..];
    }
    text.push_str(rest);
    Cow::Owned(text)
}

/// Returns the character of an escape and the bytes of the escape.
fn character(escape: &[u8]) -> (char, usize) {
    let plain = match escape.get(1) {
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'n') => '\n',
        Some(b'r') => '\r',
        Some(b't') => '\t',
        Some(b'u') => {
            let high = unit(escape).unwrap_or(0xfffd);
            let low = escape.get(6..).and_then(unit).filter(|&low| is_high(high) && is_low(low));
            return match low {
                Some(low) => {
                    let code =
                        0x1_0000 + ((u32::from(high) - 0xd800) << 10) + (u32::from(low) - 0xdc00);
                    (char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER), 12)
                }
                None => (char::from_u32(high.into()).unwrap_or(char::REPLACEMENT_CHARACTER), 6),
            };
        }
        Some(&other) => char::from(other),
        None => '\\',
    };
    (plain, 2)
}

/// Returns the UTF-16 unit of `\uXXXX`.
pub(super) fn unit(escape: &[u8]) -> Option<u16> {
    let [b'\\', b'u', hex @ ..] = escape else { return None };
    let hex = hex.get(..4).filter(|hex| hex.iter().all(u8::is_ascii_hexdigit))?;
    u16::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok()
}

pub(super) fn is_high(unit: u16) -> bool {
    (0xd800..0xdc00).contains(&unit)
}

pub(super) fn is_low(unit: u16) -> bool {
    (0xdc00..0xe000).contains(&unit)
}
