//! `tfrecord:a.tfrecord`: TFRecord files of `tf.train.Example`, one sample a record.
//!
//! Both checksums of each record are compared. Bytes features are ranges of the file; numbers and
//! text are fields of the sample's JSON: a feature that has one value in each of the first 1,000
//! records is that value, any other is a list. Memory: one record, of up to 1 GiB.

use std::path::Path;

use tarflume_base::array_note::{self, ArrayNote};
use tarflume_base::check::sniff;
use tarflume_base::{Failure, ProblemKind, units};
use tarflume_foreign::tfrecord::{FOOT, Feature, HEAD, Values, example, head, is_whole};
use tarflume_formats::Place;
use tarflume_formats::json::{JsonRules, Object, Value};
use tarflume_formats::message;
use tarflume_formats::message::Message;
use tarflume_formats::{files, name};
use tarflume_scan::rows::builder::{Root, RowName, RowPart, ScanBuilder};
use tarflume_table::json_float::single;

use crate::rows::Listing;
use crate::rows::columns::assign::{Column, ColumnKind, Role, Roles, key_of, with_arrays};
use crate::rows::places::bytes::{Store, WHOLE_MAX};
use crate::rows::url::SourceUrl;

/// Records that decide what the features are.
const SURVEYED: usize = 1000;
/// Records between two looks at the stop.
const SOME: u64 = 1024;
/// Features of the records that decide, at most.
const FEATURES: usize = 4096;

/// A record: its data's first byte in the file, and its data.
struct Record<'a> {
    at: u64,
    data: &'a [u8],
    /// False if the checksum of the data differs.
    whole: bool,
}

/// Lists the records of TFRecord files.
///
/// # Errors
/// Returns an error for a file that is no TFRecord or has a damaged length, after which no record
/// can be found, and if the operating system refuses. A record with another checksum is a problem.
pub(crate) fn list(source: &SourceUrl, listing: Listing<'_, '_>) -> Result<(), Failure> {
    let Listing { root, builder, watch } = listing;
    builder.call_rows("record");
    let mut columns = survey(source)?;
    columns.columns = with_arrays(columns.columns, &note_of(source)?);
    let roles = Roles::new(&columns.columns, source, &["list"])?;
    roles.note_left_out(&columns.columns, source, &mut builder.notes);
    check_parts(&columns.columns, &roles)?;
    roles.notes.iter().for_each(|note| builder.notes.push(note.clone()));
    for column in roles.described(&columns.columns) {
        let is_list = columns.is_list(column_of(&columns.columns, &column.name));
        let kind = if is_list { "list".into() } else { column.kind };
        builder.describe(tarflume_formats::Column { kind, nullable: true, ..column })?;
    }
    let assigned = Assigned { features: &columns, roles: &roles };
    let mut rows = 0;
    for (n, path) in source.files.iter().enumerate() {
        let root = Root { number: root + n as u32, path };
        let number = builder.source(root, "", "bytes", Default::default())?;
        each(path, |record| {
            if rows % SOME == 0 {
                watch.counter.add(SOME);
                if watch.stop.requested() {
                    return Err(Failure::interrupted());
                }
            }
            let row = RowName { source: number, row: rows };
            rows += 1;
            add(row, &record, assigned, builder)?;
            Ok(true)
        })?;
    }
    Ok(())
}

/// Refuses a feature of numbers that is named as a part, once for all records.
fn check_parts(columns: &[Column], roles: &Roles) -> Result<(), Failure> {
    for (column, role) in columns.iter().zip(&roles.roles) {
        if let (Role::Part(ext), ColumnKind::Number(_)) = (role, &column.kind) {
            let name = name::shown(column.name.as_bytes());
            return Err(Failure::usage(format!(
                "tfrecord: feature '{name}' is numbers, and the part '{ext}' is bytes; take it as a field: json={name}"
            )));
        }
    }
    Ok(())
}

/// Returns the note that an export has written beside the first file.
fn note_of(source: &SourceUrl) -> Result<ArrayNote, Failure> {
    let path = source.files[0].with_file_name(array_note::FILE);
    if !files::exists(&path)? {
        return Ok(ArrayNote::default());
    }
    let text = files::read_whole(&path, "read")?;
    ArrayNote::parse(&text, &path)
}

fn column_of<'a>(columns: &'a [Column], pointer: &str) -> &'a str {
    columns
        .iter()
        .find(|c| crate::rows::columns::assign::pointer(&c.name) == pointer)
        .map_or("", |c| c.name.as_str())
}

