//! `hdf5:FILES?NAME=/DATASET&key=/DATASET`: HDF5 data sets, one sample for each index of the first
//! dimension.
//!
//! A row of more than one number is a part `NAME.raw` of fixed length; a number or text becomes a
//! field of the sample's JSON; bytes of any length are a part `NAME`. Rows of contiguous data sets are
//! ranges of the file; chunked ones are decoded again when they are packed.

mod array;
mod blocks;
mod file;
mod filters;
mod link;
mod number;

use std::path::Path;

use tarflume_base::check::sniff;
use tarflume_base::{Failure, ProblemKind};
use tarflume_formats::Column;
use tarflume_formats::json::{JsonRules, Object, Value};
use tarflume_formats::message;
use tarflume_formats::message::Message;
use tarflume_formats::number_kind::NumberClass;
use tarflume_formats::shown::ShowPath;
use tarflume_scan::rows::builder::{Root, RowName, RowPart};

use self::array::{H5Array, H5Kind};
pub(crate) use self::blocks::find;
use self::file::{all, machine};
use crate::rows::Listing;
use crate::rows::columns::choice::{Choice, ForJson, chosen};
use crate::rows::columns::part_names::{part_name, renamed};
use crate::rows::columns::{assign, numbers};
use crate::rows::places::bytes::most_values;
use crate::rows::places::reader::{CellFault, CellReader};
use crate::rows::url::SourceUrl;

/// Rows between two looks at a request to stop.
const STEP: u64 = 1024;

/// What a data set becomes.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Role {
    /// The key.
    Key,
    /// A field of the JSON.
    Field(String),
    /// A part with this extension; `None` for that of the image's format.
    Part(Option<String>),
}

/// A data set of the file and its role in the samples.
struct AssignedArray {
    role: Role,
    array: H5Array,
}

impl AssignedArray {
    fn is_field(&self) -> bool {
        matches!(self.role, Role::Field(_))
    }

    /// Returns true if it becomes the part 'json'.
    fn is_json(&self) -> bool {
        self.role == Role::Part(Some("json".into()))
    }

    /// Returns the column of the manifest.
    fn column(&self) -> Option<Column> {
        let (name, kind, shape) = match (&self.role, self.array.kind) {
            (Role::Field(name), kind) => {
                let kind = match kind.number() {
                    Some(number) => numbers::json_kind(number.name()),
                    None => "string",
                };
                (assign::pointer(name), kind.into(), None)
            }
            (Role::Part(Some(ext)), kind) => {
                let row = self.array.row_shape().to_vec();
                (ext.clone(), kind.number()?.name().into(), Some(row))
            }
            _ => return None,
        };
        Some(Column { name, kind, shape, nullable: false, items: None })
    }
}

/// The data sets of one file.
struct Table {
    arrays: Vec<AssignedArray>,
    source: u32,
    /// Bytes of the values that were read, and their limit.
    values: (u64, u64),
    /// Notes about data sets that are packed under other names.
    notes: Vec<Message>,
}

/// Lists the rows of the files of one source.
///
/// # Errors
/// Returns an error for a file that is not HDF5 or has other data sets than the first, and if the
/// machine fails.
pub(crate) fn list(source: &SourceUrl, mut listing: Listing<'_, '_>) -> Result<(), Failure> {
    let mut tables: Vec<Table> = Vec::with_capacity(source.files.len());
    for (n, path) in source.files.iter().enumerate() {
        let mut table = open(source, path)?;
        if let Some(first) = tables.first()
            && let Some(difference) = difference(first, &table)
        {
            return Err(Failure::usage(message!(
                "{path} and {} differ in {difference}; pack them as different data sets",
                path.shown();
                path = &source.files[0]
            ))
            .with_file(&source.files[0]));
        }
        table.notes.drain(..).for_each(|note| listing.builder.notes.push(note));
        let names: Vec<&str> = table.arrays.iter().map(|read| read.array.name.as_str()).collect();
        let root = Root { number: listing.root + n as u32, path };
        let options = serde_json::json!({ "arrays": names });
        table.source = listing.builder.source(root, "", "hdf5", options)?;
        tables.push(table);
    }
    for column in tables[0].arrays.iter().filter_map(AssignedArray::column) {
        listing.builder.describe(column)?;
    }
    let rows: u64 = tables.iter().map(Table::rows).sum();
    if rows == 0 {
        let H5Array { name, .. } = &tables[0].arrays[0].array;
        let text = format!("{name}: it has 0 rows, so no samples");
        return Err(Failure::usage(text).in_file(&source.files[0]));
    }
    let digits = rows.saturating_sub(1).to_string().len().max(8);
    let mut first = 0;
    for (table, path) in tables.iter_mut().zip(&source.files) {
        for row in 0..table.rows() {
            if row % STEP == 0 {
                if listing.watch.stop.requested() {
                    return Err(Failure::interrupted());
                }
                listing.watch.counter.add(STEP.min(table.rows() - row));
            }
            let number = format!("{:0digits$}", first + row);
            table.push(row, number, path, &mut listing)?;
        }
        first += table.rows();
    }
    Ok(())
}

