//! Rows as JSON: one object with sorted keys and the shortest numbers that round-trip.

use std::io::Write;

use tarflume_formats::json::{JsonRules, Number};
use tarflume_formats::message;
use tarflume_formats::message::Message;

use crate::json_float::{self, NotFinite};
use crate::table::values::types::{Inferred, ValueKind};
use crate::table::{Cell, TableRow};

/// Writes rows of one table as JSON.
#[derive(Debug)]
pub struct RowWriter {
    /// Column, `"name":`, and type, in the order of names.
    fields: Vec<(usize, Vec<u8>, ValueKind)>,
}

impl RowWriter {
    /// Creates a writer of all columns but those in `without`.
    pub fn new(names: &[String], types: &[Inferred], without: &[usize]) -> RowWriter {
        let mut order: Vec<usize> = (0..names.len()).filter(|n| !without.contains(n)).collect();
        order.sort_by_key(|&n| &names[n]);
        RowWriter {
            fields: order
                .into_iter()
                .map(|n| {
                    let mut name = Vec::new();
                    put_text(&names[n], &mut name);
                    name.push(b':');
                    (n, name, types[n].kind)
                })
                .collect(),
        }
    }

    /// Returns true if it writes no column.
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// Finds a value that strict JSON lacks: a word for `NaN` or an infinite number in a column of numbers. Tables with
    /// types have refused theirs.
    ///
    /// # Errors
    /// Returns why the row has no JSON, with the name of the column.
    pub fn check(&self, row: &TableRow, rules: JsonRules) -> Result<(), Message> {
        if rules == JsonRules::Python {
            return Ok(());
        }
        let floats = self.fields.iter().filter(|(.., kind)| *kind == ValueKind::Float);
        for (column, name, _) in floats {
            if let Cell::Word(text) = row.cell(*column)
                && let Some(word) = json_float::word(row.text(text))
            {
                let name = String::from_utf8_lossy(name.strip_suffix(b":").unwrap_or(name));
                return Err(message!(
                    "column {name}: {lacking}, missing={} reads such words as missing",
                    row.text(text);
                    lacking = NotFinite(word).message()
                ));
            }
        }
        Ok(())
    }

    /// Appends the row to `out`.
    pub fn write(&self, row: &TableRow, out: &mut Vec<u8>) {
        out.push(b'{');
        let start = out.len();
        for (column, name, kind) in &self.fields {
            let cell = row.cell(*column);
            if cell == Cell::Absent {
                continue;
            }
            if out.len() > start {
                out.push(b',');
            }
            out.extend_from_slice(name);
            put_cell(row, cell, *kind, out);
        }
        out.push(b'}');
    }
}

fn put_cell(row: &TableRow, cell: Cell, kind: ValueKind, out: &mut Vec<u8>) {
    // Numbers in a column of texts are texts that keep their digits.
    let is_text = kind == ValueKind::String
        && matches!(cell, Cell::Int(_) | Cell::Large(_) | Cell::Float(_) | Cell::Digits(_));
    if is_text {
        out.push(b'"');
    }
    put_typed(row, cell, kind, out);
    if is_text {
        out.push(b'"');
    }
}

fn put_typed(row: &TableRow, cell: Cell, kind: ValueKind, out: &mut Vec<u8>) {
    match cell {
        Cell::Absent | Cell::Null => out.extend_from_slice(b"null"),
        Cell::Word(word) => put_word(row.text(word), kind, out),
        Cell::Bool(value) => out.extend_from_slice(if value { b"true" } else { b"false" }),
        Cell::Int(number) => put_whole(number, out),
        Cell::Large(number) => put_whole(number, out),
        Cell::Float(number) => put_number(number, out),
        Cell::Digits(text) => out.extend_from_slice(row.text(text).as_bytes()),
        Cell::Text(text) => put_text(row.text(text), out),
        Cell::List(json) | Cell::Object(json) => {
            out.extend_from_slice(row.text(json).as_bytes());
        }
    }
}

/// Appends a word as a value of its column's type.
fn put_word(word: &str, kind: ValueKind, out: &mut Vec<u8>) {
    match kind {
        ValueKind::Int | ValueKind::UInt => out.extend_from_slice(word.as_bytes()), // in the grammar of JSON
        // A word in the grammar of JSON; one that a float would change keeps its digits.
        ValueKind::Float => match Number::parse(word).and_then(Number::real) {
            Some(number) => put_number(number, out),
            None => out.extend_from_slice(json_float::word(word).unwrap_or(word).as_bytes()),
        },
        ValueKind::Bool => out.extend_from_slice(word.to_ascii_lowercase().as_bytes()),
        _ => put_text(word, out),
    }
}

/// Appends a truth value or a float; other cells are nothing here.
pub fn put_plain(cell: Cell, out: &mut Vec<u8>) {
    match cell {
        Cell::Bool(value) => out.extend_from_slice(if value { b"true" } else { b"false" }),
        Cell::Float(number) => put_number(number, out),
        _ => {}
    }
}

fn put_whole(number: impl std::fmt::Display, out: &mut Vec<u8>) {
    write!(out, "{number}").expect("memory takes all bytes");
}

fn put_number(number: f64, out: &mut Vec<u8>) {
    serde_json::to_writer(&mut *out, &number).expect("numbers serialize");
}

/// Appends a text in quotes.
pub(crate) fn put_text(text: &str, out: &mut Vec<u8>) {
    serde_json::to_writer(&mut *out, text).expect("texts serialize");
}

/// Appends a value with sorted keys.
pub fn put_value(value: &serde_json::Value, out: &mut Vec<u8>) {
    match value {
        serde_json::Value::Array(list) => {
            out.push(b'[');
            for (n, value) in list.iter().enumerate() {
                if n > 0 {
                    out.push(b',');
                }
                put_value(value, out);
            }
            out.push(b']');
        }
        serde_json::Value::Object(map) => {
            // The map's own order depends on a feature that any crate may switch on.
            let mut fields: Vec<_> = map.iter().collect();
            fields.sort_unstable_by_key(|(name, _)| *name);
            out.push(b'{');
            for (n, (name, value)) in fields.into_iter().enumerate() {
                if n > 0 {
                    out.push(b',');
                }
                put_text(name, out);
                out.push(b':');
                put_value(value, out);
            }
            out.push(b'}');
        }
        single => {
            serde_json::to_writer(&mut *out, single).expect("JSON serializes");
        }
    }
}
