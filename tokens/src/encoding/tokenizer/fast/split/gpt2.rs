//! The expression of GPT-2: ``'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+``.

use super::super::classes::{LETTER, NUMBER, SPACE, character, run, run_outside};
use super::runs::{Spaces, contraction};

#[inline]
pub(super) fn end(text: &str, at: usize) -> usize {
    let short = contraction(text, at);
    if short > 0 {
        return at + short;
    }
    let word = at + usize::from(text.as_bytes()[at] == b' ');
    let first = character(text, word);
    if first.is(LETTER) {
        run(text, word + first.len, LETTER)
    } else if first.is(NUMBER) {
        run(text, word + first.len, NUMBER)
    } else if first.is(SPACE) || first.len == 0 {
        Spaces::at(text, at).words()
    } else {
        run_outside(text, word + first.len, SPACE | LETTER | NUMBER)
    }
}
