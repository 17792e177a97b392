//! `OddWords`: the words that make a column of numbers one of texts. Pure.

use tarflume_base::units;
use tarflume_formats::message;
use tarflume_formats::message::Message;
use tarflume_formats::name;

/// Rows that a message names.
const NAMED: usize = 3;
/// Characters of a word that a message quotes.
const QUOTED: usize = 40;
/// Words that other programs write for a missing value.
const MISSING: [&str; 14] = [
    "NaN", "nan", "NAN", "-NaN", "-nan", "NA", "N/A", "n/a", "#N/A", "<NA>", "null", "NULL",
    "None", "-",
];

/// What a word looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Looks {
    /// A number.
    Number,
    /// Text.
    Text,
    /// Another value.
    Other,
}

/// The words of a column of a table without types: how many are numbers, and the first that are not.
#[derive(Debug, Clone, Default)]
pub(crate) struct OddWords {
    numbers: u64,
    odd: u64,
    /// Row and word of the first odd ones.
    first: Vec<(u64, String)>,
    /// Words for missing values among the odd ones, each once.
    missing: Vec<&'static str>,
    /// Odd words that are neither such a word nor a number between blanks.
    others: u64,
    /// The first row with a word in quotes behind a blank, which are part of the word.
    quoted: Option<(u64, String)>,
}

impl OddWords {
    /// Counts a word of `row`; `looks` says what a word looks like, and `is` what this one does. An id with leading zeros, or
    /// with more digits than a number has, is neither a number nor odd: it is text on purpose.
    pub(crate) fn see(&mut self, row: u64, word: &str, is: Looks, looks: fn(&str) -> Looks) {
        if is == Looks::Number {
            self.numbers += 1;
        }
        if is != Looks::Text || word.bytes().all(|b| b.is_ascii_digit()) {
            return;
        }
        if self.quoted.is_none() && is_quoted_behind_a_blank(word) {
            self.quoted = Some((row, word.chars().take(QUOTED).collect()));
        }
        self.odd += 1;
        if self.first.len() < NAMED {
            self.first.push((row, word.chars().take(QUOTED).collect()));
        }
        let trimmed = word.trim();
        match MISSING.iter().find(|missing| **missing == trimmed) {
            Some(missing) if !self.missing.contains(missing) => self.missing.push(missing),
            Some(_) => {}
            None if trimmed.is_empty() || looks(trimmed) == Looks::Number => {}
            None => self.others += 1,
        }
    }

    /// Returns true if no later word changes what [`OddWords::told`] returns: the column is text.
    pub(crate) fn is_settled(&self) -> bool {
        self.others >= 1000 && self.others > 2 * self.numbers
    }

    /// Returns the note about a column of texts; `None` if few of its words are numbers, and none is in quotes.
    pub(crate) fn told(&self, column: &str) -> Option<Message> {
        let is_told = self.numbers > 0 && self.odd > 0 && self.others <= self.numbers;
        if !is_told {
            return self.quoted.as_ref().map(|(row, word)| {
                message!(
                    "column '{}' has the quotes of words behind a blank, the first in row {row} ('{}'); blanks=trim \
                     leaves blanks and such quotes out",
                    name::shown(column.as_bytes()),
                    name::shown(word.as_bytes())
                )
            });
        }
        let mut rows: Vec<String> = self
            .first
            .iter()
            .map(|(row, word)| format!("row {row} ('{}')", name::shown(word.as_bytes())))
            .collect();
        if let Some(more @ 1..) = self.odd.checked_sub(self.first.len() as u64) {
            rows.push(units::counted(more, "other row", "other rows"));
        }
        let list = match rows.split_last() {
            Some((last, [])) => last.clone(),
            Some((last, before)) => format!("{} and {last}", before.join(", ")),
            None => return None,
        };
        let remedy = match self.missing.as_slice() {
            [] => "missing=WORD|WORD reads words as missing, blanks=trim leaves blanks out"
                .to_string(),
            words => format!("missing={} reads such words as missing", words.join("|")),
        };
        Some(message!(
            "column '{}' is text, not numbers, because of {list}; {remedy}",
            name::shown(column.as_bytes())
        ))
    }
}

/// Whether a word was meant as a field in quotes: ` "text"`.
fn is_quoted_behind_a_blank(word: &str) -> bool {
    let inner = word.trim_start_matches([' ', '\t']);
    inner.len() < word.len()
        && inner.trim_end().len() > 1
        && inner.starts_with('"')
        && inner.trim_end().ends_with('"')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn looks(word: &str) -> Looks {
        match word.parse::<u32>() {
            Ok(_) if word == "0" || !word.starts_with('0') => Looks::Number,
            _ => Looks::Text,
        }
    }

    fn told(words: &[&str]) -> Option<String> {
        let mut odd = OddWords::default();
        let seen = words.iter().zip(1..);
        seen.for_each(|(word, row)| odd.see(row, word, looks(word), looks));
        odd.told("class").map(|told| told.text())
    }

    #[test]
    fn the_rows_that_make_a_column_text_are_named() {
        assert_eq!(
            told(&["1", "NaN", "2", " 3"]).unwrap(),
            "column 'class' is text, not numbers, because of row 2 ('NaN') and row 4 (' 3'); missing=NaN reads such \
             words as missing"
        );
        let many = told(&["NA", "1", " ", "n/a", "NA"]).unwrap();
        assert!(
            many.contains("row 1 ('NA'), row 3 (' '), row 4 ('n/a') and 1 other row"),
            "{many}"
        );
        assert!(many.contains("missing=NA|n/a "), "{many}");
        assert!(told(&["1", "2", "cat"]).unwrap().contains("row 3 ('cat'); missing=WORD"));
    }

    #[test]
    fn texts_and_ids_are_no_surprise() {
        assert_eq!(told(&["cat", "dog", "7"]), None);
        assert_eq!(told(&["007", "12", "18446744073709551616"]), None);
        assert_eq!(told(&["NA", "NA"]), None);
        assert_eq!(told(&["say \"x\"", " \""]), None);
    }

    #[test]
    fn quotes_behind_a_blank_are_told() {
        let found = told(&["a", " \"b c\"", " \"d\""]).unwrap();
        assert!(found.contains("the first in row 2 (' \"b c\"'); blanks=trim"), "{found}");
    }
}
