//! The types of a table's columns, inferred from all rows.
//!
//! Words of a table without types become truth values or numbers only if all words of the column
//! are; `NaN` and `inf` are numbers beside numbers, and texts beside texts. Ids with leading zeros are
//! text. Values with types must agree: a column of numbers and texts is an error that names both rows.

use serde_json::Value;
use tarflume_formats::Column;

use super::odd::{Looks, OddWords};
use super::{Cell, Row};
use crate::json_float;

/// The type of a value or column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `true` or `false`.
    Bool,
    /// A whole number.
    Int,
    /// A number.
    Float,
    /// Text.
    String,
    /// A list.
    List,
    /// An object.
    Object,
}

impl Kind {
    /// Returns its word in `dataset.json`.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Kind::Bool => "bool",
            Kind::Int => "int64",
            Kind::Float => "float64",
            Kind::String => "string",
            Kind::List => "list",
            Kind::Object => "object",
        }
    }

    /// Returns the type with this word.
    pub(crate) fn from_word(word: &str) -> Option<Kind> {
        use Kind::{Bool, Float, Int, List, Object, String};
        [Bool, Int, Float, String, List, Object].into_iter().find(|kind| kind.word() == word)
    }

    /// Returns true if a column of this type can have values of the type `value`.
    pub(crate) fn holds(self, value: Kind) -> bool {
        self == value || (self == Kind::Float && value == Kind::Int)
    }

    /// Returns the type of a JSON value; `null` has none.
    pub(crate) fn of_value(value: &Value) -> Option<Kind> {
        Some(match value {
            Value::Null => return None,
            Value::Bool(_) => Kind::Bool,
            Value::Number(number) if number.is_i64() => Kind::Int,
            Value::Number(_) => Kind::Float,
            Value::String(_) => Kind::String,
            Value::Array(_) => Kind::List,
            Value::Object(_) => Kind::Object,
        })
    }

    /// Returns the type of a word of a table without types.
    pub(crate) fn of_word(word: &str) -> Kind {
        match word {
            // Most texts end here.
            text if !text.starts_with(|c: char| c.is_ascii_digit() || "-tTfF".contains(c)) => {
                Kind::String
            }
            "true" | "false" | "True" | "False" | "TRUE" | "FALSE" => Kind::Bool,
            word if is_whole(word) => match word.parse::<i64>() {
                Ok(_) => Kind::Int,
                Err(_) => Kind::String, // an id with more digits than any number keeps them
            },
            word if is_number(word) => match word.parse::<f64>() {
                Ok(number) if number.is_finite() => Kind::Float,
                _ => Kind::String,
            },
            _ => Kind::String,
        }
    }
}

/// Returns true for `0`, `12`, `-3`; false for `007` and `+1`.
fn is_whole(word: &str) -> bool {
    let digits = word.strip_prefix('-').unwrap_or(word).as_bytes();
    !digits.is_empty()
        && digits.iter().all(u8::is_ascii_digit)
        && (digits.len() == 1 || digits[0] != b'0')
        && word != "-0"
}

/// Returns true for a number as JSON writes it.
fn is_number(word: &str) -> bool {
    let rest = word.strip_prefix('-').unwrap_or(word);
    let (rest, exponent) = match rest.split_once(['e', 'E']) {
        Some((rest, exponent)) => (rest, Some(exponent)),
        None => (rest, None),
    };
    let (whole, fraction) = match rest.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (rest, None),
    };
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    digits(whole)
        && (whole.len() == 1 || !whole.starts_with('0'))
        && fraction.is_none_or(digits)
        && exponent.is_none_or(|e| digits(e.strip_prefix(['+', '-']).unwrap_or(e)))
}

fn looks_of(kind: Kind) -> Looks {
    match kind {
        Kind::Int | Kind::Float => Looks::Number,
        Kind::String => Looks::Text,
        Kind::Bool | Kind::List | Kind::Object => Looks::Other,
    }
}

fn looks(word: &str) -> Looks {
    looks_of(Kind::of_word(word))
}

/// The values of a column so far.
#[derive(Debug, Clone, Default)]
struct Seen {
    kind: Option<Kind>,
    /// The first row that has this type.
    row: u64,
    /// Rows that have a value.
    values: u64,
    /// Whether some are words for `NaN` or infinite numbers in a table without types.
    has_not_finite: bool,
    /// The words of a table without types.
    odd: OddWords,
}

impl Seen {
    /// Returns the type of all values so far.
    fn joint(&self) -> Option<Kind> {
        match self.kind {
            Some(Kind::Int | Kind::Float) if self.has_not_finite => Some(Kind::Float),
            _ if self.has_not_finite => Some(Kind::String),
            kind => kind,
        }
    }
}