fn open(source: &SourceUrl, path: &Path) -> Result<Table, Failure> {
    let file = file::open(path)?;
    let chosen = chosen(source, || all(&file.file, path))?;
    let mut arrays: Vec<AssignedArray> = Vec::with_capacity(chosen.len());
    let mut notes = Vec::new();
    for Choice { name, dataset, json } in chosen {
        let array = H5Array::find(&file, &dataset, path)?;
        let found = role(&name, &array, path)?;
        let role = match (json, &found) {
            (ForJson::Not, _) | (ForJson::Fields | ForJson::Named { .. }, Role::Field(_)) => found,
            (ForJson::NoFields, Role::Field(_)) => continue,
            (ForJson::NoFields, _) => found,
            (ForJson::Fields, _) => continue,
            (ForJson::Named { alone: true }, Role::Part(_)) if array.kind == H5Kind::Bytes => {
                Role::Part(Some("json".into()))
            }
            (ForJson::Named { .. }, _) => {
                let text =
                    "an array is no field of JSON; name it as a part: hdf5:FILE?image=/DATASET";
                return Err(Failure::usage(format!("{}: {text}", array.name)).in_file(path));
            }
        };
        if let Some(other) = arrays.iter().find(|other| other.role == role) {
            return Err(Failure::usage(format!(
                "{} and {dataset} are both packed as '{}'; name them: \
                 hdf5:FILE?one=/DATASET&two=/DATASET",
                other.array.name,
                part_name(&name)
            ))
            .in_file(path));
        }
        if let Role::Part(Some(ext)) = &role
            && part_name(&name) != name
        {
            notes.push(renamed("data set", &name, ext));
        }
        arrays.push(AssignedArray { role, array });
    }
    if arrays.is_empty() {
        return Err(Failure::usage(
            "the file has no data sets at its root; name them: hdf5:FILE?image=/GROUP/DATASET",
        )
        .in_file(path));
    }
    let rows = arrays[0].array.rows();
    if let Some(other) = arrays.iter().find(|read| read.array.rows() != rows) {
        return Err(Failure::usage(format!(
            "{} has {rows} rows and {} has {}; a sample is one row of each; name the data sets: \
             hdf5:FILE?image=/x&label=/y",
            arrays[0].array.name,
            other.array.name,
            other.array.rows()
        ))
        .in_file(path));
    }
    if let Some(json) = arrays.iter().find(|read| read.is_json())
        && arrays.iter().any(AssignedArray::is_field)
    {
        return Err(Failure::usage(format!(
            "{} is the part 'json', and other data sets are fields of it; name the data sets: \
             hdf5:FILE?text=/x&label=/y",
            json.array.name
        ))
        .in_file(path));
    }
    Ok(Table { arrays, source: 0, values: (0, most_values(file.length)), notes })
}

fn role(name: &str, array: &H5Array, path: &Path) -> Result<Role, Failure> {
    let one = array.row_shape().is_empty();
    Ok(match array.kind {
        H5Kind::Numbers(number)
            if name == "key"
                && one
                && matches!(number.class, NumberClass::Int | NumberClass::Uint) =>
        {
            Role::Key
        }
        H5Kind::Text { .. } if name == "key" => Role::Key,
        _ if name == "key" => {
            let why = "it is no key: keys are text or whole numbers";
            return Err(Failure::usage(format!("{}: {why}", array.name)).in_file(path));
        }
        H5Kind::Text { .. } => Role::Field(name.into()),
        H5Kind::Numbers(_) if one => Role::Field(name.into()),
        H5Kind::Bytes if name == "image" => Role::Part(None),
        H5Kind::Bytes => Role::Part(Some(part_name(name))),
        H5Kind::Numbers(_) if name.ends_with(".raw") => Role::Part(Some(part_name(name))),
        H5Kind::Numbers(_) => Role::Part(Some(format!("{}.raw", part_name(name)))),
    })
}

/// Returns the name of a data set in which two files differ.
fn difference(a: &Table, b: &Table) -> Option<String> {
    let odd = a.arrays.iter().find(|found| !b.has(found));
    odd.or_else(|| b.arrays.iter().find(|found| !a.has(found))).map(|read| read.array.name.clone())
}

/// Returns true if the rows of two data sets have the same type and shape.
fn alike(a: &H5Array, b: &H5Array) -> bool {
    match (a.kind.number(), b.kind.number()) {
        (Some(c), Some(d)) => (c.class, c.size, a.row_shape()) == (d.class, d.size, b.row_shape()),
        _ => std::mem::discriminant(&a.kind) == std::mem::discriminant(&b.kind),
    }
}

impl Table {
    /// Returns true if a data set of this table becomes the same as `wanted` of another one.
    fn has(&self, wanted: &AssignedArray) -> bool {
        self.arrays.iter().any(|own| own.role == wanted.role && alike(&wanted.array, &own.array))
    }

    fn rows(&self) -> u64 {
        self.arrays[0].array.rows() // a table has at least one
    }

