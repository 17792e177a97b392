//! The expressions of Llama 3, Qwen 2, Qwen 3.5 and GPT-4. With the letters W and the number n of digits, they are
//! `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?W+|\p{N}{1,n}| ?[^\s\p{N}W]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`.

use super::super::classes::{NUMBER, SPACE, character, run, run_outside};
use super::runs::{Spaces, contraction_of_any_case, is_line_end, line_ends, numbers};

#[inline]
pub(super) fn end(text: &str, at: usize, letters: u8, digits: usize) -> usize {
    let short = contraction_of_any_case(text, at);
    if short > 0 {
        return at + short;
    }
    let first = character(text, at);
    if first.is(letters) {
        return run(text, at + first.len, letters);
    }
    if first.is(NUMBER) {
        return numbers(text, at, digits);
    }
    let second = character(text, at + first.len);
    if second.is(letters) && !is_line_end(text, at) {
        return run(text, at + first.len + second.len, letters);
    }
    let others = SPACE | NUMBER | letters;
    let begin = at + usize::from(text.as_bytes()[at] == b' ');
    let sign = if begin > at { second } else { first };
    if sign.len > 0 && !sign.is(others) {
        return line_ends(text, run_outside(text, begin + sign.len, others));
    }
    Spaces::at(text, at).lines()
}
