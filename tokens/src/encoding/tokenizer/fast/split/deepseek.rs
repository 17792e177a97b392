//! The third expression of DeepSeek V3, with A for a sign of ASCII:
//! `A[A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`.

use super::super::classes::{LETTER, MARK, PUNCTUATION, SPACE, SYMBOL, character, run};
use super::runs::{Spaces, is_line_end, line_ends};

const SIGN: u8 = PUNCTUATION | SYMBOL;
const WORD: u8 = LETTER | MARK;

/// Returns the end of a match, or of what lies before the next one.
pub(super) fn end(text: &str, at: usize) -> usize {
    if let Some(end) = matched(text, at) {
        return end;
    }
    let mut gap = at + character(text, at).len;
    while gap < text.len() && matched(text, gap).is_none() {
        gap += character(text, gap).len;
    }
    gap
}

fn matched(text: &str, at: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    if bytes[at].is_ascii_punctuation() && bytes.get(at + 1).is_some_and(u8::is_ascii_alphabetic) {
        let letters = bytes[at + 1..].iter().take_while(|byte| byte.is_ascii_alphabetic());
        return Some(at + 1 + letters.count());
    }
    let first = character(text, at);
    if first.is(WORD) {
        return Some(run(text, at, WORD));
    }
    let second = character(text, at + first.len);
    if second.is(WORD) && !first.is(SIGN) && !is_line_end(text, at) {
        return Some(run(text, at + first.len, WORD));
    }
    let begin = at + usize::from(bytes[at] == b' ');
    let signs = run(text, begin, SIGN);
    if signs > begin {
        return Some(line_ends(text, signs));
    }
    first.is(SPACE).then(|| Spaces::at(text, at).lines())
}