    /// Adds one row as a sample, or its problem.
    fn push(
        &mut self,
        row: u64,
        number: String,
        path: &Path,
        listing: &mut Listing<'_, '_>,
    ) -> Result<(), Failure> {
        let source = self.source;
        let name = RowName { source, row };
        let rules = listing.builder.options().json;
        let mut key = number;
        let mut json = Object::new();
        let mut parts = Vec::new();
        let mut fault = None;
        for (n, AssignedArray { role, array }) in self.arrays.iter_mut().enumerate() {
            if let (Some(place), Role::Part(Some(ext))) = (array.place, &*role) {
                let size = array.row_bytes();
                parts.push((ext.clone(), RowPart::Range { source, at: place + row * size, size }));
                continue;
            }
            let kind = array.kind;
            let value = match array.value(row).map_err(|e| machine(e, path)) {
                Ok(value) => value,
                Err(CellFault::Failure(failure)) => return Err(failure),
                Err(CellFault::Data(reason) | CellFault::Placed(reason)) => {
                    fault = Some((
                        ProblemKind::Unreadable,
                        message!("{}: {why}", array.name; why = reason),
                    ));
                    break;
                }
            };
            self.values.0 += value.len() as u64;
            if self.values.0 > self.values.1 {
                return Err(Failure::bad_data(format!(
                    "{}: row {row}: the values up to here have more than {} bytes, which the \
                     file cannot have: many rows refer to the same bytes",
                    array.name, self.values.1
                ))
                .in_file(path));
            }
            match role {
                Role::Part(ext) => {
                    let ext = match ext {
                        Some(ext) => ext.clone(),
                        None => sniff::ext(value).unwrap_or("bin").to_string(),
                    };
                    let size = value.len() as u64;
                    parts.push((ext, RowPart::Cell { source, row, column: n as u16, size }));
                }
                Role::Field(field) => match field_of(kind, value, rules) {
                    Ok(found) => drop(json.insert(field.clone(), found)),
                    Err(why) => {
                        fault = Some((
                            ProblemKind::BadJson,
                            message!("{}: {why}", array.name; why = why),
                        ))
                    }
                },
                Role::Key => match field_of(kind, value, rules) {
                    Ok(Value::String(text)) => key = text,
                    Ok(other) => key = other.to_string(),
                    Err(why) => {
                        fault = Some((
                            ProblemKind::BadName,
                            message!("{}: {why}", array.name; why = why),
                        ))
                    }
                },
            }
        }
        if let Some((kind, why)) = fault {
            listing.builder.refuse(name, kind, None, why);
            return Ok(());
        }
        let text = (!json.is_empty()).then(|| Value::Object(json).to_string());
        let mut named: Vec<(&str, RowPart<'_>)> =
            parts.iter().map(|(ext, part)| (ext.as_str(), *part)).collect();
        if let Some(text) = &text {
            named.push(("json", RowPart::Text(text.as_bytes())));
        }
        listing.builder.push(name, key.as_bytes(), &named)
    }
}

/// Returns the JSON of a number or text.
fn field_of(kind: H5Kind, bytes: &[u8], rules: JsonRules) -> Result<Value, Message> {
    if let Some(number) = kind.number() {
        return numbers::number(number.name(), bytes, rules);
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text.into()),
        Err(_) => Err("the text is not UTF-8".into()),
    }
}

/// Decodes planned values of one file, for one thread. Holds the chunks of some rows of each data set.
pub(crate) struct Hdf5Cells {
    path: std::path::PathBuf,
    arrays: Vec<H5Array>,
}

impl std::fmt::Debug for Hdf5Cells {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hdf5Cells").field("file", &self.path).finish_non_exhaustive()
    }
}

impl Hdf5Cells {
    /// Opens a planned file.
    ///
    /// # Errors
    /// Returns an error if the file lacks a planned data set or cannot be read.
    pub(crate) fn open(path: &Path, options: &serde_json::Value) -> Result<Hdf5Cells, CellFault> {
        let file = file::open(path)?;
        let planned = options["arrays"].as_array().map(Vec::as_slice).unwrap_or_default();
        let names = planned.iter().map(|name| name.as_str().unwrap_or_default());
        let arrays = names.map(|name| H5Array::find(&file, name, path));
        let arrays = arrays.collect::<Result<Vec<_>, Failure>>()?;
        Ok(Hdf5Cells { path: path.into(), arrays })
    }
}

impl CellReader for Hdf5Cells {
    fn read(&mut self, row: u64, column: u16, space: &mut [u8]) -> Result<(), CellFault> {
        let Some(array) = self.arrays.get_mut(usize::from(column)) else {
            return Err(CellFault::data(format!("the plan has no data set {column}")));
        };
        let value = array.value(row).map_err(|e| machine(e, &self.path))?;
        if value.len() != space.len() {
            let text = format!("{} bytes, and {} were planned", value.len(), space.len());
            return Err(CellFault::data(text));
        }
        space.copy_from_slice(value);
        Ok(())
    }
}
