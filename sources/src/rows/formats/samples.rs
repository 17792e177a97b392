//! Rows of MDS shards and LitData chunks, which store samples alike: lists their columns as parts
//! and JSON, and decodes those that are no ranges of a file.
//!
//! A shard that is compressed is decompressed whole, by each thread that reads from it; it may have
//! 1 GiB.

use std::ops::Range;
use std::path::Path;

use serde::{Deserialize, Serialize};
use tarflume_base::check::sniff::ENOUGH;
use tarflume_base::json_rules::sentence;
use tarflume_base::{Failure, ProblemKind};
use tarflume_foreign::mds::any_array;
use tarflume_foreign::samples::{Count, Layout};
use tarflume_formats::json::{self, JsonRules, Value};
use tarflume_formats::message;
use tarflume_formats::message::Message;
use tarflume_formats::npy::{Dtype, write_header};
use tarflume_formats::{Error, name};
use tarflume_scan::rows::builder::{RowName, RowPart};

use crate::rows::Listing;
use crate::rows::columns::assign::{Column, Role, Roles, key_of};
use crate::rows::columns::numbers;
use crate::rows::places::bytes::Store;
use crate::rows::places::reader::{CellFault, CellReader};

/// Limit on a value that becomes a field of JSON.
const FIELD_MAX: u64 = 1 << 20;
/// Samples between two looks at the stop.
const SOME: u64 = 1024;

/// How the bytes of a column are read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reading {
    /// As they are.
    Bytes,
    /// As UTF-8.
    Text,
    /// As JSON.
    Json,
    /// As a whole number in decimal text.
    Whole,
    /// As a number in decimal text.
    Digits,
    /// As a number of numpy's type.
    Number(&'static str),
    /// As an array after its type and shape, as far as these are not given here.
    AnyArray(Option<&'static str>, Option<Vec<u64>>),
}

/// A kind of source whose files store samples this way.
pub(crate) struct Table {
    /// The columns, for roles and messages.
    pub(crate) columns: Vec<Column>,
    /// How each is read.
    pub(crate) readings: Vec<Reading>,
    /// Bytes of each column, or `None`.
    pub(crate) sizes: Vec<Option<u64>>,
    /// What each becomes.
    pub(crate) roles: Roles,
}

/// A file of samples.
pub(crate) struct File<'a> {
    /// Its number and path.
    pub(crate) source: u32,
    pub(crate) path: &'a Path,
    /// True if it is compressed, so that its values are no ranges.
    pub(crate) compressed: bool,
    /// Samples as the index declares them.
    pub(crate) samples: u64,
}

/// The options of a source that [`SampleCells`] reads.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct CellOptions {
    /// Bytes before compression, if the file is compressed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) zstd: Option<u64>,
    /// Bytes of each column, or `None`.
    pub(crate) sizes: Vec<Option<u64>>,
    /// The columns of arrays with their own type and shape, with the encoding of each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) arrays: Vec<(u16, String)>,
}

