//! `TableRows`: the rows of tables as the JSON of samples.
//!
//! Tables are read twice: once for the types of their columns, once for their values.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use tarflume_base::{Failure, Stop};
use tarflume_formats::Column;
use tarflume_formats::message::Message;
use tarflume_formats::shown::ShowPath;
use tarflume_table::values::json::RowWriter;
use tarflume_table::values::numbers::Numbers;
use tarflume_table::values::recorded::Recorded;
use tarflume_table::values::survey::Survey;
use tarflume_table::values::types::{Inferred, ValueKind, described};
use tarflume_table::{KEY_NAMES, TableOptions, TableReader, TableRow, bad_row};

use super::places::Place;
use super::source::{JoinRow, JoinRows};

/// A table and the folder that its names are relative to.
#[derive(Debug, Clone)]
pub struct TableFile {
    /// The file.
    pub path: PathBuf,
    /// A path with a trailing slash before each name; empty for none.
    pub folder: Vec<u8>,
}

/// A table after the first reading.
#[derive(Debug)]
struct Surveyed {
    file: TableFile,
    survey: Survey,
    /// The column with the names of samples, if rows have names.
    key: Option<usize>,
    /// The name of all rows, if it is that of the table.
    name: Option<Vec<u8>>,
    /// Columns whose whole numbers are written as other numbers.
    widened: Vec<usize>,
}

/// How the rows of a table name their samples.
#[derive(Debug, Clone, Copy)]
pub enum NamedBy<'a> {
    /// By this column.
    Column(&'a str),
    /// By the first column whose name is known to name samples.
    Usual,
    /// By the name of their table, without its extension: a table for each sample.
    File,
    /// By no column: by their order.
    Order,
}

/// The word for [`NamedBy::File`].
const FILE: &str = "@file";

impl<'a> NamedBy<'a> {
    /// The column, if one is given.
    pub fn of(column: Option<&'a str>) -> NamedBy<'a> {
        match column {
            None => NamedBy::Usual,
            Some(FILE) => NamedBy::File,
            Some(column) => NamedBy::Column(column),
        }
    }
}

/// The rows of several tables, in order.
pub struct TableRows {
    options: TableOptions,
    tables: Vec<Surveyed>,
    next: usize,
    open: Option<(Box<dyn TableReader>, RowWriter)>,
    row: TableRow,
}

impl std::fmt::Debug for TableRows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TableRows").field("tables", &self.tables).finish_non_exhaustive()
    }
}

impl TableRows {
    /// Reads the tables once and infers the types of their columns; those that are recorded stay as
    /// they are.
    ///
    /// # Errors
    /// Returns an error for a malformed table, for values whose types exclude each other or do not fit
    /// the recorded one, if no column has the samples' names, and for a failure of the machine.
    pub fn survey(
        files: &[TableFile],
        options: &TableOptions,
        key: NamedBy<'_>,
        recorded: &Recorded,
        stop: &Stop,
    ) -> Result<(TableRows, Vec<Column>), Failure> {
        let tables = files.iter().map(|file| surveyed(file, options, key, recorded, stop));
        let mut tables = tables.collect::<Result<Vec<_>, Failure>>()?;
        let columns = unified(&mut tables, recorded)?;
        widen(&mut tables, recorded);
        let open = None;
        let row = TableRow::default();
        Ok((TableRows { options: options.clone(), tables, next: 0, open, row }, columns))
    }

    /// Returns the name of the column with the names of samples, if all tables have the same.
    pub fn key(&self) -> Option<String> {
        let mut names = self.tables.iter().map(|table| Some(&table.survey.names[table.key?]));
        let first = names.next()??;
        names.all(|name| name == Some(first)).then(|| first.clone())
    }

    /// Returns what was noticed about the columns.
    pub fn notes(&self) -> impl Iterator<Item = Message> {
        self.tables.iter().flat_map(|table| table.survey.notes.clone())
    }

    fn open_next(&mut self) -> Result<bool, Failure> {
        let Some(table) = self.tables.get(self.next) else { return Ok(false) };
        let reader = tarflume_table::open(&table.file.path, &self.options)?;
        self.open = Some((reader, RowWriter::new(&table.survey.names, &table.survey.types, &[])));
        self.row.begin(0, None, 0);
        self.next += 1;
        Ok(true)
    }
}

