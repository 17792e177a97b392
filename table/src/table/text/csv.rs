//! `CsvTable`: fields separated by a character, as RFC 4180 describes them. The first row names the columns, unless an
//! option says otherwise.
//!
//! A first line `sep=;`, as Excel writes it, names the separator.

use std::io::{self, Read};
use std::path::Path;

use tarflume_base::Failure;
use tarflume_formats::Place;
use tarflume_formats::message;

use crate::table::header::{CHOICES, COMPARED, Header, looks_like_data};
use crate::table::text::quotes::{QuoteFault, Quotes};
use crate::table::text::stream::{self, Budget, Origin, Text};
use crate::table::{Cell, MAX_COLUMNS, TableOptions, TableReader, TableRow, bad_row};

/// Bytes that are read at a time.
const BUFFER: usize = 256 << 10;
/// Bytes of the longest first line that names the separator: `"sep=;"` and a line end.
const DECLARED: usize = 9;

/// A table of separated fields. Its fields have no types.
pub(crate) struct CsvTable {
    reader: ::csv::Reader<Quotes<Text>>,
    budget: Budget,
    origin: Origin,
    columns: Vec<String>,
    record: ::csv::ByteRecord,
    rows: u64,
    /// The first row is data, and has been read already.
    is_first: bool,
    options: TableOptions,
}

impl CsvTable {
    /// Opens a table and reads its header. Fields are separated by the character of the options, that of the first
    /// line, or the `usual` one.
    ///
    /// # Errors
    /// Returns an error if there is no header, if it repeats a name, and if the operating system
    /// refuses.
    pub(crate) fn open(
        path: &Path,
        usual: u8,
        options: &TableOptions,
    ) -> Result<CsvTable, Failure> {
        let (mut text, budget, mut origin) = stream::open(path)?;
        let head = text.peek(DECLARED).map_err(|e| origin.refused(e, 0))?;
        let declared = declared(&head);
        let separator = options.separator.or(declared.map(|d| d.separator)).unwrap_or(usual);
        if let Some(Declared { length, .. }) = declared {
            let mut line = [0; DECLARED];
            text.read_exact(&mut line[..length]).map_err(|e| origin.refused(e, 0))?;
            origin = origin.after(length as u64);
        }
        let text = Quotes::new(text, separator, 1 + u64::from(declared.is_some()));
        let reader = ::csv::ReaderBuilder::new()
            .delimiter(separator)
            .has_headers(false)
            .flexible(true) // the number of fields is checked below
            .buffer_capacity(BUFFER)
            .from_reader(text);
        let mut table = CsvTable {
            reader,
            budget,
            origin,
            columns: Vec::new(),
            record: ::csv::ByteRecord::new(),
            rows: 0,
            is_first: false,
            options: options.clone(),
        };
        if !table.record()? {
            let text = "the table is empty: it has no header and no rows; its first line must name the columns";
            return Err(Failure::bad_data(text).in_file(path));
        }
        table.columns = match &options.header {
            Header::Usual | Header::First => header(path, &table.record, separator)?,
            Header::None => positions(path, table.record.len())?,
            Header::Names(names) => given(path, names, table.record.len())?,
        };
        match options.header {
            Header::Usual => check_first(path, declared, separator, &table.record)?,
            Header::First => {}
            Header::None | Header::Names(_) => table.is_first = true,
        }
        Ok(table)
    }

    /// Reads the next record; returns false at the end.
    fn record(&mut self) -> Result<bool, Failure> {
        if std::mem::take(&mut self.is_first) {
            return Ok(true);
        }
        self.budget.renew();
        self.reader.read_byte_record(&mut self.record).map_err(|e| match e.into_kind() {
            ::csv::ErrorKind::Io(error) => self.refused(error),
            other => bad_row(&self.origin.path, self.rows + 1, None, format!("{other:?}")),
        })
    }

    /// Returns the failure for an error of reading. A quote that is the cause is named by the row in which it opened.
    fn refused(&self, error: io::Error) -> Failure {
        let Some(QuoteFault { opened, reason }) = QuoteFault::of(&error) else {
            return self.origin.refused(error, self.rows + 1);
        };
        let byte = self.origin.byte(opened.byte);
        let row = match self.options.header {
            Header::Usual | Header::First => opened.record,
            Header::None | Header::Names(_) => opened.record + 1,
        };
        if row == 0 {
            let place = byte.map_or(String::new(), |byte| format!(", byte {byte}"));
            let found = Place { path: Some(self.origin.path.clone()), byte, key: None };
            let text = message!("{path}: its header{place}: {reason}"; path = &self.origin.path);
            return Failure::bad_data(text).with_place(found);
        }
        bad_row(&self.origin.path, row, byte, reason)
    }
}

/// A first line that names the separator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Declared {
    separator: u8,
    /// Bytes of the line with its end.
    length: usize,
}

/// Returns the separator that the first line of a text names, as Excel writes it: `sep=;`, also in quotes.
fn declared(head: &[u8]) -> Option<Declared> {
    let inner = head.strip_prefix(b"\"");
    let line = inner.unwrap_or(head);
    let (word, rest) = line.split_at_checked(4)?;
    let (&separator, rest) = rest.split_first()?;
    if !word.eq_ignore_ascii_case(b"sep=") || matches!(separator, b'\r' | b'\n' | b'"') {
        return None;
    }
    let rest = if inner.is_some() { rest.strip_prefix(b"\"")? } else { rest };
    let end = match rest {
        [] => 0,
        [b'\r', b'\n', ..] => 2,
        [b'\r' | b'\n', ..] => 1,
        _ => return None,
    };
    Some(Declared { separator, length: head.len() - rest.len() + end })
}