/// Adds the samples of a file, whose bytes are in `store`.
///
/// # Errors
/// Returns an error for a file that is not as its index says, and if the operating system refuses.
/// What is wrong with a value is a problem.
pub(crate) fn list(
    table: &Table,
    file: &File<'_>,
    mut store: Store,
    samples: &mut u64,
    listing: &mut Listing<'_, '_>,
) -> Result<(), Failure> {
    let Listing { builder, watch, .. } = listing;
    let count = Count::parse(store.array(0)?, store.length());
    let count = count.map_err(|e| e.with_path(file.path))?;
    if count.samples != file.samples {
        return Err(Failure::bad_data(format!(
            "the index says {} samples, and the file has {}",
            file.samples, count.samples
        ))
        .in_file(file.path));
    }
    let layout = Layout(table.sizes.clone());
    let rules = builder.options().json;
    let mut ranges = Vec::new();
    for number in 0..count.samples {
        if number % SOME == 0 {
            watch.counter.add(SOME.min(count.samples - number));
            if watch.stop.requested() {
                return Err(Failure::interrupted());
            }
        }
        let row = RowName { source: file.source, row: *samples };
        *samples += 1;
        locate(&mut store, count, &layout, number, &mut ranges).map_err(|e| e.of(file.path))?;
        let found = FoundRow { number, ranges: &ranges };
        match parts(table, file, found, &mut store, rules)? {
            Ok(RowParts { key, parts }) => {
                let key = key.unwrap_or_else(|| builder.number());
                for ColumnPart { column, ext, .. } in &parts {
                    if let Some(column) = *column
                        && let Some(Role::Sniffed(_, other)) = table.roles.roles.get(column)
                        && ext != other
                    {
                        builder.notes.ext(&table.columns[column].name, ext);
                    }
                }
                let parts = parts.iter().map(|part| (part.ext.as_str(), part.value.as_row()));
                let parts: Vec<(&str, RowPart<'_>)> = parts.collect();
                builder.push(row, key.as_bytes(), &parts)?;
            }
            Err((kind, reason)) => builder.refuse(row, kind, None, reason),
        }
    }
    Ok(())
}

/// Why a sample was not located.
enum Lost {
    Format(Error),
    Failure(Failure),
}

impl Lost {
    fn of(self, path: &Path) -> Failure {
        match self {
            Lost::Format(error) => error.with_path(path).into(),
            Lost::Failure(failure) => failure,
        }
    }
}

impl From<Failure> for Lost {
    fn from(failure: Failure) -> Lost {
        Lost::Failure(failure)
    }
}

/// Finds the bytes of each column of a sample.
fn locate(
    store: &mut Store,
    count: Count,
    layout: &Layout,
    number: u64,
    ranges: &mut Vec<Range<u64>>,
) -> Result<(), Lost> {
    let offsets = store.array(count.offsets_at(number))?;
    let sample = count.sample(number, offsets).map_err(Lost::Format)?;
    let head = layout.head().min(sample.end - sample.start) as usize;
    let head = store.get(sample.start, head)?;
    layout.columns(sample, head, ranges).map_err(Lost::Format)
}

/// A part of a row: its text, or its location.
enum PartValue {
    Text(Vec<u8>),
    Place(RowPart<'static>),
}

impl PartValue {
    fn as_row(&self) -> RowPart<'_> {
        match self {
            PartValue::Text(text) => RowPart::Text(text),
            PartValue::Place(place) => *place,
        }
    }
}

/// The key of a row, if a column has it, and its parts.
struct RowParts {
    key: Option<String>,
    parts: Vec<ColumnPart>,
}

/// A part of a row, with the number of its column; the JSON of several columns has none.
struct ColumnPart {
    column: Option<usize>,
    ext: String,
    value: PartValue,
}

/// A row whose values were found.
#[derive(Clone, Copy)]
struct FoundRow<'a> {
    /// Its number in the file.
    number: u64,
    /// The range of each column's value in the file, in bytes.
    ranges: &'a [Range<u64>],
}

/// A value of a row.
struct FoundCell<'a> {
    /// The number of the row in the file.
    row: u64,
    /// The number of the column.
    column: u16,
    /// How the value is stored.
    reading: &'a Reading,
    /// The range of the value in the file, in bytes.
    range: &'a Range<u64>,
}