/// Calls `each` with the records of a file until it returns false.
fn each(
    path: &Path,
    mut each: impl FnMut(Record<'_>) -> Result<bool, Failure>,
) -> Result<(), Failure> {
    let mut store = Store::open(path)?;
    let mut at = 0;
    while at < store.length() {
        let left = store.length() - at;
        if left < HEAD as u64 {
            return Err(short(path, at));
        }
        let bytes =
            head(&store.array::<HEAD>(at)?, at).map_err(|e| Failure::from(e.with_path(path)))?;
        let data = at + HEAD as u64;
        let end = data.checked_add(bytes).and_then(|end| end.checked_add(FOOT as u64));
        let Some(end) = end.filter(|end| *end <= store.length()) else {
            return Err(short(path, at));
        };
        if bytes > WHOLE_MAX {
            return Err(Failure::usage(format!(
                "a record of {}; {} are the limit",
                units::bytes(bytes),
                units::bytes(WHOLE_MAX)
            ))
            .in_place(Place { path: Some(path.into()), byte: Some(at), key: None }));
        }
        let whole = store.get(data, bytes as usize + FOOT)?;
        let ends = whole.split_last_chunk::<FOOT>();
        let (record, foot) = ends.expect("the record was read with its foot");
        let whole = is_whole(record, *foot);
        if !each(Record { at: data, data: record, whole })? {
            return Ok(());
        }
        at = end;
    }
    Ok(())
}

fn short(path: &Path, at: u64) -> Failure {
    let place = Place { path: Some(path.into()), byte: Some(at), key: None };
    Failure::bad_data("the file ends inside a record").in_place(place)
}

/// The features that were found, and those that are lists.
struct Features {
    columns: Vec<Column>,
    lists: Vec<String>,
    /// Whether options name the features that are packed, so that others are left out on purpose.
    is_chosen: bool,
}

impl Features {
    fn is_list(&self, name: &str) -> bool {
        self.lists.iter().any(|list| list == name)
    }
}

/// The features, and what each becomes.
#[derive(Clone, Copy)]
struct Assigned<'a> {
    features: &'a Features,
    roles: &'a Roles,
}