/// Returns the names of columns without header.
fn positions(path: &Path, columns: usize) -> Result<Vec<String>, Failure> {
    check_columns(path, columns)?;
    Ok((1..=columns).map(|n| format!("column_{n}")).collect())
}

/// Returns the names that an option states.
fn given(path: &Path, names: &[String], columns: usize) -> Result<Vec<String>, Failure> {
    let distinct: std::collections::HashSet<&String> = names.iter().collect();
    if distinct.len() < names.len() {
        return wrong_names("a name is there twice".into(), path, names);
    }
    if names.len() != columns {
        return wrong_names(format!("the first row has {columns} columns"), path, names);
    }
    check_columns(path, columns)?;
    Ok(names.to_vec())
}

fn wrong_names(why: String, path: &Path, names: &[String]) -> Result<Vec<String>, Failure> {
    let text = format!("header={}: {why}", names.join("|"));
    Err(Failure::usage(text).in_file(path))
}

fn check_columns(path: &Path, columns: usize) -> Result<(), Failure> {
    if columns <= MAX_COLUMNS {
        return Ok(());
    }
    let text = format!("it has {columns} columns; at most {MAX_COLUMNS} are read");
    Err(Failure::bad_data(text).in_file(path))
}

/// Refuses a first row that looks like data: its fields would be names, and a row would be missing. Reads some rows
/// of the table; a fault in them is for the reader of the rows.
fn check_first(
    path: &Path,
    declared: Option<Declared>,
    separator: u8,
    first: &::csv::ByteRecord,
) -> Result<(), Failure> {
    let (mut text, budget, origin) = stream::open(path)?;
    if let Some(Declared { length, .. }) = declared {
        let mut line = [0; DECLARED];
        text.read_exact(&mut line[..length]).map_err(|e| origin.refused(e, 0))?;
    }
    let mut reader = ::csv::ReaderBuilder::new()
        .delimiter(separator)
        .has_headers(true)
        .flexible(true)
        .from_reader(text);
    let mut below = Vec::new();
    for record in reader.byte_records().take(COMPARED) {
        budget.renew();
        let Ok(record) = record else { break };
        below.push(record.iter().map(text_of).collect());
    }
    let first: Vec<String> = first.iter().map(text_of).collect();
    let first: Vec<&str> = first.iter().map(String::as_str).collect();
    match looks_like_data(&first, &below) {
        None => Ok(()),
        Some(sign) => Err(Failure::bad_data(format!(
            "its first row looks like data, not like names of columns: {sign}; {CHOICES}"
        ))
        .in_file(path)),
    }
}

fn text_of(field: &[u8]) -> String {
    String::from_utf8_lossy(field).into_owned()
}

/// Returns the names of the columns. A column without name, which is the index of a data frame, is
/// named by its position.
fn header(path: &Path, record: &::csv::ByteRecord, separator: u8) -> Result<Vec<String>, Failure> {
    check_columns(path, record.len())?;
    let mut columns: Vec<String> = Vec::with_capacity(record.len());
    let mut known = std::collections::HashSet::new();
    for (n, field) in record.iter().enumerate() {
        let Ok(name) = std::str::from_utf8(field) else {
            return wrong_header("its header is not UTF-8; save the table as UTF-8".into(), path);
        };
        let name = match name.trim() {
            "" => format!("column_{}", n + 1),
            name => name.to_string(),
        };
        if !known.insert(name.clone()) {
            return wrong_header(
                format!(
                    "its header has the column '{name}' twice; rename one, or, if the first row is data, {CHOICES}"
                ),
                path,
            );
        }
        columns.push(name);
    }
    let other = [b';', b'\t', b','].into_iter().find(|&b| b != separator && record[0].contains(&b));
    if let (1, Some(other)) = (columns.len(), other) {
        let word = if other == b'\t' { "tab".into() } else { char::from(other).to_string() };
        return wrong_header(
            format!(
                "its header is one column, '{}'; if '{word}' separates the fields, give sep={word}",
                columns[0].escape_debug()
            ),
            path,
        );
    }
    Ok(columns)
}

fn wrong_header(why: String, path: &Path) -> Result<Vec<String>, Failure> {
    Err(Failure::bad_data(why).in_file(path))
}

impl TableReader for CsvTable {
    fn columns(&self) -> &[String] {
        &self.columns
    }

    fn next(&mut self, row: &mut TableRow) -> Result<bool, Failure> {
        if !self.record()? {
            return Ok(false);
        }
        self.rows += 1;
        let start = self.record.position().map_or(0, ::csv::Position::byte);
        row.begin(self.rows, self.origin.byte(start), self.columns.len());
        if self.record.len() != self.columns.len() {
            let reason = format!(
                "{} fields where the header has {}; a field with the separator or a line break needs \
                 quotes",
                self.record.len(),
                self.columns.len()
            );
            return Err(bad_row(&self.origin.path, self.rows, row.byte, &reason));
        }
        for (column, field) in self.record.iter().enumerate() {
            if field.is_empty() {
                row.set(column, Cell::Null);
                continue;
            }
            let Ok(text) = std::str::from_utf8(field) else {
                let reason = format!(
                    "column '{}' is not UTF-8; save the table as UTF-8",
                    self.columns[column]
                );
                return Err(bad_row(&self.origin.path, self.rows, row.byte, &reason));
            };
            let cell = match self.options.word(text) {
                Some(word) => Cell::Word(row.add_text(word)),
                None => Cell::Null,
            };
            row.set(column, cell);
        }
        Ok(true)
    }
}