/// Returns key and parts of a row, or the problem that it has.
fn parts(
    table: &Table,
    file: &File<'_>,
    row: FoundRow<'_>,
    store: &mut Store,
    rules: JsonRules,
) -> Result<Result<RowParts, (ProblemKind, Message)>, Failure> {
    let mut key = None;
    let mut parts = Vec::new();
    let mut json = json::Object::new();
    for (n, column) in table.columns.iter().enumerate() {
        let role = &table.roles.roles[n];
        let reading = &table.readings[n];
        let range = &row.ranges[n];
        let is_key = table.roles.key == Some(n);
        if is_key || *role == Role::Field {
            if range.end - range.start > FIELD_MAX {
                let why = message!("{} bytes; 1 MiB is the limit", range.end - range.start);
                return Ok(Err(bad_value(column, why)));
            }
            let length = (range.end - range.start) as usize;
            if *reading == Reading::Whole && *role == Role::Field {
                check_whole(column, row.number, store.get(range.start, length)?)
                    .map_err(|why| Failure::usage(why).in_file(file.path))?;
            }
            let value = match value(reading, store.get(range.start, length)?, rules) {
                Ok(value) => value,
                Err(why) => return Ok(Err(bad_value(column, why))),
            };
            if is_key {
                key = Some(match &value {
                    Value::String(text) => key_of(text).to_string(),
                    other => other.to_string(),
                });
            }
            if *role == Role::Field {
                json.insert(column.name.clone(), value);
            }
        }
        let head = (range.end - range.start).min(ENOUGH as u64) as usize;
        let Some(ext) = role.ext(store.get(range.start, head)?) else { continue };
        let cell = FoundCell { row: row.number, column: n as u16, reading, range };
        match part(file, cell, store, rules)? {
            Ok(value) => parts.push(ColumnPart { column: Some(n), ext, value }),
            Err(why) => return Ok(Err(bad_value(column, why))),
        }
    }
    if table.roles.roles.contains(&Role::Field) {
        let json = Value::Object(json).to_string();
        let value = PartValue::Text(json.into_bytes());
        parts.push(ColumnPart { column: None, ext: "json".into(), value });
    }
    Ok(Ok(RowParts { key, parts }))
}

fn bad_value(column: &Column, why: Message) -> (ProblemKind, Message) {
    let name = name::shown(column.name.as_bytes());
    (ProblemKind::BadJson, message!("column '{name}': {why}"; why = why))
}

/// Returns a value as a part.
fn part(
    file: &File<'_>,
    cell: FoundCell<'_>,
    store: &mut Store,
    rules: JsonRules,
) -> Result<Result<PartValue, Message>, Failure> {
    let FoundCell { row, column, reading, range } = cell;
    let source = file.source;
    let size = range.end - range.start;
    Ok(match reading {
        Reading::Number(_) => value(reading, store.get(range.start, size as usize)?, rules)
            .map(|value| PartValue::Text(value.to_string().into_bytes())),
        Reading::AnyArray(kind, dims) => {
            // 64 dimensions of 8 bytes and two bytes are the longest header; the values follow.
            array_head(store, range, *kind, dims.as_deref())?.map(|(head, skip)| {
                let size = head.len() as u64 + size - skip;
                PartValue::Place(RowPart::Cell { source, row, column, size })
            })
        }
        _ if file.compressed => Ok(PartValue::Place(RowPart::Cell { source, row, column, size })),
        _ => Ok(PartValue::Place(RowPart::Range { source, at: range.start, size })),
    })
}

/// Returns the npy header of an array and the bytes before its values.
fn array_head(
    store: &mut Store,
    range: &Range<u64>,
    kind: Option<&'static str>,
    dims: Option<&[u64]>,
) -> Result<Result<(Vec<u8>, u64), Message>, Failure> {
    let value = store.get(range.start, (range.end - range.start) as usize)?;
    let (kind, dims, skip) = match any_array(kind, dims, value) {
        Ok(found) => found,
        Err(error) => return Ok(Err(error.message().clone())),
    };
    let (letter, bits) = kind.split_at(kind.find(|c: char| c.is_ascii_digit()).unwrap_or(0));
    let size = bits.parse::<u32>().unwrap_or(8) / 8;
    let dtype = Dtype { kind: letter.chars().next().unwrap_or('u'), size, little: true };
    let mut head = Vec::new();
    match write_header(&mut head, dtype, false, &dims) {
        Ok(()) => Ok(Ok((head, skip as u64))),
        Err(error) => Ok(Err(error.message().clone())),
    }
}

/// Refuses a whole number that a column of `int64` does not hold. It ends the listing: the column has the wrong type.
fn check_whole(column: &Column, sample: u64, bytes: &[u8]) -> Result<(), Message> {
    let Ok(text) = std::str::from_utf8(bytes) else { return Ok(()) };
    if json::Number::parse(text).is_none() || text.parse::<i64>().is_ok() {
        return Ok(()); // what is no number is a problem of its sample
    }
    let column = name::shown(column.name.as_bytes());
    Err(message!(
        "sample {sample}: column '{column}' is {}, which has more than 64 bits; pack the column as a part, \
         which keeps all digits: mds:FOLDER?{column}.txt={column}&jpg=COLUMN&json=*",
        name::shown(bytes)
    ))
}