impl JoinRows for TableRows {
    fn next(&mut self, row: &mut JoinRow) -> Result<bool, Failure> {
        loop {
            let Some((reader, writer)) = &mut self.open else {
                if self.open_next()? {
                    continue;
                }
                return Ok(false);
            };
            let number = self.next - 1;
            let table = &self.tables[number];
            if !reader.next(&mut self.row)? {
                table.survey.check_unchanged(&table.file.path, self.row.number)?;
                self.open = None;
                continue;
            }
            row.place = Place { table: number as u32, row: self.row.number, byte: self.row.byte };
            row.name.clear();
            row.json.clear();
            row.name.extend_from_slice(&table.file.folder);
            let start = row.name.len();
            if let Some(name) = &table.name {
                row.name.extend_from_slice(name);
            } else if !table.key.is_some_and(|key| self.row.name(key, &mut row.name)) {
                row.name.clear();
            }
            while row.name.get(start..).is_some_and(|name| name.starts_with(b"./")) {
                row.name.drain(start..start + 2);
            }
            for &column in &table.widened {
                self.row.widen(column);
            }
            writer
                .check(&self.row, self.options.rules)
                .map_err(|why| bad_row(&table.file.path, self.row.number, self.row.byte, &why))?;
            writer.write(&self.row, &mut row.json);
            return Ok(true);
        }
    }
}

fn surveyed(
    file: &TableFile,
    options: &TableOptions,
    key: NamedBy<'_>,
    recorded: &Recorded,
    stop: &Stop,
) -> Result<Surveyed, Failure> {
    let survey = Survey::within(&file.path, options, recorded, stop)?;
    if survey.names.is_empty() {
        return Err(
            Failure::usage("the table is empty: it has no rows and no columns").in_file(&file.path)
        );
    }
    let stem = file.path.file_stem().filter(|_| matches!(key, NamedBy::File));
    let name = stem.map(|stem| stem.as_encoded_bytes().to_vec());
    let key = match key {
        NamedBy::Order | NamedBy::File => None,
        NamedBy::Column(name) => Some(Some(name)),
        NamedBy::Usual => Some(None),
    };
    let key =
        key.map(|key| key_column(&file.path, &survey.names, &survey.types, key)).transpose()?;
    Ok(Surveyed { file: file.clone(), survey, key, name, widened: Vec::new() })
}

/// Finds the columns that are recorded as numbers and have whole numbers only. A table that has both
/// is written as the first build wrote it: its whole numbers stay whole, if it has types.
fn widen(tables: &mut [Surveyed], recorded: &Recorded) {
    let mut mixed = HashSet::new();
    for Surveyed { survey, .. } in &*tables {
        let named = survey.names.iter().zip(&survey.whole);
        mixed.extend(named.filter(|(_, whole)| !**whole).map(|(name, _)| name.clone()));
    }
    for table in tables {
        let names = table.survey.names.iter().enumerate();
        let widened = names.filter(|(_, name)| {
            recorded.kind(name) == Some(ValueKind::Float) && !mixed.contains(name.as_str())
        });
        table.widened = widened.map(|(n, _)| n).collect();
    }
}

/// Returns the number of the column with the samples' names.
fn key_column(
    path: &Path,
    names: &[String],
    types: &[Inferred],
    key: Option<&str>,
) -> Result<usize, Failure> {
    let found = match key {
        Some(key) => names
            .iter()
            .position(|name| name == key)
            .ok_or_else(|| format!("there is no column '{key}'; there are {}", list(names))),
        None => {
            let mut keys = KEY_NAMES.iter();
            let named = keys.find_map(|key| names.iter().position(|n| n.eq_ignore_ascii_case(key)));
            named.ok_or_else(|| {
                format!(
                    "no column is known to name samples; add :key=COLUMN; there are {}",
                    list(names)
                )
            })
        }
    };
    let found = found.and_then(|key| match types[key].kind {
        ValueKind::String | ValueKind::Int | ValueKind::UInt => Ok(key),
        other => Err(format!(
            "column '{}' is {}, and a sample is named by text or whole numbers",
            names[key],
            other.word()
        )),
    });
    found.map_err(|why| Failure::usage(why).in_file(path))
}

