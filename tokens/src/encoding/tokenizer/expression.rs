//! `Expression`: a regular expression whose steps are counted.
//!
//! The library `onig` goes back in a text as often as an expression asks for, and panics after ten million times. Here
//! each search has a limit, and the steps of all searches in a text have one ([`allowance`](super::allowance)). The
//! library does not count how far a match reads forward: an expression that may read far and fail without steps is
//! matched place by place in a long text, and the time is compared in between. The matches are those of `tokenizers`.

mod reading;

use std::time::Duration;

use onig::{MatchParam, Regex, Region, SearchOptions};
use tokenizers::Offsets;
use tokenizers::tokenizer::pattern::Pattern;

use self::reading::Reading;
use super::allowance::{Exceeded, may_read, steps_left, take_steps, time_left};

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
/// Bytes of a text that one call of the library searches, whatever the expression reads at each place.
const SHORT: u64 = 4096;

/// A compiled expression.
#[derive(Debug)]
pub(super) struct Expression {
    regex: Regex,
    reading: Reading,
}

impl Expression {
    /// Compiles an expression.
    ///
    /// # Errors
    /// Returns an error if it is none, or if one match of it has no bound.
    pub(super) fn new(text: &str) -> tokenizers::Result<Expression> {
        let regex = Regex::new(text)?;
        let reading = Reading::of(text)?;
        Ok(Expression { regex, reading })
    }

    /// Finds the first match that begins at byte `from` or behind it.
    fn find(
        &self,
        text: &str,
        from: usize,
        region: &mut Region,
    ) -> tokenizers::Result<Option<Offsets>> {
        if self.reading == Reading::Counted {
            return self.search(text, from, region);
        }
        // The expressions of tokenizers match at nearly every place that a search begins at.
        let rest = (text.len() - from) as u64;
        may_read(rest)?;
        match self.match_at(text, from, FREE, region)? {
            Attempt::Matched(found) => Ok(Some(found)),
            Attempt::None if rest <= SHORT => {
                let Some(next) = text[from..].chars().next() else { return Ok(None) };
                may_read(rest * rest)?;
                self.search(text, from + next.len_utf8(), region)
            }
            Attempt::None | Attempt::Over => self.find_slowly(text, from, region),
        }
    }

    /// As [`Expression::find`], by one call of the library.
    fn search(
        &self,
        text: &str,
        from: usize,
        region: &mut Region,
    ) -> tokenizers::Result<Option<Offsets>> {
        region.clear();
        let found = self.regex.search_with_param(
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

    /// As [`Expression::find`], place by place, because one of them takes many steps or the text is long.
    fn find_slowly(
        &self,
        text: &str,
        from: usize,
        region: &mut Region,
    ) -> tokenizers::Result<Option<Offsets>> {
        let places = text[from..].char_indices().map(|(at, _)| from + at).chain([text.len()]);
        for place in places {
            may_read((text.len() - place) as u64)?;
            let attempt = match self.match_at(text, place, FREE, region)? {
                Attempt::Over => self.match_at_length(text, place, region)?,
                attempt => attempt,
            };
            if let Attempt::Matched(found) = attempt {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// Matches at a place that needs more than the free steps, with four times as many again and again.
    fn match_at_length(
        &self,
        text: &str,
        place: usize,
        region: &mut Region,
    ) -> tokenizers::Result<Attempt> {
        let rest = (text.len() - place) as u64;
        let mut most = FREE;
        let mut took = Duration::ZERO;
        loop {
            most = most.saturating_mul(4).min(steps_left()).min(self.reading.most_steps(rest));
            if most <= FREE {
                return Err(Exceeded::Steps.into());
            }
            take_steps(most)?;
            let left = time_left()?;
            if took.saturating_mul(4) > left {
                return Err(Exceeded::Time.into());
            }
            match self.match_at(text, place, most, region)? {
                Attempt::Over => took = left.saturating_sub(time_left()?),
                attempt => return Ok(attempt),
            }
        }
    }

    /// Matches at one place, with a limit of the steps back.
    fn match_at(
        &self,
        text: &str,
        place: usize,
        most: u64,
        region: &mut Region,
    ) -> tokenizers::Result<Attempt> {
        region.clear();
        let found = self.regex.match_with_param(
            text,
            place,
            SearchOptions::SEARCH_OPTION_NONE,
            Some(region),
            limit(most),
        );
        match found {
            Ok(Some(_)) => Ok(region.pos(0).map_or(Attempt::None, Attempt::Matched)),
            Ok(None) => Ok(Attempt::None),
            Err(error) if error.code() == OVER => Ok(Attempt::Over),
            Err(error) => Err(error.into()),
        }
    }
}

/// What the library says of one place.
enum Attempt {
    Matched(Offsets),
    None,
    /// The steps did not suffice.
    Over,
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
    use super::super::allowance::{within, within_time};
    use super::*;

    #[test]
    fn matches_are_those_of_the_library() {
        let long =
            format!("{}x{} {}\n", "a".repeat(3000), " ".repeat(5000), "AB\u{e9}".repeat(400));
        let texts = ["", "a", "It's 12 o'clock,  isn't it?\n\n \u{4e2d}\u{6587}\t.", &long];
        let more = [
            "",
            "x*",
            "a|",
            r"\s+(?!\S)",
            r"(?=(\d{3})+(?!\d))",
            "a+b",
            r"\b",
            r"(?<=a)x",
            " {2,}",
            "a++b|.",
            r"\s*\n",
            r".+?B",
            r"(?=\s)",
            "$",
            r"\z",
            r"\G",
            "x",
            "(?i:\u{c9})",
        ];
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

    #[test]
    fn an_expression_that_reads_far_from_each_place_ends_with_its_time() {
        let text = "a".repeat(50_000);
        for expression in ["(?:a+a+b|.)", "a++b|.", "(?=(a*+b))|.", "a*b"] {
            let ours = Expression::new(expression).unwrap();
            let found = within_time(text.len(), Duration::ZERO, || (&ours).find_matches(&text));
            let error = found.unwrap_err().to_string();
            assert!(
                error.contains("take more than 10 s and 50 s for each MB"),
                "{expression}: {error}"
            );
        }
        // The clock is not read where texts are usual.
        let ours = Expression::new(PATTERNS[1]).unwrap();
        let text = "It's 12 o'clock. ".repeat(600);
        assert!(within_time(text.len(), Duration::ZERO, || (&ours).find_matches(&text)).is_ok());
    }
}
