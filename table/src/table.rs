//! Tables: CSV, TSV, JSON lines, JSON documents, Parquet and MAT files -> rows of typed values.
//!
//! A [`TableReader`] yields rows; [`values::types`] infers the type of each column from all rows, and
//! [`values::json`] writes a row as the JSON of a sample. Memory holds one row. What is wrong with a table
//! is an error that names the file, row and byte. Writes nothing and knows no samples.

mod encoding;
mod header;
pub(crate) mod mat;
pub mod options;
#[cfg(feature = "tables")]
pub mod parquet;
mod quoting;
mod separator;
pub mod text;
pub mod values;

use std::path::Path;

use tarflume_base::{Exit, Failure};
use tarflume_formats::Place;
use tarflume_formats::message;
use tarflume_formats::message::Message;

pub use self::header::KEY_NAMES;
pub use self::options::TableOptions;
pub use self::quoting::Quoting;
pub use self::separator::Separator;

/// Limit on the bytes of one row.
pub(crate) const MAX_ROW: usize = 16 << 20;
/// Limit on the columns of a table.
pub(crate) const MAX_COLUMNS: usize = 16_384;

/// Reads the rows of a table, in order.
pub trait TableReader {
    /// Returns the names of the columns. A reader of JSON lines adds names while it reads.
    fn columns(&self) -> &[String];

    /// Reads the next row into `row`; returns false at the end.
    ///
    /// # Errors
    /// Returns an error for a malformed or too long row, and for a failure of the machine.
    fn next(&mut self, row: &mut TableRow) -> Result<bool, Failure>;
}

/// A piece of a row's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span(u32, u32);

/// A value of a row. Texts are in the row; see [`TableRow::text`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cell {
    /// The row does not have this field.
    Absent,
    /// The field is empty or `null`.
    Null,
    /// Text of a table without types: the values of the whole column determine what it is.
    Word(Span),
    /// A truth value.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A whole number that is larger than any `i64`.
    Large(u64),
    /// A finite number.
    Float(f64),
    /// A number that no type above holds, as JSON writes it: it keeps its digits.
    Digits(Span),
    /// Text.
    Text(Span),
    /// A list, as JSON.
    List(Span),
    /// An object, as JSON with sorted keys.
    Object(Span),
}

/// A row of a table; its memory is used again for the next one.
#[derive(Debug, Default)]
pub struct TableRow {
    /// Its number, from 1.
    pub number: u64,
    /// Its first byte in the file, if the file is not compressed.
    pub byte: Option<u64>,
    cells: Vec<Cell>,
    text: String,
}

impl TableRow {
    /// Begins a row of `columns` absent cells.
    pub fn begin(&mut self, number: u64, byte: Option<u64>, columns: usize) {
        (self.number, self.byte) = (number, byte);
        self.text.clear();
        self.cells.clear();
        self.cells.resize(columns, Cell::Absent);
    }

    /// Adds text and returns its span. A row has at most `MAX_ROW` bytes.
    pub fn add_text(&mut self, text: &str) -> Span {
        let start = self.text.len() as u32;
        self.text.push_str(text);
        Span(start, self.text.len() as u32)
    }

    /// Returns the bytes of its texts.
    fn text_bytes(&self) -> usize {
        self.text.len()
    }

    /// Sets a cell; adds absent ones if the row has fewer.
    pub fn set(&mut self, column: usize, cell: Cell) {
        if column >= self.cells.len() {
            self.cells.resize(column + 1, Cell::Absent);
        }
        self.cells[column] = cell;
    }

    /// Returns a cell.
    #[inline]
    pub fn cell(&self, column: usize) -> Cell {
        self.cells.get(column).copied().unwrap_or(Cell::Absent)
    }

    /// Makes a whole number a number with a point, unless it would lose digits.
    pub fn widen(&mut self, column: usize) {
        if let Cell::Int(whole) = self.cell(column)
            && (whole as f64) as i128 == i128::from(whole)
        {
            self.set(column, Cell::Float(whole as f64));
        }
    }

    /// Returns the text of a span of this row.
    #[inline]
    pub fn text(&self, span: Span) -> &str {
        &self.text[span.0 as usize..span.1 as usize]
    }

    /// Appends a cell's value as the name of a sample to `out`; returns false if it is none.
    pub fn name(&self, column: usize, out: &mut Vec<u8>) -> bool {
        match self.cell(column) {
            Cell::Word(text) | Cell::Text(text) | Cell::Digits(text) => {
                out.extend_from_slice(self.text(text).as_bytes());
            }
            Cell::Int(number) => out.extend_from_slice(number.to_string().as_bytes()),
            Cell::Large(number) => out.extend_from_slice(number.to_string().as_bytes()),
            _ => return false,
        }
        true
    }
}

