//! What several expressions have in common: contractions, numbers and white space.

use super::super::classes::{NUMBER, SPACE, character};

/// Returns the bytes of `'s|'t|'re|'ve|'m|'ll|'d` at `at`; 0 if it is none of them.
pub(super) fn contraction(text: &str, at: usize) -> usize {
    match text.as_bytes().get(at..) {
        Some([b'\'', b's' | b't' | b'm' | b'd', ..]) => 2,
        Some([b'\'', b'r' | b'v', b'e', ..] | [b'\'', b'l', b'l', ..]) => 3,
        _ => 0,
    }
}

/// As [`contraction`], in capital or small letters. The long s, U+017F, is an s, too.
pub(super) fn contraction_of_any_case(text: &str, at: usize) -> usize {
    match text.as_bytes().get(at..) {
        Some([b'\'', b's' | b't' | b'm' | b'd' | b'S' | b'T' | b'M' | b'D', ..]) => 2,
        Some(
            [b'\'', b'r' | b'v' | b'R' | b'V', b'e' | b'E', ..]
            | [b'\'', b'l' | b'L', b'l' | b'L', ..]
            | [b'\'', 0xc5, 0xbf, ..],
        ) => 3,
        _ => 0,
    }
}

/// Returns the end of at most `most` digits.
pub(super) fn numbers(text: &str, at: usize, most: usize) -> usize {
    let mut end = at;
    for _ in 0..most {
        let c = character(text, end);
        if !c.is(NUMBER) {
            break;
        }
        end += c.len;
    }
    end
}

/// White space from a place on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spaces {
    begin: usize,
    end: usize,
    /// Where the last character begins.
    last: usize,
    /// The end of the last `\r` or `\n`; `begin` if there is none.
    line: usize,
    text: usize,
}

impl Spaces {
    /// Finds the white space at `at`, which has at least one character.
    pub(super) fn at(text: &str, at: usize) -> Spaces {
        let mut spaces = Spaces { begin: at, end: at, last: at, line: at, text: text.len() };
        loop {
            let c = character(text, spaces.end);
            if !c.is(SPACE) {
                return spaces;
            }
            spaces.last = spaces.end;
            spaces.end += c.len;
            if is_line_end(text, spaces.last) {
                spaces.line = spaces.end;
            }
        }
    }

    /// `\s+(?!\S)|\s+`: before something else, all but the last character.
    pub(super) fn words(self) -> usize {
        let is_behind = self.end < self.text && self.last > self.begin;
        if is_behind { self.last } else { self.end }
    }

    /// `\s*[\r\n]+|\s+(?!\S)|\s+`
    pub(super) fn lines(self) -> usize {
        if self.line > self.begin { self.line } else { self.words() }
    }
}

/// Returns true if `\r` or `\n` is at `at`.
pub(super) fn is_line_end(text: &str, at: usize) -> bool {
    matches!(text.as_bytes().get(at), Some(b'\r' | b'\n'))
}

/// Returns the end of `[\r\n]*`.
pub(super) fn line_ends(text: &str, at: usize) -> usize {
    let more = text.as_bytes()[at..].iter().take_while(|byte| matches!(byte, b'\r' | b'\n'));
    at + more.count()
}

/// Returns the end of `[\r\n/]*`.
pub(super) fn line_ends_and_slashes(text: &str, at: usize) -> usize {
    let more = text.as_bytes()[at..].iter().take_while(|byte| matches!(byte, b'\r' | b'\n' | b'/'));
    at + more.count()
}
