//! `Numbers`: the numbers of a column, and the type that holds all of them without a change. Pure.

use tarflume_formats::message;
use tarflume_formats::message::Message;
use tarflume_formats::name;

use crate::table::values::kind::ValueKind;
use crate::table::{Cell, Span, TableRow};

/// Characters of a number that a message quotes.
const QUOTED: usize = 40;

/// The first number of some kind in a column.
#[derive(Debug, Clone, PartialEq, Eq)]
struct First {
    row: u64,
    text: String,
}

impl First {
    fn shown(&self) -> String {
        format!("{} in row {}", self.text, self.row)
    }
}

/// The numbers of a column.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Numbers {
    has_negative: bool,
    /// Some are larger than any `i64`.
    has_large: bool,
    /// The first with a point or an exponent.
    fraction: Option<First>,
    /// The first whole one that no float of 64 bits is equal to.
    inexact: Option<First>,
    /// The first whole one with more than 64 bits.
    wide: Option<First>,
}

impl Numbers {
    /// Adds the number in a cell. Its text is in the grammar of JSON.
    pub(crate) fn see(&mut self, row: &TableRow, cell: Cell) {
        match cell {
            Cell::Int(whole) => self.whole(whole, || place(&whole, row)),
            Cell::Large(whole) => {
                self.has_large = true;
                if (whole as f64) as u128 != u128::from(whole) && self.inexact.is_none() {
                    self.inexact = place(&whole, row);
                }
            }
            Cell::Float(number) if self.fraction.is_none() => self.fraction = place(&number, row),
            Cell::Digits(span) | Cell::Word(span) => {
                let text = row.text(span);
                let is_whole =
                    text.bytes().all(|b| b.is_ascii_digit() || b == b'-') && text != "-0";
                match text.parse::<i64>() {
                    Ok(whole) if is_whole => self.whole(whole, || place(&whole, row)),
                    _ if is_whole && self.wide.is_none() => self.wide = place(&text, row),
                    _ if !is_whole && self.fraction.is_none() => self.fraction = place(&text, row),
                    _ => {}
                }
            }
            _ => {}
        }
    }

    /// Adds a word that is a number of floats alone: `NaN` or an infinite one.
    pub(crate) fn see_float(&mut self, row: &TableRow, word: Span) {
        if self.fraction.is_none() {
            self.fraction = Some(First { row: row.number, text: row.text(word).into() });
        }
    }

    fn whole(&mut self, whole: i64, place: impl Fn() -> Option<First>) {
        self.has_negative |= whole < 0;
        if self.inexact.is_none() && !is_float(whole) {
            self.inexact = place();
        }
    }

    /// Adds the numbers of the same column in another table.
    pub fn join(&mut self, other: &Numbers) {
        self.has_negative |= other.has_negative;
        self.has_large |= other.has_large;
        for (own, more) in [
            (&mut self.fraction, &other.fraction),
            (&mut self.inexact, &other.inexact),
            (&mut self.wide, &other.wide),
        ] {
            if own.is_none() {
                own.clone_from(more);
            }
        }
    }

    /// Returns true if a column of `kind` has numbers: as numbers, or as text so that they keep their digits.
    pub fn are_all(&self, kind: ValueKind) -> bool {
        kind.is_number() || (kind == ValueKind::String && self.kind() == ValueKind::String)
    }

    /// Returns the type that holds all of them with all their digits.
    pub fn kind(&self) -> ValueKind {
        let is_float = self.fraction.is_some() || (self.has_large && self.has_negative);
        match (&self.wide, &self.inexact) {
            (Some(_), _) => ValueKind::String,
            (None, Some(_)) if is_float => ValueKind::String,
            _ if is_float => ValueKind::Float,
            _ if self.has_large => ValueKind::UInt,
            _ => ValueKind::Int,
        }
    }

    /// Returns true if a column of `kind` holds them all.
    pub(crate) fn fit(&self, kind: ValueKind) -> bool {
        match kind {
            ValueKind::Int => self.kind() == ValueKind::Int,
            ValueKind::UInt => {
                !self.has_negative && matches!(self.kind(), ValueKind::Int | ValueKind::UInt)
            }
            ValueKind::Float => self.inexact.is_none() && self.wide.is_none(),
            _ => false,
        }
    }

