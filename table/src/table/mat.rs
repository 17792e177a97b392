//! `MatTable`: a MAT file as a table: an array of structs, whose fields are the columns, or arrays with one number or text
//! for each row.
//!
//! Values are held in memory, within the limit of [`file`].

pub(crate) mod file;
mod json;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use tarflume_base::Failure;
use tarflume_foreign::mat::{Class, Value as MatValue, Variable, rows_of};
use tarflume_formats::json::{JsonRules, Value};
use tarflume_formats::message;
use tarflume_formats::name;

use self::file::MatFile;
use self::json::{of_row, of_value};
use super::text::objects::number;
use super::{Cell, MAX_COLUMNS, MAX_ROW, TableReader, TableRow, bad_row};

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
        check_names(&names, path)?;
        Ok(MatTable { path: path.into(), names, values, rows, next: 0, rules })
    }
}

/// Returns the names and the values of the arrays of a file without structs, and the number of their rows.
fn columns(file: &MatFile, path: &Path) -> Result<(Vec<String>, Values, u64), Failure> {
    let mut names = Vec::new();
    let mut values = Vec::new();
    let mut found: Option<u64> = None;
    for (n, variable) in file.variables().iter().enumerate() {
        let rows = row_count(variable).map_err(|why| Failure::usage(why).in_file(path))?;
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

/// Returns the number of rows that a column has: those of numbers, the lines of a text, or one for each cell of a line or
/// column of cells.
///
/// # Errors
/// Returns why a row has no value, or several cells.
fn row_count(variable: &Variable) -> Result<u64, String> {
    let rows = rows_of(&variable.dims);
    let is_whole = match variable.class {
        Class::Text => return Ok(variable.dims.first().copied().unwrap_or(0).max(1)),
        Class::Cell => rows.1.is_empty(),
        _ => !rows.1.contains(&0),
    };
    if is_whole {
        return Ok(rows.0);
    }
    Err(format!(
        "'{}' has the shape {:?}; a column of a table has a number, a line of numbers, a text or a cell for each row",
        name::shown(variable.name.as_bytes()),
        variable.dims
    ))
}

/// Refuses a name that two columns have.
fn check_names(names: &[String], path: &Path) -> Result<(), Failure> {
    let mut known = HashSet::new();
    match names.iter().find(|name| !known.insert(name.as_str())) {
        Some(twice) => {
            let text =
                format!("it has the column '{}' twice; rename one", name::shown(twice.as_bytes()));
            Err(Failure::usage(text).in_file(path))
        }
        None => Ok(()),
    }
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
            if row.text_bytes() > MAX_ROW {
                let why = format!("the row is longer than {} MiB", MAX_ROW >> 20);
                return Err(bad_row(&self.path, self.next, None, why));
            }
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
