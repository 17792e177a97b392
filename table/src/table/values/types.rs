//! The types of a table's columns, inferred from all rows.
//!
//! Words of a table without types become truth values or numbers only if all words of the column
//! are; `NaN` and `inf` are numbers beside numbers, and texts beside texts. Ids with leading zeros are
//! text. Values with types must agree: a column of numbers and texts is an error that names both rows.
//! Numbers that no type of 64 bits holds with all their digits are text.

use tarflume_formats::Column;
use tarflume_formats::message::Message;

use crate::json_float;
pub use crate::table::values::kind::ValueKind;
use crate::table::values::numbers::Numbers;
use crate::table::values::odd::{Looks, OddWords};
use crate::table::{Cell, TableRow};

fn looks_of(kind: ValueKind) -> Looks {
    match kind {
        ValueKind::Int | ValueKind::UInt | ValueKind::Float => Looks::Number,
        ValueKind::String => Looks::Text,
        ValueKind::Bool | ValueKind::List | ValueKind::Object => Looks::Other,
    }
}

fn looks(word: &str) -> Looks {
    looks_of(ValueKind::of_word(word))
}

/// The values of a column so far.
#[derive(Debug, Clone, Default)]
struct Seen {
    kind: Option<ValueKind>,
    /// The first row that has this type.
    row: u64,
    /// Rows that have a value.
    values: u64,
    /// Whether some are words for `NaN` or infinite numbers in a table without types.
    has_not_finite: bool,
    /// The words of a table without types.
    odd: OddWords,
    numbers: Numbers,
}

impl Seen {
    /// Returns the type that holds all values so far; `None` if there are none.
    fn joint(&self) -> Option<ValueKind> {
        match self.kind {
            Some(kind) if kind.is_number() => Some(self.numbers.kind()),
            _ if self.has_not_finite => Some(ValueKind::String),
            kind => kind,
        }
    }

    /// Returns the note about the column `name`, if there is one.
    fn note(&self, name: &str) -> Option<Message> {
        match self.kind? {
            kind if kind.is_number() => self.numbers.told(name),
            _ => self.odd.told(name).filter(|_| self.joint() == Some(ValueKind::String)),
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
pub struct Inferred {
    /// The type of its values.
    pub kind: ValueKind,
    /// Whether rows lack it.
    pub nullable: bool,
}

/// Two values of one column whose types exclude each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Conflict {
    /// The number of the column.
    pub(crate) column: usize,
    /// The first row of the earlier type, and the type.
    pub(crate) first: (u64, ValueKind),
    /// The type in this row.
    pub(crate) here: ValueKind,
}

impl Types {
    /// Adds the values of a row that has at most `columns` cells.
    ///
    /// # Errors
    /// Returns the conflict of a value with the rows before.
    pub(crate) fn add(&mut self, row: &TableRow, columns: usize) -> Result<(), Conflict> {
        self.rows += 1;
        if self.columns.len() < columns {
            self.columns.resize(columns, Seen::default());
        }
        for (column, seen) in self.columns.iter_mut().enumerate() {
            let (kind, lossless) = match row.cell(column) {
                // All words are texts: the others need not be looked at.
                Cell::Word(_) if seen.odd.is_settled() => (ValueKind::String, false),
                cell => {
                    let Some((kind, lossless)) = kind_of(row, cell) else { continue };
                    if let Cell::Word(word) = cell {
                        seen.odd.see(row.number, row.text(word), looks_of(kind), looks);
                    }
                    if let Cell::Word(word) = cell
                        && kind == ValueKind::String
                        && json_float::word(row.text(word)).is_some()
                    {
                        // In a column of numbers it is one; in a column of texts it is a text.
                        seen.has_not_finite = true;
                        seen.numbers.see_float(row, word);
                        seen.values += 1;
                        continue;
                    }
                    (kind, lossless)
                }
            };
            if kind.is_number() {
                seen.numbers.see(row, row.cell(column));
            }
            seen.values += 1;
            let joint = match (seen.kind, kind) {
                (None, kind) => kind,
                (Some(before), kind) if before == kind => continue,
                (Some(before), here) if before.is_number() && here.is_number() => ValueKind::Float,
                (Some(_), _) if !lossless => ValueKind::String,
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
        let kinds = (0..columns).map(|column| self.columns.get(column).and_then(Seen::joint));
        kinds.map(|kind| matches!(kind, None | Some(ValueKind::Int))).collect()
    }

    /// Returns notes about columns of texts most of whose words are numbers, and of numbers that are text.
    pub(crate) fn notes(&self, names: &[String]) -> Vec<Message> {
        names.iter().zip(&self.columns).filter_map(|(name, seen)| seen.note(name)).collect()
    }

    /// Returns the numbers of each of `columns` columns.
    pub(crate) fn numbers(&self, columns: usize) -> Vec<Numbers> {
        (0..columns)
            .map(|n| self.columns.get(n).map_or_else(Numbers::default, |s| s.numbers.clone()))
            .collect()
    }

    /// Returns the types of `columns` columns.
    pub(crate) fn finish(mut self, columns: usize) -> Vec<Inferred> {
        self.columns.resize(columns, Seen::default());
        self.columns
            .iter()
            .map(|seen| Inferred {
                kind: seen.joint().unwrap_or(ValueKind::String),
                nullable: seen.values < self.rows,
            })
            .collect()
    }
}

/// Returns the type of a cell, and whether the table states it; `None` for a cell without value.
pub(crate) fn kind_of(row: &TableRow, cell: Cell) -> Option<(ValueKind, bool)> {
    Some(match cell {
        Cell::Absent | Cell::Null => return None,
        Cell::Word(word) => (ValueKind::of_word(row.text(word)), false),
        Cell::Bool(_) => (ValueKind::Bool, true),
        Cell::Int(_) => (ValueKind::Int, true),
        Cell::Large(_) => (ValueKind::UInt, true),
        Cell::Float(_) | Cell::Digits(_) => (ValueKind::Float, true),
        Cell::Text(_) => (ValueKind::String, true),
        Cell::List(_) => (ValueKind::List, true),
        Cell::Object(_) => (ValueKind::Object, true),
    })
}

/// Returns a column of the manifest.
pub fn described(name: &str, inferred: Inferred) -> Column {
    Column {
        name: format!("/{}", name.replace('~', "~0").replace('/', "~1")),
        kind: inferred.kind.word().into(),
        shape: None,
        nullable: inferred.nullable,
        items: None,
    }
}