    /// Returns the note about a column of numbers that is text; `None` if a type of numbers holds them.
    pub fn told(&self, column: &str) -> Option<Message> {
        if self.kind() != ValueKind::String {
            return None;
        }
        let column = name::shown(column.as_bytes());
        Some(match (&self.wide, &self.inexact, &self.fraction) {
            (Some(wide), ..) => message!(
                "column '{column}' is text, so that its numbers keep their digits: {} has more than 64 bits",
                wide.shown()
            ),
            (None, Some(inexact), Some(fraction)) => message!(
                "column '{column}' is text, so that its numbers keep their digits: no float has those of {}, \
                 and {} is no whole number",
                inexact.shown(),
                fraction.shown()
            ),
            (None, inexact, _) => message!(
                "column '{column}' is text, so that its numbers keep their digits: no type of 64 bits holds both \
                 negative numbers and {}",
                inexact.as_ref().map_or_else(String::new, First::shown)
            ),
        })
    }
}

/// Returns the place of a number, with the start of its text.
fn place(text: &dyn ToString, row: &TableRow) -> Option<First> {
    let text = text.to_string().chars().take(QUOTED).collect();
    Some(First { row: row.number, text })
}

/// Returns true if a float of 64 bits is equal to the number.
fn is_float(whole: i64) -> bool {
    (whole as f64) as i128 == i128::from(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(words: &[&str]) -> Numbers {
        let mut numbers = Numbers::default();
        for (word, number) in words.iter().zip(1..) {
            let mut row = TableRow::default();
            row.begin(number, None, 1);
            let span = row.add_text(word);
            let cell = match (word.parse(), word.parse()) {
                (Ok(whole), _) => Cell::Int(whole),
                (_, Ok(large)) => Cell::Large(large),
                _ => Cell::Digits(span),
            };
            numbers.see(&row, cell);
        }
        numbers
    }

    #[test]
    fn a_column_has_the_type_that_holds_all_of_its_numbers() {
        let max = "18446744073709551615";
        let past = "18446744073709551616";
        for (words, kind) in [
            (&["1", "-2"][..], ValueKind::Int),
            (&["9007199254740993", "-9223372036854775808"], ValueKind::Int),
            (&["1", "0.5", "9007199254740992"], ValueKind::Float),
            (&["1e400", "3"], ValueKind::Float),
            (&["1", max], ValueKind::UInt),
            (&["-1", max], ValueKind::String),
            (&["-1", "9223372036854775808"], ValueKind::Float), // both are floats
            (&["9007199254740993", "0.5"], ValueKind::String),
            (&["0.5", "9007199254740993"], ValueKind::String),
            (&[max, "0.5"], ValueKind::String),
            (&["1", past], ValueKind::String),
            (&["-9223372036854775809"], ValueKind::String),
        ] {
            let found = numbers(words);
            assert_eq!(found.kind(), kind, "{words:?}");
            assert_eq!(found.told("n").is_some(), kind == ValueKind::String, "{words:?}");
            assert!(kind == ValueKind::String || found.fit(kind), "{words:?}");
        }
    }

    #[test]
    fn the_note_names_the_rows_that_decide() {
        let told = numbers(&["1", "9007199254740993", "2.5"]).told("id").unwrap();
        assert!(told.text().starts_with("column 'id' is text"), "{told:?}");
        assert!(told.text().contains("9007199254740993 in row 2, and 2.5 in row 3"), "{told:?}");
        let told = numbers(&["1", "18446744073709551616"]).told("id").unwrap();
        assert!(
            told.text().ends_with("18446744073709551616 in row 2 has more than 64 bits"),
            "{told:?}"
        );
        let told = numbers(&["18446744073709551615", "-1"]).told("id").unwrap();
        assert!(told.text().ends_with("and 18446744073709551615 in row 1"), "{told:?}");
    }

    #[test]
    fn tables_with_one_column_are_seen_together() {
        let mut all = numbers(&["9007199254740993"]);
        all.join(&numbers(&["0.5"]));
        assert_eq!(all.kind(), ValueKind::String);
        assert!(!numbers(&["-1"]).fit(ValueKind::UInt));
        assert!(numbers(&["1"]).fit(ValueKind::Float) && !all.fit(ValueKind::Float));
    }
}