/// Reads the first records to know the features.
fn survey(source: &SourceUrl) -> Result<Features, Failure> {
    let is_chosen = source.options.iter().any(|(name, _)| !matches!(name.as_str(), "key" | "list"));
    let mut found = Features { columns: Vec::new(), lists: Vec::new(), is_chosen };
    let forced = source.option("list").unwrap_or_default();
    found.lists.extend(forced.split(',').filter(|l| !l.is_empty()).map(str::to_string));
    let mut left = SURVEYED;
    for path in &source.files {
        each(path, |record| {
            if record.whole
                && let Ok(features) = example(record.data)
            {
                for feature in &features {
                    survey_one(feature, record.data, &mut found);
                }
            }
            left -= 1;
            Ok(left > 0 && found.columns.len() < FEATURES)
        })?;
        if left == 0 {
            break;
        }
    }
    found.columns.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

fn survey_one(feature: &Feature, record: &[u8], found: &mut Features) {
    let (kind, values) = match &feature.values {
        Values::Nothing => return,
        Values::Ints(values) => (ColumnKind::Number("int64"), values.len()),
        Values::Floats(values) => (ColumnKind::Number("float32"), values.len()),
        Values::Bytes(values) => {
            let text = values.iter().all(|range| is_text(&record[range.clone()]));
            (if text { ColumnKind::Text } else { ColumnKind::Bytes }, values.len())
        }
    };
    if values != 1 && !found.is_list(&feature.name) {
        found.lists.push(feature.name.clone());
    }
    match found.columns.iter_mut().find(|c| c.name == feature.name) {
        None => found.columns.push(Column { name: feature.name.clone(), kind }),
        // Some of its values are text, others not.
        Some(column) if kind == ColumnKind::Bytes => column.kind = kind,
        Some(_) => {}
    }
}

/// Returns true for text that is no picture and has no zero bytes.
fn is_text(bytes: &[u8]) -> bool {
    sniff::ext(bytes).is_none() && std::str::from_utf8(bytes).is_ok_and(|text| !text.contains('\0'))
}

/// Adds a record as a sample, or its problem.
fn add(
    row: RowName,
    record: &Record<'_>,
    assigned: Assigned<'_>,
    builder: &mut ScanBuilder<'_>,
) -> Result<(), Failure> {
    let Assigned { features: columns, roles } = assigned;
    let byte = Some(record.at - HEAD as u64);
    let number = row.row;
    if !record.whole {
        let reason = format!("record {number}: its checksum differs from its data");
        builder.refuse_at(row.source, byte, ProblemKind::Checksum, None, reason);
        return Ok(());
    }
    let features = match example(record.data) {
        Ok(features) => features,
        Err(error) => {
            let at = record.at + error.place().byte.unwrap_or_default();
            let reason = format!("record {number}: {}", error.text());
            builder.refuse_at(row.source, Some(at), ProblemKind::BadHeader, None, reason);
            return Ok(());
        }
    };
    let rules = builder.options().json;
    match sample(row.source, record, &features, assigned, rules) {
        Ok(Sample { key, parts, json, lacking }) => {
            let key = key.unwrap_or_else(|| builder.number());
            for (column, ext, _) in &parts {
                if let Role::Sniffed(_, other) = &roles.roles[*column]
                    && ext != other
                {
                    builder.notes.ext(&columns.columns[*column].name, ext);
                }
            }
            let mut parts: Vec<(&str, RowPart<'_>)> =
                parts.iter().map(|(_, ext, part)| (ext.as_str(), *part)).collect();
            if let Some(json) = &json {
                parts.push(("json", RowPart::Text(json.as_bytes())));
            }
            if !parts.is_empty() {
                lacking.iter().for_each(|&n| builder.note_missing(row, &columns.columns[n].name));
            }
            builder.push(row, key.as_bytes(), &parts)
        }
        Err(why) => {
            let reason = message!("record {number}: {why}"; why = why);
            builder.refuse_at(row.source, byte, ProblemKind::BadJson, None, reason);
            Ok(())
        }
    }
}

/// A sample of a record.
struct Sample<'a> {
    key: Option<String>,
    /// Column, extension, bytes.
    parts: Vec<(usize, String, RowPart<'a>)>,
    json: Option<String>,
    /// The columns of parts that it does not have.
    lacking: Vec<usize>,
}

fn sample<'a>(
    source: u32,
    record: &'a Record<'a>,
    features: &[Feature],
    assigned: Assigned<'_>,
    rules: JsonRules,
) -> Result<Sample<'a>, Message> {
    let Assigned { features: columns, roles } = assigned;
    let mut key = None;
    let mut parts = Vec::new();
    let mut json = Object::new();
    if !columns.is_chosen {
        let new = features.iter().find(|f| {
            f.values != Values::Nothing && !columns.columns.iter().any(|c| c.name == f.name)
        });
        if let Some(feature) = new {
            let name = name::shown(feature.name.as_bytes());
            return Err(message!(
                "feature '{name}' is in none of the first {SURVEYED} records, which decide what is packed; name the \
                 features: tfrecord:FILE?jpg=FEATURE&json=FEATURE,FEATURE"
            ));
        }
    }
    let mut lacking = Vec::new();
    for (n, column) in columns.columns.iter().enumerate() {
        let role = &roles.roles[n];
        let is_key = roles.key == Some(n);
        if *role == Role::Unused && !is_key {
            continue;
        }
        let values = features.iter().find(|f| f.name == column.name).map(|f| &f.values);
        let values = match values {
            Some(values) if *values != Values::Nothing => values,
            _ if is_key => return Err(message!("{} is missing, and is the key", shown(column))),
            _ => {
                if matches!(role, Role::Part(_) | Role::Sniffed(..)) {
                    lacking.push(n);
                }
                continue;
            }
        };
        if is_key {
            let value = field(values, record.data, false, rules)
                .map_err(|why| message!("{}: {why}", shown(column); why = why))?;
            key = Some(match &value {
                Value::String(text) => key_of(text).to_string(),
                other => other.to_string(),
            });
        }
        match (role, values) {
            (Role::Unused, _) => {}
            (Role::Field, values) => {
                let list = columns.is_list(&column.name);
                let value = field(values, record.data, list, rules);
                let value = value.map_err(|why| message!("{}: {why}", shown(column); why = why))?;
                json.insert(column.name.clone(), value);
            }
            (role, Values::Bytes(ranges)) if ranges.len() == 1 => {
                let bytes = &record.data[ranges[0].clone()];
                let at = record.at + ranges[0].start as u64;
                let size = bytes.len() as u64;
                let Some(ext) = role.ext(bytes) else { continue };
                parts.push((n, ext, RowPart::Range { source, at, size }));
            }
            (_, Values::Bytes(ranges)) => {
                return Err(message!(
                    "{} has {} values, and a part is one",
                    shown(column),
                    ranges.len()
                ));
            }
            (_, _) => return Err(message!("{} is numbers; a part is bytes", shown(column))),
        }
    }
    let has_fields = roles.roles.contains(&Role::Field);
    let json = has_fields.then(|| Value::Object(json).to_string());
    Ok(Sample { key, parts, json, lacking })
}

fn shown(column: &Column) -> String {
    format!("feature '{}'", name::shown(column.name.as_bytes()))
}

/// Returns the values of a feature as JSON: one value, or a list.
fn field(values: &Values, record: &[u8], list: bool, rules: JsonRules) -> Result<Value, Message> {
    let mut all = match values {
        Values::Nothing => Vec::new(),
        Values::Ints(ints) => ints.iter().map(|&n| n.into()).collect(),
        Values::Floats(floats) => floats
            .iter()
            .map(|&f| single(f, rules).map_err(|lacking| lacking.message()))
            .collect::<Result<Vec<_>, Message>>()?,
        Values::Bytes(ranges) => ranges
            .iter()
            .map(|range| {
                let text = std::str::from_utf8(&record[range.clone()]);
                text.map(Value::from).map_err(|_| Message::words("it is not UTF-8"))
            })
            .collect::<Result<Vec<_>, Message>>()?,
    };
    match all.len() {
        _ if list => Ok(Value::Array(all)),
        1 => Ok(all.remove(0)),
        n => Err(message!(
            "it has {n} values, and one in each of the first {SURVEYED} records; add \
             list=NAME to the options of the source"
        )),
    }
}
