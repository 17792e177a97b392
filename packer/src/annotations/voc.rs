//! Pascal VOC annotations: one XML file for each image.
//!
//! Class ids are the positions of the names of all objects, sorted by their bytes. The JSON has a
//! list for each field of objects that any file has.

mod xml;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::{Map, Value};
use tarflume_formats::shown::ShowPath;
use tarflume_formats::{About, ClassTable, Column};

use self::xml::{Annotation, Object};
use super::files::{Annotations, text};
use crate::failure::Failure;
use crate::join::{JoinRow, JoinRows, Place};
use crate::scan::ScanCounter;
use crate::stop::Stop;
use crate::table::json::put_value;
use crate::table::types::{Inferred, Kind, described};

/// Limit on the number of classes.
const MAX_CLASSES: usize = 1 << 20;
/// Limit on the different fields of images and objects.
const MAX_FIELDS: usize = 256;

/// An opened folder.
#[derive(Debug)]
pub(crate) struct Opened {
    /// One row for each file.
    pub(crate) rows: VocRows,
    /// The classes and columns.
    pub(crate) about: About,
    /// The time of the last change of any file.
    pub(crate) newest: i64,
}

/// The annotations of a folder.
#[derive(Debug)]
pub(crate) struct VocRows {
    files: Annotations,
    next: usize,
    classes: Vec<String>,
    /// Fields of objects beside name and box, and whether all of their values are whole numbers.
    objects: BTreeMap<String, bool>,
    /// Fields of images, and the same.
    images: BTreeMap<String, bool>,
}

/// Opens the annotations under a folder.
///
/// # Errors
/// Returns an error for a malformed file, and for a failure of the machine.
pub(crate) fn open(root: &Path, (counter, stop): (&ScanCounter, &Stop)) -> Result<Opened, Failure> {
    let files = Annotations::list(root, "xml", (counter, stop))?;
    let mut classes = BTreeSet::new();
    let (mut objects, mut images) = (BTreeMap::new(), BTreeMap::new());
    for number in 0..files.len() {
        if number % 1024 == 0 && stop.requested() {
            return Err(Failure::interrupted());
        }
        let (_, path) = files.file(number);
        let annotation = read(&path)?;
        see(&mut images, &annotation.fields);
        for object in annotation.objects {
            see(&mut objects, &object.fields);
            classes.insert(object.name);
        }
        if classes.len() > MAX_CLASSES || objects.len().max(images.len()) > MAX_FIELDS {
            let text = format!("{}: too many different classes or fields", path.shown());
            return Err(Failure::bad_data(text));
        }
    }
    let newest = files.newest;
    let classes = classes.into_iter().collect();
    let rows = VocRows { files, next: 0, classes, objects, images };
    let table =
        ClassTable { pointer: "/class".into(), names: rows.classes.clone(), ids: Vec::new() };
    let about = About { classes: Some(table), columns: rows.columns() };
    Ok(Opened { rows, about, newest })
}

/// Parses a text, for fuzzing.
pub(crate) fn parse(text: &str) {
    drop(xml::parse(text));
}

fn read(path: &Path) -> Result<Annotation, Failure> {
    let parsed = xml::parse(&text(path)?);
    parsed.map_err(|why| Failure::bad_data(format!("{}: {why}", path.shown())))
}

/// Notes fields, and which of them have other values than whole numbers.
fn see(known: &mut BTreeMap<String, bool>, fields: &[(String, String)]) {
    for (name, value) in fields {
        let whole = Kind::of_word(value) == Kind::Int;
        *known.entry(name.clone()).or_insert(true) &= whole;
    }
}

fn value(text: &str, is_whole: bool) -> Value {
    match text.parse::<i64>() {
        Ok(number) if is_whole => number.into(),
        _ => text.into(),
    }
}

impl VocRows {
    fn write(&self, annotation: &Annotation, out: &mut Vec<u8>) {
        let field = |fields: &[(String, String)], name: &str, whole: bool| {
            let found = fields.iter().find(|(n, _)| n == name);
            found.map_or(Value::Null, |(_, text)| value(text, whole))
        };
        let mut json: Map<String, Value> = self
            .images
            .iter()
            .map(|(name, whole)| (name.clone(), field(&annotation.fields, name, *whole)))
            .collect();
        let objects = &annotation.objects;
        for (name, whole) in &self.objects {
            let values = objects.iter().map(|object| field(&object.fields, name, *whole));
            json.insert(name.clone(), values.collect());
        }
        let class = |object: &Object| self.classes.binary_search(&object.name).unwrap_or_default();
        json.insert(
            "boxes".into(),
            objects.iter().map(|o| Value::from(o.corners.to_vec())).collect(),
        );
        json.insert("class".into(), objects.iter().map(|o| Value::from(class(o))).collect());
        let names = objects.iter().map(|o| Value::from(o.name.clone()));
        json.insert("class_name".into(), names.collect());
        put_value(&json.into(), out);
    }

    fn columns(&self) -> Vec<Column> {
        let list = Inferred { kind: Kind::List, nullable: false };
        let own = ["boxes", "class", "class_name"].map(str::to_string);
        let mut columns: Vec<Column> =
            self.objects.keys().chain(&own).map(|name| described(name, list)).collect();
        for (name, whole) in self.images.iter().filter(|(n, _)| !self.objects.contains_key(*n)) {
            let kind = if *whole { Kind::Int } else { Kind::String };
            columns.push(described(name, Inferred { kind, nullable: true }));
        }
        columns.sort_by(|a, b| a.name.cmp(&b.name));
        columns
    }
}

impl JoinRows for VocRows {
    fn next(&mut self, row: &mut JoinRow) -> Result<bool, Failure> {
        if self.next == self.files.len() {
            return Ok(false);
        }
        let (name, path) = self.files.file(self.next);
        self.next += 1;
        row.place = Place { table: 0, row: self.next as u64, byte: None };
        row.name = name;
        row.json.clear();
        self.write(&read(&path)?, &mut row.json);
        Ok(true)
    }
}

#[cfg(test)]
mod tests;
