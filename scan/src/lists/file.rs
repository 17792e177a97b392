//! Reads a list of files: text, a table, or the inventory of a bucket.

use std::io::{BufRead, BufReader};
use std::path::Path;

use tarflume_base::Failure;
use tarflume_formats::files;
use tarflume_formats::message;
use tarflume_formats::message::Name;
use tarflume_table::text::quotes::{FieldRules, QuoteFault, Quotes};
use tarflume_table::text::stream;
use tarflume_table::{TableOptions, TableRow};

use super::inventory::{self, Inventory};
use super::line::{self, ListedFile, exact_time, known, number};

/// Bytes of text that are read at a time.
const BUFFER: usize = 256 << 10;
/// Columns with the path, the size and the modification time, the preferred name first.
const PATHS: [&str; 6] = ["path", "key", "file", "file_name", "filename", "name"];
const SIZES: [&str; 4] = ["size", "bytes", "length", "file_size"];
const TIMES: [&str; 2] = ["mtime", "modified"];

type Take<'a> = dyn FnMut(ListedFile<'_>) -> Result<(), Failure> + 'a;

/// Calls `take` with each file of a list, in the order of the list.
///
/// # Errors
/// Returns the errors of `take` and of the list.
pub(super) fn each_line(list: &Path, take: &mut Take<'_>) -> Result<(), Failure> {
    if !files::exists(list)? {
        return Err(
            Failure::usage(message!("there is no list {list}"; list = list)).with_file(list)
        );
    }
    let name = list.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let plain = [".gz", ".zst"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name);
    match plain.rsplit_once('.').map_or("", |(_, ext)| ext) {
        "json" => of_inventory(list, take),
        "csv" | "tsv" | "tab" | "jsonl" | "ndjson" | "parquet" => of_table(list, None, take),
        _ => of_text(list, take),
    }
}

fn of_text(list: &Path, take: &mut Take<'_>) -> Result<(), Failure> {
    let stream::OpenText { text, budget, origin } = stream::open(list)?;
    let mut text = BufReader::with_capacity(BUFFER, text);
    let mut line = Vec::new();
    let mut number = 0u64;
    loop {
        line.clear();
        budget.renew();
        number += 1;
        text.read_until(b'\n', &mut line).map_err(|e| origin.refused(e, number))?;
        if line.is_empty() {
            return Ok(());
        }
        if line.last() == Some(&b'\n') {
            line.pop();
        }
        if line.is_empty() {
            continue;
        }
        let file = line::parse(&line).map_err(|why| {
            let text =
                message!("line {number}: {why}; see `pack plan --help`, {files}"; files = Name::Files);
            Failure::usage(text).in_file(list)
        })?;
        take(file).map_err(|failure| at_line(failure, list, number))?;
    }
}

/// Adds the place in the list to a failure about a path.
fn at_line(failure: Failure, list: &Path, number: u64) -> Failure {
    failure.after(format!("line {number}: ")).in_file(list)
}

fn of_inventory(list: &Path, take: &mut Take<'_>) -> Result<(), Failure> {
    let Inventory { files, columns } = inventory::open(list)?;
    for file in files {
        match &columns {
            None => of_table(&file, Some(true), take)?,
            Some(columns) => of_inventory_csv(&file, columns, take)?,
        }
    }
    Ok(())
}

/// Reads a CSV file of an inventory, which has no header.
fn of_inventory_csv(file: &Path, columns: &[String], take: &mut Take<'_>) -> Result<(), Failure> {
    let Some(key) = column("key", columns) else {
        let text = "the inventory has no column Key";
        return Err(Failure::usage(text).in_file(file));
    };
    let size = column("size", columns);
    let latest = column("islatest", columns);
    let deleted = column("isdeletemarker", columns);
    let stream::OpenText { text, budget, origin } = stream::open(file)?;
    let text = Quotes::new(text, FieldRules::usual(b','), 1);
    let mut reader =
        csv::ReaderBuilder::new().has_headers(false).buffer_capacity(BUFFER).from_reader(text);
    let mut record = csv::ByteRecord::new();
    let mut decoded = Vec::new();
    let mut rows = 0;
    loop {
        budget.renew();
        rows += 1;
        let read = reader.read_byte_record(&mut record).map_err(csv::Error::into_kind);
        let more = read.map_err(|kind| match kind {
            csv::ErrorKind::Io(error) => match QuoteFault::of(&error) {
                Some(QuoteFault { opened, reason }) => {
                    let byte = origin.byte(opened.byte);
                    tarflume_table::bad_row(file, opened.record + 1, byte, reason)
                }
                None => origin.refused(error, rows),
            },
            other => tarflume_table::bad_row(file, rows, None, format!("{other:?}")),
        })?;
        if !more {
            return Ok(());
        }
        inventory::decoded(record.get(key).unwrap_or_default(), &mut decoded);
        // A key that ends with a slash stands for a folder.
        if has_word(&record, latest, b"false")
            || has_word(&record, deleted, b"true")
            || decoded.ends_with(b"/")
        {
            continue;
        }
        let facts =
            size.and_then(|size| record.get(size)).and_then(number).map(|size| known(size, None));
        take(ListedFile { path: &decoded, under_root: true, facts })
            .map_err(|failure| at_line(failure, file, rows))?;
    }
}