/// Decodes a value for JSON.
fn value(reading: &Reading, bytes: &[u8], rules: JsonRules) -> Result<Value, Message> {
    match reading {
        Reading::Text | Reading::Bytes => Ok(text_of(bytes)?.into()),
        Reading::Json => json::parse(bytes, rules)
            .map_err(|fault| message!("it is not JSON: {why}"; why = sentence(&fault))),
        Reading::Whole | Reading::Digits => {
            let text = text_of(bytes)?;
            match json::Number::parse(text) {
                Some(number) => Ok(Value::Number(number.text().into())),
                None => Err(message!("'{}' is not a number of JSON", name::shown(bytes))),
            }
        }
        Reading::Number(kind) => numbers::number(kind, bytes, rules),
        Reading::AnyArray(..) => Err("an array can't be a field of JSON".into()),
    }
}

fn text_of(bytes: &[u8]) -> Result<&str, String> {
    std::str::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_string())
}

/// A column of arrays: its number, type and shape, as far as its encoding states them.
type CellArray = (u16, Option<&'static str>, Option<Vec<u64>>);

/// Decodes values while a shard is packed.
#[derive(Debug)]
pub(crate) struct SampleCells {
    store: Store,
    path: std::path::PathBuf,
    count: Count,
    layout: Layout,
    arrays: Vec<CellArray>,
    ranges: Vec<Range<u64>>,
}

impl SampleCells {
    /// Opens the file at `path` with the options in the plan.
    ///
    /// # Errors
    /// Returns an error for other options, a damaged file, and if the operating system refuses.
    pub(crate) fn open(path: &Path, options: &serde_json::Value) -> Result<SampleCells, Failure> {
        use tarflume_foreign::mds::Encoding;
        let options = CellOptions::deserialize(options).map_err(|e| {
            Failure::bad_data(format!("options of another version: {e}")).in_file(path)
        })?;
        let mut store = match options.zstd {
            Some(size) => Store::zstd(path, size)?,
            None => Store::open(path)?,
        };
        let count = Count::parse(store.array(0)?, store.length());
        let count = count.map_err(|e| e.with_path(path))?;
        let arrays =
            options.arrays.into_iter().map(|(column, text)| match Encoding::parse(&text) {
                Encoding::AnyArray(kind, dims) => (column, kind, dims),
                _ => (column, None, None),
            });
        let layout = Layout(options.sizes);
        let path = path.to_path_buf();
        Ok(SampleCells { store, path, count, layout, arrays: arrays.collect(), ranges: Vec::new() })
    }
}

impl CellReader for SampleCells {
    fn read(&mut self, row: u64, column: u16, space: &mut [u8]) -> Result<(), CellFault> {
        if row >= self.count.samples {
            return Err(fault(row, Message::words("the file differs from the plan")));
        }
        let found = locate(&mut self.store, self.count, &self.layout, row, &mut self.ranges);
        found.map_err(|lost| lost.of(&self.path))?;
        let Some(range) = self.ranges.get(usize::from(column)).cloned() else {
            return Err(fault(row, Message::words("the file differs from the plan")));
        };
        let array = self.arrays.iter().find(|(array, ..)| *array == column);
        let (head, skip) = match array {
            None => (Vec::new(), 0),
            Some((_, kind, dims)) => {
                let found = array_head(&mut self.store, &range, *kind, dims.as_deref())?;
                found.map_err(|why| fault(row, why))?
            }
        };
        let length = (range.end - range.start - skip) as usize;
        if head.len() + length != space.len() {
            return Err(fault(row, Message::words("the file differs from the plan")));
        }
        space[..head.len()].copy_from_slice(&head);
        space[head.len()..].copy_from_slice(self.store.get(range.start + skip, length)?);
        Ok(())
    }
}

fn fault(row: u64, why: Message) -> CellFault {
    CellFault::placed(message!("sample {row}: {why}"; why = why))
}
