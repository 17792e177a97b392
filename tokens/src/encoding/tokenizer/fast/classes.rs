//! Classes of characters, as the regular expressions of the library see them.
//!
//! ASCII has a table. The library itself is asked about other characters, 4,096 at a time, when one of them is met first:
//! so the version of Unicode is that of the library in every build.

use std::sync::{LazyLock, OnceLock};

use onig::Regex;

/// `\p{Lu}` and `\p{Lt}`.
pub(super) const UPPER: u8 = 1;
/// `\p{Ll}`.
pub(super) const LOWER: u8 = 1 << 1;
/// `\p{Lm}` and `\p{Lo}`.
pub(super) const CASELESS: u8 = 1 << 2;
/// `\p{M}`.
pub(super) const MARK: u8 = 1 << 3;
/// `\p{N}`.
pub(super) const NUMBER: u8 = 1 << 4;
/// `\p{P}`.
pub(super) const PUNCTUATION: u8 = 1 << 5;
/// `\p{S}`.
pub(super) const SYMBOL: u8 = 1 << 6;
/// `\s`.
pub(super) const SPACE: u8 = 1 << 7;
/// `\p{L}`.
pub(super) const LETTER: u8 = UPPER | LOWER | CASELESS;

/// The expression of each class, in the order of their bits.
const EXPRESSIONS: [&str; 8] = [
    r"[\p{Lu}\p{Lt}]+",
    r"\p{Ll}+",
    r"[\p{Lm}\p{Lo}]+",
    r"\p{M}+",
    r"\p{N}+",
    r"\p{P}+",
    r"\p{S}+",
    r"\s+",
];

/// Characters of a page.
const PAGE: usize = 4096;
/// Pages of all characters.
const PAGES: usize = 0x11_0000 / PAGE;

static REGEXES: LazyLock<[Regex; 8]> = LazyLock::new(|| {
    EXPRESSIONS.map(|text| Regex::new(text).expect("the library has these classes of Unicode"))
});

type Page = [u8; PAGE];

static TABLE: [OnceLock<Box<Page>>; PAGES] = [const { OnceLock::new() }; PAGES];

static ASCII: [u8; 128] = ascii();

const fn ascii() -> [u8; 128] {
    let mut classes = [0; 128];
    let mut byte = 0;
    while byte < 128 {
        classes[byte as usize] = match byte {
            b'A'..=b'Z' => UPPER,
            b'a'..=b'z' => LOWER,
            b'0'..=b'9' => NUMBER,
            b'\t'..=b'\r' | b' ' => SPACE,
            b'$' | b'+' | b'<'..=b'>' | b'^' | b'`' | b'|' | b'~' => SYMBOL,
            b'!'..=b'~' => PUNCTUATION,
            _ => 0,
        };
        byte += 1;
    }
    classes
}

/// A character of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Character {
    /// Its classes; none at the end of the text.
    pub(super) class: u8,
    /// Its bytes; 0 at the end of the text.
    pub(super) len: usize,
}

impl Character {
    /// Returns true if the character is in one of these classes.
    pub(super) fn is(self, classes: u8) -> bool {
        self.class & classes != 0
    }
}

/// Returns the character at byte `at`, which begins one or is the end.
#[inline]
pub(super) fn character(text: &str, at: usize) -> Character {
    match text.as_bytes().get(at) {
        Some(&byte) if byte < 128 => Character { class: ASCII[usize::from(byte)], len: 1 },
        Some(_) => other(text, at),
        None => Character { class: 0, len: 0 },
    }
}

fn other(text: &str, at: usize) -> Character {
    let Some(c) = text[at..].chars().next() else { return Character { class: 0, len: 0 } };
    Character { class: class(c), len: c.len_utf8() }
}

/// Returns the classes of a character.
fn class(c: char) -> u8 {
    let code = u32::from(c) as usize;
    TABLE[code / PAGE].get_or_init(|| page(code / PAGE))[code % PAGE]
}

/// Asks the library about the characters of a page.
fn page(number: usize) -> Box<Page> {
    let codes = (number * PAGE) as u32..((number + 1) * PAGE) as u32;
    let text: String = codes.filter_map(char::from_u32).collect();
    let mut classes = Box::new([0; PAGE]);
    for (bit, regex) in REGEXES.iter().enumerate() {
        for (start, end) in regex.find_iter(&text) {
            for c in text[start..end].chars() {
                classes[u32::from(c) as usize % PAGE] |= 1 << bit;
            }
        }
    }
    classes
}

/// Returns where the characters of these classes end that begin at `at`.
#[inline]
pub(super) fn run(text: &str, at: usize, classes: u8) -> usize {
    let mut end = at;
    loop {
        let c = character(text, end);
        if !c.is(classes) {
            return end;
        }
        end += c.len;
    }
}

/// Returns where the characters of no of these classes end that begin at `at`.
#[inline]
pub(super) fn run_outside(text: &str, at: usize, classes: u8) -> usize {
    let mut end = at;
    loop {
        let c = character(text, end);
        if c.is(classes) || c.len == 0 {
            return end;
        }
        end += c.len;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_of_all_characters_are_those_of_the_expressions() {
        for (bit, expression) in EXPRESSIONS.iter().enumerate() {
            let regex = Regex::new(expression.trim_end_matches('+')).unwrap();
            for c in '\0'..=char::MAX {
                let mut bytes = [0; 4];
                let text = c.encode_utf8(&mut bytes);
                let found = character(text, 0);
                assert_eq!(found.len, text.len());
                assert_eq!(found.is(1 << bit), regex.is_match(text), "{expression}: {c:?}");
            }
        }
    }

    #[test]
    fn runs_end_with_the_class_or_the_text() {
        let text = "ab\u{e9}1 \u{a0}";
        assert_eq!(run(text, 0, LETTER), 4);
        assert_eq!(run(text, 5, SPACE), text.len());
        assert_eq!(run(text, 0, NUMBER), 0);
        assert_eq!(run_outside(text, 0, SPACE), 5);
        assert_eq!(run_outside(text, 0, MARK), text.len());
    }
}
