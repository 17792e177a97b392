//! `OrderedRows`: rows as texts of JSON. Fields of a structure keep their order, as the dicts of `datasets` do.

use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, Field};
use tarflume_base::Failure;
use tarflume_formats::json::{JsonRules, Value};
use tarflume_formats::message::Message;

use super::arrow_file::ArrowRows;
use super::file::ParquetFile;
use super::json::{JsonRows, value};
use crate::table::bad_row;

/// Names of columns in an error.
const NAMED: usize = 8;
/// The name of the extension whose texts are JSON.
const JSON: &str = "arrow.json";

/// Rows of some columns.
pub(crate) struct OrderedRows {
    path: std::path::PathBuf,
    rows: Rows,
    columns: Vec<String>,
    row: u64,
}

enum Rows {
    Parquet(JsonRows),
    Arrow(ArrowRows),
}

impl OrderedRows {
    /// Opens a file.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or has none of the columns.
    pub(crate) fn open(path: &Path, columns: &[&str]) -> Result<OrderedRows, Failure> {
        let is_arrow = path.extension().is_some_and(|own| own.eq_ignore_ascii_case("arrow"));
        let rows = if is_arrow {
            let rows = ArrowRows::open(path)?;
            check(rows.fields(), columns, path)?;
            Rows::Arrow(rows)
        } else {
            let file = ParquetFile::open(path)?;
            let footer = file.footer();
            check(footer.schema().fields(), columns, path)?;
            let fields = footer.schema().fields();
            let leaves: Vec<usize> = (0..file.schema().num_columns())
                .filter(|&leaf| {
                    let root = file.schema().get_column_root_idx(leaf);
                    columns.contains(&fields[root].name().as_str())
                })
                .collect();
            Rows::Parquet(JsonRows::new(&file, &leaves, JsonRules::Strict)?)
        };
        let columns = columns.iter().map(ToString::to_string).collect();
        Ok(OrderedRows { path: path.into(), rows, columns, row: 0 })
    }

    /// Appends the next row; returns false after the last.
    ///
    /// # Errors
    /// Returns an error for a row of more than `longest` bytes, a value without JSON, and a damaged file.
    pub(crate) fn next(&mut self, longest: usize, text: &mut String) -> Result<bool, Failure> {
        let is_there = match &mut self.rows {
            Rows::Parquet(rows) => rows.advance()?,
            Rows::Arrow(rows) => rows.advance()?,
        };
        if !is_there {
            return Ok(false);
        }
        self.row += 1;
        let current = match &self.rows {
            Rows::Parquet(rows) => rows.current(),
            Rows::Arrow(rows) => rows.current(),
        };
        let begin = text.len();
        if let Some((batch, at)) = current {
            add_row(batch, at, &self.columns, text)
                .map_err(|why| bad_row(&self.path, self.row, None, why.text()))?;
        }
        if text.len() - begin > longest {
            let reason = format!("it is longer than {} MiB as JSON", longest >> 20);
            return Err(bad_row(&self.path, self.row, None, &reason));
        }
        Ok(true)
    }
}

/// Refuses a file with none of the columns.
fn check(fields: &[Arc<Field>], columns: &[&str], path: &Path) -> Result<(), Failure> {
    if fields.iter().any(|field| columns.contains(&field.name().as_str())) {
        return Ok(());
    }
    let others = fields.iter().take(NAMED).map(|field| format!("'{}'", field.name()));
    let text = format!(
        "there is no column '{}'; the columns are {}",
        columns.join("' or '"),
        others.collect::<Vec<_>>().join(", ")
    );
    Err(Failure::usage(text).in_file(path))
}

fn add_row(
    batch: &RecordBatch,
    row: usize,
    columns: &[String],
    text: &mut String,
) -> Result<(), Message> {
    text.push('{');
    let mut is_first = true;
    for (field, column) in batch.schema_ref().fields().iter().zip(batch.columns()) {
        if columns.contains(field.name()) {
            add_member(field, column, row, &mut is_first, text)?;
        }
    }
    text.push('}');
    Ok(())
}

fn add_member(
    field: &Field,
    column: &Arc<dyn Array>,
    row: usize,
    is_first: &mut bool,
    text: &mut String,
) -> Result<(), Message> {
    text.push_str(if *is_first { "" } else { "," });
    *is_first = false;
    text.push_str(&Value::from(field.name().as_str()).to_string());
    text.push(':');
    add(field, column, row, text)
}

/// Appends a value.
fn add(
    field: &Field,
    array: &Arc<dyn Array>,
    row: usize,
    text: &mut String,
) -> Result<(), Message> {
    if array.is_null(row) {
        text.push_str("null");
        return Ok(());
    }
    match array.data_type() {
        DataType::List(inner) => add_list(inner, &array.as_list::<i32>().value(row), text),
        DataType::LargeList(inner) => add_list(inner, &array.as_list::<i64>().value(row), text),
        DataType::FixedSizeList(inner, _) => {
            add_list(inner, &array.as_fixed_size_list().value(row), text)
        }
        DataType::Struct(fields) => {
            text.push('{');
            let mut is_first = true;
            for (field, column) in fields.iter().zip(array.as_struct().columns()) {
                add_member(field, column, row, &mut is_first, text)?;
            }
            text.push('}');
            Ok(())
        }
        _ => {
            match value(array, row, JsonRules::Strict)? {
                Value::String(json) if is_json(field) => text.push_str(&json),
                other => text.push_str(&other.to_string()),
            }
            Ok(())
        }
    }
}

fn add_list(inner: &Field, items: &Arc<dyn Array>, text: &mut String) -> Result<(), Message> {
    text.push('[');
    for number in 0..items.len() {
        text.push_str(if number > 0 { "," } else { "" });
        add(inner, items, number, text)?;
    }
    text.push(']');
    Ok(())
}

/// Returns true for a column whose texts are JSON.
fn is_json(field: &Field) -> bool {
    field.extension_type_name() == Some(JSON)
}

#[cfg(test)]
mod tests;
