//! `CsvTable`: fields without types. The first row names the columns, unless an option says otherwise.

use std::io;
use std::path::Path;

use tarflume_base::Failure;
use tarflume_formats::Place;
use tarflume_formats::message;

use crate::table::header::{CHOICES, COMPARED, Header, looks_like_data, names_samples};
use crate::table::quoting::Quoting;
use crate::table::separator::Separator;
use crate::table::text::quotes::QuoteFault;
use crate::table::text::records::{Opened, Records, opened};
use crate::table::text::stream::{Budget, Origin};
use crate::table::{Cell, MAX_COLUMNS, TableOptions, TableReader, TableRow, bad_row};

/// A table of separated fields. Its fields have no types.
pub(crate) struct CsvTable {
    records: Records,
    budget: Budget,
    origin: Origin,
    columns: Vec<String>,
    record: ::csv::ByteRecord,
    rows: u64,
    /// The first row is data, and has been read already.
    is_first: bool,
    options: TableOptions,
    /// Whether each column has texts, whatever its words look like.
    are_texts: Vec<bool>,
}

impl CsvTable {
    /// Opens a table and reads its header. Fields are separated by what the options or the first line name, or by the
    /// `usual` separator.
    ///
    /// # Errors
    /// Returns an error if there is no header, if it repeats a name, and if the operating system
    /// refuses.
    pub(crate) fn open(
        path: &Path,
        usual: Separator,
        options: &TableOptions,
    ) -> Result<CsvTable, Failure> {
        let Opened { records, budget, origin, separator } = opened(path, usual, options)?;
        let mut table = CsvTable {
            records,
            budget,
            origin,
            columns: Vec::new(),
            record: ::csv::ByteRecord::new(),
            rows: 0,
            is_first: false,
            options: options.clone(),
            are_texts: Vec::new(),
        };
        if !table.record()? {
            if let Header::Names(names) = &options.header {
                // A list without rows, as that of a picture without objects.
                table.columns =
                    names.iter().map(|name| name.trim_end_matches('*').into()).collect();
                table.are_texts = vec![false; names.len()];
                return Ok(table);
            }
            let text = "the table is empty: it has no header and no rows; its first line must name the columns";
            return Err(Failure::bad_data(text).in_file(path));
        }
        table.columns = match &options.header {
            Header::Usual | Header::First => header(path, &table.record, separator)?,
            Header::None => positions(path, table.record.len())?,
            Header::Names(names) => given(path, names, table.record.len(), separator)?,
        };
        match options.header {
            Header::Usual => check_first(path, usual, options, &table.record)?,
            Header::First => {}
            Header::None | Header::Names(_) => table.is_first = true,
        }
        if separator == Separator::Blanks && !table.is_first && table.record()? {
            table.is_first = true;
            name_first(&mut table.columns, table.record.len());
        }
        table.are_texts = table.columns.iter().map(|name| options.texts.contains(name)).collect();
        Ok(table)
    }

    /// Reads the next record; returns false at the end.
    fn record(&mut self) -> Result<bool, Failure> {
        if std::mem::take(&mut self.is_first) {
            return Ok(true);
        }
        self.budget.renew();
        self.records.read(&mut self.record).map_err(|e| match e.into_kind() {
            ::csv::ErrorKind::Io(error) => self.refused(error),
            other => bad_row(&self.origin.path, self.rows + 1, None, format!("{other:?}")),
        })
    }

    /// Returns true if a field of the record begins with a blank and a quote, which are text without `blanks=trim`.
    fn has_lead(&self) -> bool {
        !self.options.trims && self.record.iter().any(|field| field.starts_with(b" \""))
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

/// Returns the names of columns without header.
fn positions(path: &Path, columns: usize) -> Result<Vec<String>, Failure> {
    check_columns(path, columns)?;
    Ok((1..=columns).map(|n| format!("column_{n}")).collect())
}

/// Names the first column `key` if the header has one name less than the rows have fields. A header that names the column
/// of the samples has that column, so a field without name is elsewhere: the reader refuses such rows.
fn name_first(columns: &mut Vec<String>, fields: usize) {
    if fields == columns.len() + 1 && !columns.iter().any(|name| names_samples(name)) {
        columns.insert(0, "key".into());
    }
}

/// Returns the names that an option states.
fn given(
    path: &Path,
    names: &[String],
    columns: usize,
    separator: Separator,
) -> Result<Vec<String>, Failure> {
    let names: Vec<String> = match names.split_last() {
        Some((last, others)) if last.ends_with('*') => {
            if separator != Separator::Blanks {
                let why = "a column that has the rest of a line needs sep=space";
                return wrong_names(why.into(), path, names);
            }
            let last = last.trim_end_matches('*').to_string();
            others.iter().cloned().chain([last]).collect()
        }
        _ => names.to_vec(),
    };
    let names = names.as_slice();
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
    usual: Separator,
    options: &TableOptions,
    first: &::csv::ByteRecord,
) -> Result<(), Failure> {
    let Opened { mut records, budget, .. } = opened(path, usual, options)?;
    let mut record = ::csv::ByteRecord::new();
    let mut below: Vec<Vec<String>> = Vec::new();
    for number in 0..=COMPARED {
        budget.renew();
        if !records.read(&mut record).unwrap_or(false) {
            break;
        }
        if number > 0 {
            below.push(record.iter().map(text_of).collect());
        }
    }
    // The first column may have no name.
    if below.first().is_some_and(|row| row.len() == first.len() + 1) {
        below.iter_mut().filter(|row| !row.is_empty()).for_each(|row| drop(row.remove(0)));
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
fn header(
    path: &Path,
    record: &::csv::ByteRecord,
    separator: Separator,
) -> Result<Vec<String>, Failure> {
    check_columns(path, record.len())?;
    let mut columns: Vec<String> = Vec::with_capacity(record.len());
    let mut known = std::collections::HashSet::new();
    for (n, field) in record.iter().enumerate() {
        let Ok(name) = std::str::from_utf8(field) else {
            return wrong_header("its header is not UTF-8; encoding=latin1 or another one reads it, or save the table as UTF-8".into(), path);
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
    let others = [b';', b'\t', b','].into_iter().filter(|&b| separator != Separator::Byte(b));
    let other = others.filter(|_| separator != Separator::Lines).find(|b| record[0].contains(b));
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
            let is_literal = self.options.quoting == Some(Quoting::Literal);
            let remedy = match self.records {
                Records::Separated(_) if is_literal => {
                    "with quote=none, no field can have the separator or a line break"
                }
                Records::Separated(_) if self.has_lead() => {
                    "blanks=trim reads the quotes of a field behind a blank"
                }
                Records::Separated(_) => "a field with the separator or a line break needs quotes",
                Records::Words(_) => {
                    "header=NAME+NAME* with sep=space gives the last column the rest of each line"
                }
            };
            let reason = format!(
                "{} fields where the header has {}; {remedy}",
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
                    "column '{}' is not UTF-8; encoding=latin1 or another one reads it, or save the table as UTF-8",
                    self.columns[column]
                );
                return Err(bad_row(&self.origin.path, self.rows, row.byte, &reason));
            };
            let cell = match self.options.word(text) {
                Some(word) if self.are_texts[column] => Cell::Text(row.add_text(word)),
                Some(word) => Cell::Word(row.add_text(word)),
                None => Cell::Null,
            };
            row.set(column, cell);
        }
        Ok(true)
    }
}