fn list(names: &[String]) -> String {
    let shown: Vec<_> = names.iter().take(30).map(|n| format!("'{n}'")).collect();
    shown.join(", ")
}

/// A column of several tables.
struct Shared {
    name: String,
    inferred: Inferred,
    numbers: Numbers,
    /// The first table that has it, and the number of those that have it.
    first: usize,
    found: usize,
    /// Whether a table has values in it.
    has_values: bool,
}

impl Shared {
    /// Adds the column of another table, where one of both has no values.
    fn take(&mut self, inferred: Inferred, numbers: &Numbers, has_values: bool) {
        self.found += 1;
        let nullable = self.inferred.nullable | inferred.nullable;
        if has_values {
            self.inferred = inferred;
            self.numbers.clone_from(numbers);
        }
        self.inferred.nullable = nullable;
        self.has_values |= has_values;
    }

    /// Adds the column of another table; returns false if the types exclude each other.
    fn join(&mut self, inferred: Inferred, numbers: &Numbers) -> bool {
        self.found += 1;
        self.inferred.nullable |= inferred.nullable;
        let both = self.numbers.are_all(self.inferred.kind) && numbers.are_all(inferred.kind);
        self.numbers.join(numbers);
        if both {
            self.inferred.kind = self.numbers.kind();
        }
        both || self.inferred.kind == inferred.kind
    }
}

/// Returns true if a table has a column of text with this name.
fn is_text(survey: &Survey, name: &str) -> bool {
    let of_name = survey.names.iter().zip(&survey.types).find(|(other, _)| *other == name);
    of_name.is_some_and(|(_, inferred)| inferred.kind == ValueKind::String)
}

/// Gives columns of the same name one type in all tables, and returns the columns. A recorded type stays.
fn unified(tables: &mut [Surveyed], recorded: &Recorded) -> Result<Vec<Column>, Failure> {
    let mut all: Vec<Shared> = Vec::new();
    for (number, table) in tables.iter().enumerate() {
        let Survey { names, types, numbers, whole, .. } = &table.survey;
        let columns = names.iter().zip(types).zip(numbers).zip(whole);
        for (((name, inferred), numbers), whole) in columns {
            // A column without values, as in a table without rows, has the type of texts.
            let has_values = inferred.kind != ValueKind::String || !whole;
            let Some(known) = all.iter_mut().find(|known| known.name == *name) else {
                let inferred = *inferred;
                all.push(Shared {
                    name: name.clone(),
                    inferred,
                    numbers: numbers.clone(),
                    first: number,
                    found: 1,
                    has_values,
                });
                continue;
            };
            if !has_values || !known.has_values {
                known.take(*inferred, numbers, has_values);
                continue;
            }
            let before = known.inferred.kind;
            if !known.join(*inferred, numbers) {
                return Err(Failure::usage(format!(
                    "column '{name}' is {} in {} and {} in {}; give it one type in all tables",
                    before.word(),
                    tables[known.first].file.path.shown(),
                    inferred.kind.word(),
                    table.file.path.shown()
                )));
            }
        }
    }
    let count = tables.len();
    for shared in &mut all {
        shared.inferred.nullable |= shared.found < count;
        shared.inferred.kind = recorded.kind(&shared.name).unwrap_or(shared.inferred.kind);
    }
    for shared in all.iter().filter(|shared| shared.inferred.kind == ValueKind::String) {
        let is_new = !tables.iter().any(|table| is_text(&table.survey, &shared.name));
        if let Some(note) = shared.numbers.told(&shared.name).filter(|_| is_new) {
            tables[0].survey.notes.push(note);
        }
    }
    for table in tables {
        for (name, inferred) in table.survey.names.iter().zip(&mut table.survey.types) {
            if let Some(known) = all.iter().find(|known| known.name == *name) {
                *inferred = known.inferred;
            }
        }
    }
    Ok(all.iter().map(|shared| described(&shared.name, shared.inferred)).collect())
}
