//! `ParquetTable`: a Parquet file as a table; the types of its columns are those of the file.
//!
//! Memory holds a batch of 256 rows beside the open pages. Columns of bytes have no JSON and are an
//! error.

mod arrow_batches;
mod arrow_cells;
mod arrow_file;
mod encrypted;
mod file;
mod json;
mod ordered;
mod texts;

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type};
use arrow_schema::DataType;
use tarflume_base::Failure;
use tarflume_formats::json::{JsonRules, Value};
use tarflume_formats::message;
use tarflume_formats::message::Message;

pub use self::arrow_batches::{ArrowBatch, ArrowBatches};
pub use self::arrow_cells::{
    ArrowColumn, ArrowKind, ArrowNumber, Misplaced, PlacedBytes, PlacedNumbers,
};
pub use self::file::{Pages, ParquetFile, failure, guarded};
pub use self::json::{JsonRow, JsonRows};
pub(crate) use self::ordered::OrderedRows;
pub(crate) use self::texts::Texts;
use crate::table::{Cell, MAX_COLUMNS, MAX_ROW, Span, TableReader, TableRow, bad_row};

/// The rows of a Parquet file.
pub(super) struct ParquetTable {
    file: ParquetFile,
    rows: JsonRows,
    names: Vec<String>,
    number: u64,
    rules: JsonRules,
}

impl ParquetTable {
    /// Opens a table.
    ///
    /// # Errors
    /// Returns an error if the file is not Parquet, a column has a type without JSON, or the
    /// operating system refuses.
    pub(super) fn open(path: &Path, rules: JsonRules) -> Result<ParquetTable, Failure> {
        let file = ParquetFile::open(path)?;
        let footer = file.footer();
        let fields = footer.schema().fields();
        if fields.len() > MAX_COLUMNS {
            return refused(
                format!("it has {} columns; at most {MAX_COLUMNS} are read", fields.len()),
                path,
            );
        }
        if let Some(field) = fields.iter().find(|field| has_bytes(field.data_type(), 0)) {
            return refused(
                format!(
                    "column '{}' has bytes, which JSON cannot hold; write the table without it, or pack \
                 its rows as samples with the source parquet:FILE",
                    field.name()
                ),
                path,
            );
        }
        let names: Vec<String> = fields.iter().map(|field| field.name().clone()).collect();
        let mut known = HashSet::new();
        if let Some(twice) = names.iter().find(|name| !known.insert(name.as_str())) {
            return refused(format!("it has the column '{twice}' twice; rename one"), path);
        }
        let leaves: Vec<usize> = (0..file.schema().num_columns()).collect();
        let rows = JsonRows::new(&file, &leaves, rules)?;
        Ok(ParquetTable { file, rows, names, number: 0, rules })
    }
}

fn refused(why: String, path: &Path) -> Result<ParquetTable, Failure> {
    Err(Failure::usage(why).in_file(path))
}

/// Returns true for a type of bytes, and for lists and structures of it.
fn has_bytes(kind: &DataType, depth: usize) -> bool {
    match kind {
        DataType::Binary
        | DataType::LargeBinary
        | DataType::BinaryView
        | DataType::FixedSizeBinary(_) => true,
        _ if depth > 64 => true, // deeper than any JSON that is read again
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::FixedSizeList(field, _)
        | DataType::Map(field, _) => inner_has_bytes(field, depth),
        DataType::Struct(fields) => fields.iter().any(|field| inner_has_bytes(field, depth)),
        _ => false,
    }
}

fn inner_has_bytes(field: &arrow_schema::Field, depth: usize) -> bool {
    has_bytes(field.data_type(), depth + 1)
}

impl TableReader for ParquetTable {
    fn columns(&self) -> &[String] {
        &self.names
    }

    fn next(&mut self, row: &mut TableRow) -> Result<bool, Failure> {
        if !self.rows.advance()? {
            return Ok(false);
        }
        self.number += 1;
        row.begin(self.number, None, self.names.len());
        let Some((batch, at)) = self.rows.current() else { return Ok(true) };
        for (number, column) in batch.columns().iter().enumerate() {
            let read = cell(column, at, row, self.rules).map_err(|why| {
                let reason = message!("column '{}': {why}", self.names[number]; why = why);
                bad_row(self.file.path(), self.number, None, &reason)
            })?;
            row.set(number, read);
        }
        Ok(true)
    }
}

/// Returns a value as a cell of `row`, which takes its text.
fn cell(
    array: &Arc<dyn Array>,
    at: usize,
    row: &mut TableRow,
    rules: JsonRules,
) -> Result<Cell, Message> {
    if array.is_null(at) {
        return Ok(Cell::Null);
    }
    // The usual types need no JSON between.
    Ok(match array.data_type() {
        DataType::Utf8 => Cell::Text(text(row, array.as_string::<i32>().value(at))?),
        DataType::Boolean => Cell::Bool(array.as_boolean().value(at)),
        DataType::Int32 => Cell::Int(array.as_primitive::<Int32Type>().value(at).into()),
        DataType::Int64 => Cell::Int(array.as_primitive::<Int64Type>().value(at)),
        DataType::Float64 if array.as_primitive::<Float64Type>().value(at).is_finite() => {
            Cell::Float(array.as_primitive::<Float64Type>().value(at))
        }
        _ => match json::value(array, at, rules)? {
            Value::Null => Cell::Null,
            Value::Bool(value) => Cell::Bool(value),
            Value::Number(number) => number_cell(&number, row)?,
            Value::String(value) => Cell::Text(text(row, &value)?),
            list @ Value::Array(_) => Cell::List(text(row, &list.to_string())?),
            object @ Value::Object(_) => Cell::Object(text(row, &object.to_string())?),
        },
    })
}

/// Returns a number as the type that has it; a word of Python for one that JSON lacks stays as it is.
fn number_cell(number: &str, row: &mut TableRow) -> Result<Cell, Message> {
    if let Ok(whole) = number.parse() {
        return Ok(Cell::Int(whole));
    }
    if let Ok(whole) = number.parse() {
        return Ok(Cell::Large(whole));
    }
    match number.parse::<f64>().ok().filter(|real| real.is_finite()) {
        Some(real) => Ok(Cell::Float(real)),
        None => text(row, number).map(Cell::Digits),
    }
}

/// Adds text to a row of bounded length.
fn text(row: &mut TableRow, text: &str) -> Result<Span, Message> {
    if row.text_bytes() + text.len() > MAX_ROW {
        return Err(message!("the row is longer than {} MiB", MAX_ROW >> 20));
    }
    Ok(row.add_text(text))
}

#[cfg(test)]
mod tests;
