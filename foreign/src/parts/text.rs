//! Texts, numbers as text, and JSON lines.

use tarflume_formats::Result;
use tarflume_formats::json::{self, JsonRules};

use super::Looked;
use super::cursor::fault;

/// Characters of a text that a message shows.
const SHOWN: usize = 40;

/// Checks that bytes are UTF-8.
///
/// # Errors
/// Returns an error at the first byte that is not.
pub(super) fn check(bytes: &[u8]) -> Result<Looked> {
    utf8(bytes).map(|_| Looked::Whole)
}

fn utf8(bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(bytes).map_err(|error| {
        let at = error.valid_up_to();
        fault(at, format!("the text is not UTF-8: {:#04x}", bytes[at]))
    })
}

/// Checks that a text is a whole number as Python's `int` reads it, which readers of classes use.
///
/// # Errors
/// Returns an error if it is none.
pub(super) fn number(bytes: &[u8]) -> Result<Looked> {
    let text = utf8(bytes)?.trim();
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let is_number = digits
        .split('_')
        .all(|digits| !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit()));
    if is_number {
        return Ok(Looked::Whole);
    }
    let shown: String = text.chars().take(SHOWN).collect();
    let shown = tarflume_formats::name::shown(shown.as_bytes());
    Err(fault(0, format!("'{shown}' is no whole number, which readers of this part expect")))
}

/// Checks that each line that is not blank is a JSON value.
///
/// # Errors
/// Returns the fault of the first line that is not JSON, with its number.
pub(super) fn json_lines(bytes: &[u8], rules: JsonRules) -> Result<Looked> {
    let mut at = 0;
    for (number, line) in bytes.split(|&byte| byte == b'\n').enumerate() {
        if !line.trim_ascii().is_empty()
            && let Err(why) = json::check(line, rules)
        {
            return Err(fault(at + why.byte, format!("line {}: {why}", number + 1)));
        }
        at += line.len() + 1;
    }
    Ok(Looked::Whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_numbers_and_lines_are_read_as_readers_do() {
        assert!(check("žluť".as_bytes()).is_ok() && check(b"").is_ok());
        assert_eq!(check(b"ab\xe9").unwrap_err().place().byte, Some(2));
        for good in ["0", " 12\n", "-1", "+7", "1_000"] {
            assert!(number(good.as_bytes()).is_ok(), "{good}");
        }
        for bad in ["", "cat", "1.0", "1e3", "_1", "1__0", "- 1", "0x1"] {
            assert!(number(bad.as_bytes()).is_err(), "{bad}");
        }
        let rules = JsonRules::Strict;
        assert!(json_lines(b"{\"a\": 1}\n\n[2]\r\n3", rules).is_ok());
        let error = json_lines(b"{\"a\": 1}\n{\"b\": }\n", rules).unwrap_err();
        assert!(error.text().starts_with("line 2: "), "{error}");
        assert!(error.place().byte.is_some_and(|byte| byte >= 9), "{error}");
    }
}
