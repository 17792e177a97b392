//! `MatTable`: a MAT file as a table: an array of structs, whose fields are the columns, or arrays with one number or text
//! for each row.
//!
//! Values are held in memory, within the limit of [`file`].

pub(crate) mod file;
mod json;

use std::path::{Path, PathBuf};

use tarflume_base::Failure;
use tarflume_foreign::mat::{Class, Value as MatValue, rows_of};
use tarflume_formats::json::{JsonRules, Value};
use tarflume_formats::message;
use tarflume_formats::name;

use self::file::MatFile;
use self::json::{of_row, of_value};
use super::text::objects::number;
use super::{Cell, MAX_COLUMNS, TableReader, TableRow, bad_row};

/// The rows of a MAT file.
pub(crate) struct MatTable {
    path: PathBuf,
    names: Vec<String>,
    values: Values,
    rows: u64,
    next: u64,
    rules: JsonRules,
}

/// Where the values of a row are.
enum Values {
    /// In a struct.
    Structs(Vec<Vec<MatValue>>),
    /// In each array.
    Columns(Vec<MatValue>),
}

impl MatTable {
    /// Opens a file.
    ///
    /// # Errors
    /// Returns an error for a file that is no MAT file of version 5, and for one whose arrays are no table.
    pub(crate) fn open(path: &Path, rules: JsonRules) -> Result<MatTable, Failure> {
        let file = MatFile::open(path)?;
        let structs: Vec<usize> = file.numbers_of(|class| class == Class::Struct);
        let (names, values, rows) = match structs[..] {
            [] => columns(&file, path)?,
            [one] => {
                let MatValue::Structs(found) = file.value(one)? else {
                    return Err(Failure::bad_data("its array of structs is none").in_file(path));
                };
                let rows = found.rows.len() as u64;
                (found.fields, Values::Structs(found.rows), rows)
            }
            _ => {
                let names: Vec<&str> =
                    structs.iter().map(|&n| file.variables()[n].name.as_str()).collect();
                let text = format!(
                    "it has several arrays of structs, {}; a table is one of them: save it alone (in Python: \
                     scipy.io.savemat('one.mat', {{'x': scipy.io.loadmat(path)['{}']}}))",
                    names.join(", "),
                    names[0]
                );
                return Err(Failure::usage(text).in_file(path));
            }
        };
        if names.len() > MAX_COLUMNS {
            let text = format!("it has more than {MAX_COLUMNS} columns");
            return Err(Failure::usage(text).in_file(path));
        }
        Ok(MatTable { path: path.into(), names, values, rows, next: 0, rules })
    }
}

/// Returns the names and the values of the arrays of a file without structs, and the number of their rows.
fn columns(file: &MatFile, path: &Path) -> Result<(Vec<String>, Values, u64), Failure> {
    let mut names = Vec::new();
    let mut values = Vec::new();
    let mut found: Option<u64> = None;
    for (n, variable) in file.variables().iter().enumerate() {
        let (rows, _) = rows_of(&variable.dims);
        if let Some(before) = found.filter(|&before| before != rows) {
            return Err(Failure::usage(message!(
                "'{}' has {before} rows and '{}' has {rows}; save the arrays of one table alone (in Python: \
                 scipy.io.savemat('one.mat', {{'{}': scipy.io.loadmat(path)['{}']}}))",
                names[0],
                name::shown(variable.name.as_bytes()),
                names[0],
                names[0]
            ))
            .in_file(path));
        }
        found = Some(rows);
        names.push(variable.name.clone());
        values.push(file.value(n)?);
    }
    let Some(rows) = found else {
        return Err(Failure::usage("it has no arrays").in_file(path));
    };
    Ok((names, Values::Columns(values), rows))
}

impl TableReader for MatTable {
    fn columns(&self) -> &[String] {
        &self.names
    }

    fn next(&mut self, row: &mut TableRow) -> Result<bool, Failure> {
        if self.next == self.rows {
            return Ok(false);
        }
        let at = self.next as usize;
        self.next += 1;
        row.begin(self.next, None, self.names.len());
        for (column, name) in self.names.iter().enumerate() {
            let value = match &self.values {
                Values::Structs(rows) => of_value(&rows[at][column], self.rules),
                Values::Columns(columns) => of_row(&columns[column], at, self.rules),
            };
            let value = value.map_err(|why| {
                let name = name::shown(name.as_bytes());
                bad_row(&self.path, self.next, None, message!("'{name}': {why}"; why = why))
            })?;
            let cell = cell(value, row);
            row.set(column, cell);
        }
        Ok(true)
    }
}

/// Returns a value as the cell of a row.
fn cell(value: Value, row: &mut TableRow) -> Cell {
    match value {
        Value::Null => Cell::Null,
        Value::Bool(truth) => Cell::Bool(truth),
        Value::String(text) => Cell::Text(row.add_text(&text)),
        Value::Array(_) => Cell::List(row.add_text(&value.to_string())),
        Value::Object(_) => Cell::Object(row.add_text(&value.to_string())),
        Value::Number(_) => value.as_number().map_or(Cell::Null, |found| number(found, row)),
    }
}
