//! The expressions of GPT-4o, Llama 4 and Tekken. With U for `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]`, V for
//! `[\p{Ll}\p{Lm}\p{Lo}\p{M}]`, the prefix P for `[^\r\n\p{L}\p{N}]`, the contractions C and the number n of digits, they
//! are `P?U*V+C?|P?U+V*C?|\p{N}{1,n}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`.
//!
//! Marks are in P, U and V.

use super::super::classes::{
    CASELESS, LETTER, LOWER, MARK, NUMBER, SPACE, UPPER, character, run, run_outside,
};
use super::runs::{Spaces, contraction_of_any_case, is_line_end, line_ends_and_slashes, numbers};

const U: u8 = UPPER | CASELESS | MARK;
const V: u8 = LOWER | CASELESS | MARK;
const OTHERS: u8 = SPACE | LETTER | NUMBER;

#[inline]
pub(super) fn end(text: &str, at: usize, digits: usize, contractions: bool) -> usize {
    let first = character(text, at);
    if first.is(NUMBER) {
        return numbers(text, at, digits);
    }
    if !is_line_end(text, at)
        && let Some(end) = word(text, at)
    {
        let short = if contractions { contraction_of_any_case(text, end) } else { 0 };
        return end + short;
    }
    let begin = at + usize::from(text.as_bytes()[at] == b' ');
    let sign = character(text, begin);
    if sign.len > 0 && !sign.is(OTHERS) {
        return line_ends_and_slashes(text, run_outside(text, begin + sign.len, OTHERS));
    }
    Spaces::at(text, at).lines()
}

/// Returns the end of `P?U*V+|P?U+V*` at a character that is neither a number nor the end of a line.
fn word(text: &str, at: usize) -> Option<usize> {
    let first = character(text, at);
    if first.is(LETTER) {
        return ending_small(text, at).or_else(|| capital(text, at));
    }
    let behind = at + first.len;
    // A mark alone is `U*V+`, which comes before `P?U+V*`.
    let mark = first.is(MARK).then_some(behind);
    ending_small(text, behind).or(mark).or_else(|| capital(text, behind))
}

/// `U*V+`: `U*` gives back characters up to the last one that `V` also has.
fn ending_small(text: &str, at: usize) -> Option<usize> {
    let mut both = None;
    let mut end = at;
    loop {
        let c = character(text, end);
        if !c.is(U) {
            let small = run(text, end, V);
            return if small > end { Some(small) } else { both };
        }
        end += c.len;
        if c.is(V) {
            both = Some(end);
        }
    }
}

/// `U+V*` where `U*V+` does not match.
fn capital(text: &str, at: usize) -> Option<usize> {
    let end = run(text, at, U);
    (end > at).then_some(end)
}
