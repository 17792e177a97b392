//! The first reading of a table: the types of its columns and the number of its rows.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use tarflume_base::{Failure, Stop};
use tarflume_formats::files;
use tarflume_formats::message;
use tarflume_formats::message::Message;
use tarflume_formats::shown::ShowPath;

use crate::table::values::numbers::Numbers;
use crate::table::values::recorded::{Recorded, misfit, misfits};
use crate::table::values::types::{Inferred, Types, ValueKind};
use crate::table::{TableOptions, TableRow, bad_row, open};

/// Rows between two looks at a request to stop.
const ROWS: u64 = 8192;

/// A table after the first reading.
#[derive(Debug)]
pub struct Survey {
    /// The names of the columns.
    pub names: Vec<String>,
    /// Their types.
    pub types: Vec<Inferred>,
    /// Whether each has no values but whole numbers.
    pub whole: Vec<bool>,
    /// Whether the first text of each begins as an object of JSON does.
    pub objects: Vec<bool>,
    /// The numbers of each.
    pub numbers: Vec<Numbers>,
    /// What was noticed about columns.
    pub notes: Vec<Message>,
    rows: u64,
    /// Length and time of the file.
    state: (u64, i64, i64),
}

impl Survey {
    /// Reads a table and infers the types of its columns from all rows.
    ///
    /// # Errors
    /// Returns an error for a malformed table, for values whose types exclude each other, after a
    /// request to stop, and for a failure of the machine.
    pub fn of(path: &Path, options: &TableOptions, stop: &Stop) -> Result<Survey, Failure> {
        Survey::within(path, options, &Recorded::default(), stop)
    }

    /// As [`Survey::of`], for a data set that gets more samples: the columns that it has keep their
    /// types.
    ///
    /// # Errors
    /// Returns the errors of [`Survey::of`], and an error for a value that does not fit.
    pub fn within(
        path: &Path,
        options: &TableOptions,
        recorded: &Recorded,
        stop: &Stop,
    ) -> Result<Survey, Failure> {
        let state = state(path)?;
        let mut reader = open(path, options)?;
        let mut row = TableRow::default();
        let mut types = Types::default();
        let mut rows = 0;
        let mut kinds: Vec<Option<ValueKind>> = Vec::new();
        let mut objects: Vec<Option<bool>> = Vec::new();
        while reader.next(&mut row)? {
            rows += 1;
            if rows % ROWS == 0 && stop.requested() {
                return Err(Failure::interrupted());
            }
            let columns = reader.columns().len();
            note_objects(&row, columns, &mut objects);
            // JSON lines add columns while they are read.
            kinds.extend(reader.columns()[kinds.len()..].iter().map(|name| recorded.kind(name)));
            check_fits(&row, &kinds, reader.columns())
                .map_err(|reason| bad_row(path, row.number, row.byte, &reason))?;
            types.add(&row, columns).map_err(|conflict| {
                let (first, kind) = conflict.first;
                let column = &reader.columns()[conflict.column];
                let reason = format!(
                    "column '{column}' is {} here and {} in row {first}; give it one type in all rows, or read it as \
                     text: texts={column}",
                    conflict.here.word(),
                    kind.word()
                );
                bad_row(path, row.number, row.byte, &reason)
            })?;
        }
        let names = reader.columns().to_vec();
        if let Some(text) = options.texts.iter().find(|text| !names.contains(text)) {
            let why = format!("texts={text}: there is no such column");
            return Err(Failure::usage(why).in_file(path));
        }
        let whole = types.whole(names.len());
        let numbers = types.numbers(names.len());
        let notes = types.notes(&names);
        let notes =
            notes.iter().map(|note| message!("{}: {note}", path.shown(); note = note)).collect();
        let mut types = types.finish(names.len());
        for (name, inferred) in names.iter().zip(&mut types) {
            inferred.kind = recorded.kind(name).unwrap_or(inferred.kind);
        }
        objects.resize(names.len(), None);
        let objects = objects.into_iter().map(|first| first == Some(true)).collect();
        Ok(Survey { names, types, whole, objects, numbers, notes, rows, state })
    }

    /// Checks after the second reading, of `rows` rows, that the table has not changed.
    ///
    /// # Errors
    /// Returns an error if it has, and if the operating system refuses.
    pub fn check_unchanged(&self, path: &Path, rows: u64) -> Result<(), Failure> {
        if rows == self.rows && state(path)? == self.state {
            return Ok(());
        }
        let text =
            message!("{path} was changed while it was read; run the command again"; path = path);
        Err(Failure::try_again(text).with_file(path))
    }
}

/// Notes of each column without a text so far whether the text in this row begins as an object of JSON does.
fn note_objects(row: &TableRow, columns: usize, objects: &mut Vec<Option<bool>>) {
    objects.resize(columns, None);
    for (column, first) in objects.iter_mut().enumerate().filter(|(_, first)| first.is_none()) {
        let mut text = Vec::new();
        if row.name(column, &mut text) && !text.trim_ascii().is_empty() {
            *first = Some(text.trim_ascii_start().starts_with(b"{"));
        }
    }
}

/// Checks the cells of a row whose columns have a recorded type.
fn check_fits(
    row: &TableRow,
    kinds: &[Option<ValueKind>],
    names: &[String],
) -> Result<(), Message> {
    for (column, kind) in kinds.iter().enumerate() {
        let Some(recorded) = *kind else { continue };
        if let Some(here) = misfit(recorded, row, row.cell(column)) {
            return Err(misfits(&format!("column '{}'", names[column]), here, recorded).into());
        }
    }
    Ok(())
}

fn state(path: &Path) -> Result<(u64, i64, i64), Failure> {
    let found = files::metadata(path, "examine")?;
    Ok((found.len(), found.mtime(), found.mtime_nsec()))
}