/// Infers the types of columns.
#[derive(Debug, Default)]
pub(crate) struct Types {
    columns: Vec<Seen>,
    rows: u64,
}

/// The inferred type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Inferred {
    /// The type of its values.
    pub(crate) kind: Kind,
    /// Whether rows lack it.
    pub(crate) nullable: bool,
}

/// Two values of one column whose types exclude each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Conflict {
    /// The number of the column.
    pub(crate) column: usize,
    /// The first row of the earlier type, and the type.
    pub(crate) first: (u64, Kind),
    /// The type in this row.
    pub(crate) here: Kind,
}

impl Types {
    /// Adds the values of a row that has at most `columns` cells.
    ///
    /// # Errors
    /// Returns the conflict of a value with the rows before.
    pub(crate) fn add(&mut self, row: &Row, columns: usize) -> Result<(), Conflict> {
        self.rows += 1;
        if self.columns.len() < columns {
            self.columns.resize(columns, Seen::default());
        }
        for (column, seen) in self.columns.iter_mut().enumerate() {
            let (kind, lossless) = match row.cell(column) {
                // All words are texts: the others need not be looked at.
                Cell::Word(_) if seen.odd.is_settled() => (Kind::String, false),
                cell => {
                    let Some((kind, lossless)) = kind_of(row, cell) else { continue };
                    if let Cell::Word(word) = cell {
                        seen.odd.see(row.number, row.text(word), looks_of(kind), looks);
                    }
                    if let Cell::Word(word) = cell
                        && kind == Kind::String
                        && json_float::word(row.text(word)).is_some()
                    {
                        // In a column of numbers it is one; in a column of texts it is a text.
                        seen.has_not_finite = true;
                        seen.values += 1;
                        continue;
                    }
                    (kind, lossless)
                }
            };
            seen.values += 1;
            let joint = match (seen.kind, kind) {
                (None, kind) => kind,
                (Some(before), kind) if before == kind => continue,
                (Some(Kind::Int | Kind::Float), Kind::Int | Kind::Float) => Kind::Float,
                (Some(_), _) if !lossless => Kind::String,
                (Some(before), here) => {
                    return Err(Conflict { column, first: (seen.row, before), here });
                }
            };
            (seen.kind, seen.row) = (Some(joint), row.number);
        }
        Ok(())
    }

    /// Returns for each of `columns` columns whether no value is other than a whole number.
    pub(crate) fn whole(&self, columns: usize) -> Vec<bool> {
        let kind = |column: usize| self.columns.get(column).and_then(Seen::joint);
        (0..columns).map(|column| matches!(kind(column), None | Some(Kind::Int))).collect()
    }

    /// Returns notes about columns of texts most of whose words are numbers.
    pub(crate) fn notes(&self, names: &[String]) -> Vec<String> {
        let texts =
            names.iter().zip(&self.columns).filter(|(_, s)| s.joint() == Some(Kind::String));
        texts.filter_map(|(name, seen)| seen.odd.told(name)).collect()
    }

    /// Returns the types of `columns` columns. A column without values has texts.
    pub(crate) fn finish(mut self, columns: usize) -> Vec<Inferred> {
        self.columns.resize(columns, Seen::default());
        let inferred = |seen: &Seen| Inferred {
            kind: seen.joint().unwrap_or(Kind::String),
            nullable: seen.values < self.rows,
        };
        self.columns.iter().map(inferred).collect()
    }
}

/// Returns the type of a cell, and whether the table states it; `None` for a cell without value.
pub(super) fn kind_of(row: &Row, cell: Cell) -> Option<(Kind, bool)> {
    Some(match cell {
        Cell::Absent | Cell::Null => return None,
        Cell::Word(word) => (Kind::of_word(row.text(word)), false),
        Cell::Bool(_) => (Kind::Bool, true),
        Cell::Int(_) => (Kind::Int, true),
        Cell::Large(_) | Cell::Float(_) | Cell::Digits(_) => (Kind::Float, true),
        Cell::Text(_) => (Kind::String, true),
        Cell::List(_) => (Kind::List, true),
        Cell::Object(_) => (Kind::Object, true),
    })
}

/// Returns a column of the manifest.
pub(crate) fn described(name: &str, inferred: Inferred) -> Column {
    Column {
        name: format!("/{}", name.replace('~', "~0").replace('/', "~1")),
        kind: inferred.kind.word().into(),
        shape: None,
        nullable: inferred.nullable,
    }
}
