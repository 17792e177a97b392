//! The rows of the data sets of one file -> what they give to samples.

use std::path::Path;

use tarflume_base::check::sniff;
use tarflume_base::{Failure, ProblemKind};
use tarflume_formats::json::{JsonRules, Object, Value};
use tarflume_formats::message;
use tarflume_formats::message::Message;
use tarflume_scan::rows::builder::{RowName, RowPart};

use super::array::{H5Array, H5Kind};
use super::file::machine;
use super::role::{AssignedArray, Role};
use crate::rows::Listing;
use crate::rows::columns::numbers;
use crate::rows::places::reader::CellFault;

/// The data sets of one file.
pub(super) struct Table {
    pub(super) arrays: Vec<AssignedArray>,
    pub(super) source: u32,
    /// Bytes of the values that were read.
    pub(super) values: u64,
    pub(super) most_values: u64,
    /// Notes about data sets that are packed under other names.
    pub(super) notes: Vec<Message>,
}

/// What the rows of some files give to one sample.
pub(super) struct Collected {
    key: String,
    json: Object,
    parts: Vec<(String, RowPart<'static>)>,
    /// Why the row is no sample.
    fault: Option<RowFault>,
}

struct RowFault {
    kind: ProblemKind,
    why: Message,
}

impl Collected {
    /// Creates a sample whose key is a number, unless a data set has keys.
    pub(super) fn new(number: String) -> Collected {
        Collected { key: number, json: Object::new(), parts: Vec::new(), fault: None }
    }

    fn fault(&mut self, kind: ProblemKind, array: &str, why: Message) {
        let why = message!("{array}: {why}"; why = why);
        self.fault = Some(RowFault { kind, why });
    }

    /// Adds the sample, or its problem.
    ///
    /// # Errors
    /// Returns an error if the machine fails.
    pub(super) fn push(
        self,
        source: u32,
        row: u64,
        listing: &mut Listing<'_, '_>,
    ) -> Result<(), Failure> {
        let name = RowName { source, row };
        if let Some(RowFault { kind, why }) = self.fault {
            listing.builder.refuse(name, kind, None, why);
            return Ok(());
        }
        let text = (!self.json.is_empty()).then(|| Value::Object(self.json).to_string());
        let mut named: Vec<(&str, RowPart<'_>)> =
            self.parts.iter().map(|(ext, part)| (ext.as_str(), *part)).collect();
        if let Some(text) = &text {
            named.push(("json", RowPart::Text(text.as_bytes())));
        }
        listing.builder.push(name, self.key.as_bytes(), &named)
    }
}

impl Table {
    /// Returns true if a data set of this table becomes the same as `wanted` of another one.
    pub(super) fn has(&self, wanted: &AssignedArray) -> bool {
        self.arrays.iter().any(|own| own.role == wanted.role && alike(&wanted.array, &own.array))
    }

    pub(super) fn rows(&self) -> u64 {
        self.arrays[0].array.rows() // a table has at least one
    }

    /// Returns what the plan keeps of the file.
    pub(super) fn options(&self) -> serde_json::Value {
        let names: Vec<&str> = self.arrays.iter().map(|read| read.array.name.as_str()).collect();
        let pictures: Vec<_> = self.arrays.iter().map(AssignedArray::picture).collect();
        if pictures.iter().all(Option::is_none) {
            return serde_json::json!({ "arrays": names });
        }
        serde_json::json!({ "arrays": names, "pictures": pictures })
    }

    /// Adds a row to a sample, or why it is none.
    ///
    /// # Errors
    /// Returns an error if the machine fails, and for a file that declares more values than it can have.
    pub(super) fn collect(
        &mut self,
        row: u64,
        path: &Path,
        rules: JsonRules,
        into: &mut Collected,
    ) -> Result<(), Failure> {
        let Table { arrays, source, values, most_values, .. } = self;
        let source = *source;
        for (n, AssignedArray { role, array }) in arrays.iter_mut().enumerate() {
            if let (Some(place), Role::Part(Some(ext))) = (array.place, &*role) {
                let size = array.row_bytes();
                let part = RowPart::Range { source, at: place + row * size, size };
                into.parts.push((ext.clone(), part));
                continue;
            }
            let kind = array.kind;
            let value = match array.value(row).map_err(|e| machine(e, path)) {
                Ok(value) => value,
                Err(CellFault::Failure(failure)) => return Err(failure),
                Err(CellFault::Data(reason) | CellFault::Placed(reason)) => {
                    into.fault(ProblemKind::Unreadable, &array.name, reason);
                    return Ok(());
                }
            };
            *values += value.len() as u64;
            if *values > *most_values {
                return Err(Failure::bad_data(format!(
                    "{}: row {row}: the values up to here have more than {most_values} bytes, which the \
                     file cannot have: many rows refer to the same bytes",
                    array.name
                ))
                .in_file(path));
            }
            let column = n as u16;
            let size = value.len() as u64;
            match role {
                Role::Part(ext) => {
                    let ext = match ext {
                        Some(ext) => ext.clone(),
                        None => sniff::ext(value).unwrap_or("bin").to_string(),
                    };
                    into.parts.push((ext, RowPart::Cell { source, row, column, size }));
                }
                Role::Picture(ext, picture) => match picture.encode(value) {
                    Ok(png) => {
                        let size = png.len() as u64;
                        let cell = RowPart::Cell { source, row, column, size };
                        into.parts.push((ext.clone(), cell));
                    }
                    Err(why) => into.fault(ProblemKind::Unreadable, &array.name, why.into()),
                },
                Role::Field(field) => match field_of(kind, value, rules) {
                    Ok(found) => drop(into.json.insert(field.clone(), found)),
                    Err(why) => into.fault(ProblemKind::BadJson, &array.name, why),
                },
                Role::Key => match field_of(kind, value, rules) {
                    Ok(Value::String(text)) => into.key = text,
                    Ok(other) => into.key = other.to_string(),
                    Err(why) => into.fault(ProblemKind::BadName, &array.name, why),
                },
            }
        }
        Ok(())
    }
}

/// Returns true if the rows of two data sets have the same type and shape.
fn alike(a: &H5Array, b: &H5Array) -> bool {
    match (a.kind.number(), b.kind.number()) {
        (Some(c), Some(d)) => (c.class, c.size, a.row_shape()) == (d.class, d.size, b.row_shape()),
        _ => std::mem::discriminant(&a.kind) == std::mem::discriminant(&b.kind),
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