fn column(name: &str, columns: &[String]) -> Option<usize> {
    columns.iter().position(|column| column == name)
}

/// Returns true if the field of a column is this word, in any case; false if there is no such column.
fn has_word(record: &csv::ByteRecord, column: Option<usize>, word: &[u8]) -> bool {
    let text = column.and_then(|column| record.get(column));
    text.is_some_and(|text| text.eq_ignore_ascii_case(word))
}

/// Reads a table with columns for path, size and time. `inventory`: the paths are keys of a bucket.
fn of_table(list: &Path, inventory: Option<bool>, take: &mut Take<'_>) -> Result<(), Failure> {
    let mut reader = tarflume_table::open(list, &TableOptions::default())?;
    let mut row = TableRow::default();
    let mut path = Vec::new();
    let mut rows = 0;
    while reader.next(&mut row)? {
        rows += 1;
        // JSON lines name their columns while they are read.
        let columns = reader.columns();
        let Some(column) = find(columns, &PATHS) else {
            return Err(Failure::usage(format!(
                "no column has the paths; it must be called {}; the columns are {}",
                PATHS.join(", "),
                columns.join(", ")
            ))
            .in_file(list));
        };
        path.clear();
        if !row.name(column, &mut path) {
            return Err(tarflume_table::bad_row(list, row.number, row.byte, "it has no path"));
        }
        if inventory == Some(true) && (is_replaced(columns, &row) || path.ends_with(b"/")) {
            continue;
        }
        let mut text = Vec::new();
        let sized = find(columns, &SIZES).is_some_and(|column| row.name(column, &mut text));
        let size = sized.then(|| {
            number(&text).ok_or_else(|| {
                tarflume_table::bad_row(list, row.number, row.byte, "its size is no number")
            })
        });
        let time = match inventory {
            Some(true) => None, // of the object; a mounted bucket may show another one
            _ => find(columns, &TIMES).and_then(|column| seconds(&row, column)),
        };
        let facts = size.transpose()?.map(|size| known(size, time));
        let under_root = inventory == Some(true);
        take(ListedFile { path: &path, under_root, facts })
            .map_err(|failure| at_line(failure, list, rows))?;
    }
    Ok(())
}

/// Returns the position of the column with the first of `names` that is a column's name, in any case.
fn find(columns: &[String], names: &[&str]) -> Option<usize> {
    names.iter().find_map(|name| columns.iter().position(|c| c.eq_ignore_ascii_case(name)))
}

/// Returns true for an object of a bucket that was replaced or deleted.
fn is_replaced(columns: &[String], row: &TableRow) -> bool {
    let latest = find(columns, &["is_latest"]).and_then(|column| flag(row, column));
    let deleted = find(columns, &["is_delete_marker"]).and_then(|column| flag(row, column));
    latest == Some(false) || deleted == Some(true)
}

fn flag(row: &TableRow, column: usize) -> Option<bool> {
    match row.cell(column) {
        tarflume_table::Cell::Bool(value) => Some(value),
        tarflume_table::Cell::Word(text) | tarflume_table::Cell::Text(text) => {
            row.text(text).to_ascii_lowercase().parse().ok()
        }
        _ => None,
    }
}

/// The time of a file, if the column has all nine decimals of it: the times of numbers and timestamps are rounded.
fn seconds(row: &TableRow, column: usize) -> Option<(i64, i64)> {
    match row.cell(column) {
        tarflume_table::Cell::Word(text) | tarflume_table::Cell::Text(text) => {
            exact_time(row.text(text).as_bytes())?
        }
        _ => None,
    }
}