/// The formats of tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Fields with this between them.
    Separated(Separator),
    /// A JSON object on each line.
    Lines,
    /// A list or an object in a JSON document.
    Document,
    /// Parquet.
    Parquet,
    /// Arrays of MATLAB.
    Mat,
}

impl Form {
    /// Returns the format that the file's extension names, without `.gz` or `.zst`.
    fn of(path: &Path) -> Option<Form> {
        let name = path.file_name()?.to_str()?.to_ascii_lowercase();
        let name = [".gz", ".zst"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name);
        match name.rsplit_once('.')?.1 {
            "csv" => Some(Form::Separated(Separator::Byte(b','))),
            "tsv" | "tab" => Some(Form::Separated(Separator::Byte(b'\t'))),
            "jsonl" | "ndjson" => Some(Form::Lines),
            "json" => Some(Form::Document),
            "parquet" => Some(Form::Parquet),
            "mat" => Some(Form::Mat),
            _ => None,
        }
    }
}

/// Opens a table. Its extension names the format, and its first bytes a compression. With another extension it is text,
/// and its first lines tell the separator.
///
/// # Errors
/// Returns an error for lines that do not tell the separator, a table without header, and if the operating system
/// refuses.
pub fn open(path: &Path, options: &TableOptions) -> Result<Box<dyn TableReader>, Failure> {
    let stated = options.is_document.then_some(Form::Document).or_else(|| Form::of(path));
    let form = match stated.or(options.separator.map(Form::Separated)) {
        Some(form) => form,
        None => text::guess::separator(path, options)?.map_or(Form::Lines, Form::Separated),
    };
    match form {
        Form::Separated(usual) => {
            options.refuse(&["at"], path, "a table of fields")?;
            Ok(Box::new(text::csv::CsvTable::open(path, usual, options)?))
        }
        Form::Lines => {
            options.refuse(&["sep", "quote", "header", "at"], path, "JSON lines")?;
            Ok(Box::new(text::jsonl::JsonLines::open(path, options)?))
        }
        Form::Document => {
            options.refuse(&["sep", "quote", "header"], path, "a JSON document")?;
            Ok(Box::new(text::document::JsonDocument::open(path, options)?))
        }
        Form::Mat => {
            let others = ["sep", "quote", "header", "skip", "encoding", "at", "texts"];
            options.refuse(&others, path, "a MAT file")?;
            Ok(Box::new(mat::MatTable::open(path, options.rules)?))
        }
        #[cfg(feature = "tables")]
        Form::Parquet => {
            let others = ["sep", "quote", "header", "skip", "encoding", "at", "texts"];
            options.refuse(&others, path, "Parquet")?;
            Ok(Box::new(parquet::ParquetTable::open(path, options.rules)?))
        }
        #[cfg(not(feature = "tables"))]
        Form::Parquet => Err(no_parquet(path)),
    }
}

/// Returns the error for a Parquet file in a program that was compiled without it.
#[cfg(not(feature = "tables"))]
pub(crate) fn no_parquet(path: &Path) -> Failure {
    Failure::not_built(path, "tables").with_file(path)
}

/// Returns true if the table has a column with the names of files, as image folders have it:
/// `file_name` or `*_file_name`. A table that cannot be read may have one.
///
/// # Errors
/// Returns an error if the machine failed.
pub fn names_files(path: &Path) -> Result<bool, Failure> {
    let read = open(path, &TableOptions::default()).and_then(|mut table| {
        table.next(&mut TableRow::default())?;
        Ok(table.columns().iter().any(|name| is_file_name(name)))
    });
    match read {
        Err(failure) if failure.exit() == Exit::TryAgain => Err(failure),
        Err(_) => Ok(true),
        found => found,
    }
}

/// Returns true for the name of a column with the names of files.
pub fn is_file_name(name: &str) -> bool {
    name == "file_name" || name.ends_with("_file_name")
}

/// Returns the error of a row.
pub fn bad_row(path: &Path, row: u64, byte: Option<u64>, reason: impl Into<Message>) -> Failure {
    let place = byte.map_or(String::new(), |byte| format!(", byte {byte}"));
    let found = Place { path: Some(path.to_path_buf()), byte, key: None };
    Failure::bad_data(message!("{path}: row {row}{place}: {reason}"; path = path, reason = reason))
        .with_place(found)
}

#[cfg(test)]
mod tests;
