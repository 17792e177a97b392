//! `Expression`: a regular expression whose steps are counted.
//!
//! The library `onig` goes back in a text as often as an expression asks for, and panics after ten million times. Here
//! each search has a limit, and the steps of all searches in a text have one ([`allowance`](super::allowance)). The
//! matches are those of `tokenizers`.

use onig::{MatchParam, Regex, Region, SearchOptions};
use tokenizers::Offsets;
use tokenizers::tokenizer::pattern::Pattern;

use super::allowance::{Exceeded, steps_left, take_steps};

/// Regular expressions of pre-tokenizers: those of GPT-2, of Llama 3 and GPT-4, of Qwen 2, and of GPT-4o.
pub(super) const PATTERNS: [&str; 4] = [
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
];

/// Steps of a search that are not counted one by one: a match of a usual expression takes a few.
const FREE: u64 = 128;
/// The code of the library for a search that has used up its steps.
const OVER: i32 = -17;
/// The most steps of one match, whatever is left: what fits the interface of the library.
const MOST: u64 = u32::MAX as u64;

/// A compiled expression.
#[derive(Debug)]
pub(super) struct Expression(Regex);

/// A match: its first byte and the byte behind it.
type Found = Option<(usize, usize)>;

impl Expression {
    /// Compiles an expression.
    ///
    /// # Errors
    /// Returns an error if it is none.
    pub(super) fn new(text: &str) -> Result<Expression, onig::Error> {
        Regex::new(text).map(Expression)
    }

    /// Finds the first match that begins at byte `from` or behind it.
    fn find(&self, text: &str, from: usize, region: &mut Region) -> tokenizers::Result<Found> {
        region.clear();
        let found = self.0.search_with_param(
            text,
            from,
            text.len(),
            SearchOptions::SEARCH_OPTION_NONE,
            Some(region),
            limit(FREE),
        );
        match found {
            Ok(found) => Ok(found.and_then(|_| region.pos(0))),
            Err(error) if error.code() == OVER => self.find_slowly(text, from, region),
            Err(error) => Err(error.into()),
        }
    }

    /// As [`Expression::find`], place by place, because one of them takes many steps.
    fn find_slowly(
        &self,
        text: &str,
        from: usize,
        region: &mut Region,
    ) -> tokenizers::Result<Found> {
        let places = text[from..].char_indices().map(|(at, _)| from + at).chain([text.len()]);
        for place in places {
            let mut most = FREE;
            loop {
                take_steps(most)?;
                region.clear();
                let found = self.0.match_with_param(
                    text,
                    place,
                    SearchOptions::SEARCH_OPTION_NONE,
                    Some(region),
                    limit(most),
                );
                match found {
                    Ok(None) => break,
                    Ok(Some(_)) => return Ok(region.pos(0)),
                    Err(error) if error.code() == OVER => {
                        most = most.saturating_mul(4).min(steps_left()).min(MOST);
                        if most <= FREE {
                            return Err(Exceeded::Steps.into());
                        }
                    }
                    Err(error) => return Err(error.into()),
                }
            }
        }
        Ok(None)
    }
}

fn limit(steps: u64) -> MatchParam {
    let mut param = MatchParam::default();
    param.set_retry_limit_in_match(steps.min(MOST) as u32);
    param
}

impl Pattern for &Expression {
    fn find_matches(&self, inside: &str) -> tokenizers::Result<Vec<(Offsets, bool)>> {
        if inside.is_empty() {
            return Ok(vec![((0, 0), false)]);
        }
        let mut region = Region::new();
        let mut splits = Vec::new();
        let mut prev = 0;
        let mut from = 0;
        let mut last = None;
        while from <= inside.len() {
            let Some((start, end)) = self.find(inside, from, &mut region)? else { break };
            if start == end && last == Some(end) {
                // An empty match right behind a match is none.
                from += inside[from..].chars().next().map_or(1, char::len_utf8);
                continue;
            }
            (from, last) = (end, Some(end));
            if prev != start {
                splits.push(((prev, start), false));
            }
            splits.push(((start, end), true));
            prev = end;
        }
        if prev != inside.len() {
            splits.push(((prev, inside.len()), false));
        }
        Ok(splits)
    }
}

#[cfg(test)]
mod tests {
    use super::super::allowance::within;
    use super::*;

    #[test]
    fn matches_are_those_of_the_library() {
        let long =
            format!("{}x{} {}\n", "a".repeat(3000), " ".repeat(5000), "AB\u{e9}".repeat(400));
        let texts = ["", "a", "It's 12 o'clock,  isn't it?\n\n \u{4e2d}\u{6587}\t.", &long];
        let more = ["", "x*", "a|", r"\s+(?!\S)", r"(?=(\d{3})+(?!\d))", "a+b", r"\b", r"(?<=a)x"];
        for expression in PATTERNS.iter().chain(&more) {
            let theirs = Regex::new(expression).unwrap();
            let ours = Expression::new(expression).unwrap();
            for text in texts {
                let found = within(text.len(), || (&ours).find_matches(text)).unwrap();
                assert_eq!(
                    found,
                    (&theirs).find_matches(text).unwrap(),
                    "{expression} in {text:.40}"
                );
            }
        }
    }

    #[test]
    fn an_expression_that_goes_back_without_end_is_an_error() {
        let text = "a".repeat(2000) + "!";
        for expression in ["(a+)+$", r"(\w+\s?)+$", "(a|aa)+$", r"\w+\w+\w+\w+\d", "(?:a+a+b|.)"] {
            let ours = Expression::new(expression).unwrap();
            let error = within(text.len(), || (&ours).find_matches(&text)).unwrap_err();
            assert!(
                error.to_string().contains("goes back more than 32 times"),
                "{expression}: {error}"
            );
        }
    }
}
