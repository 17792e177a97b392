//! Pascal VOC annotations: one XML file for each image.
//!
//! Class ids are those of a given table, or else the positions of the names of all objects, sorted by their bytes.
//! The JSON has a list for each field of objects that any file has.

mod xml;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::{Map, Value};
use tarflume_base::{Failure, units};
use tarflume_formats::message;
use tarflume_formats::message::{Message, Name};
use tarflume_formats::shown::ShowPath;
use tarflume_formats::{About, BoxForm, ClassTable, Column, ObjectTable, name, panics};
use tarflume_scan::folders::walk::Watch;
use tarflume_scan::links::Links;
use tarflume_table::values::json::put_value;
use tarflume_table::values::recorded::{Recorded, misfits};
use tarflume_table::values::types::{Inferred, ValueKind, described};

pub(super) use self::xml::resolved;
use self::xml::{Annotation, XmlFault};
use super::files::{Annotations, text};
use crate::join::{JoinRow, JoinRows, Place};

/// The pointer of the class table.
const POINTER: &str = "/class";
/// The lists that all samples have.
const OWN: [&str; 3] = ["boxes", "class", "class_name"];
/// Limit on the number of classes.
const MAX_CLASSES: usize = 1 << 20;
/// Limit on the different fields of images and objects.
const MAX_FIELDS: usize = 256;

/// An opened folder.
#[derive(Debug)]
pub struct Opened {
    /// One row for each file.
    pub rows: VocRows,
    /// The classes and columns.
    pub about: About,
    /// The time of the last change of any file.
    pub newest: i64,
    /// A line about the numbers of the classes.
    pub note: Option<Message>,
}

/// The annotations of a folder.
#[derive(Debug)]
pub struct VocRows {
    files: Annotations,
    next: usize,
    /// The names of classes with their ids.
    classes: BTreeMap<String, i64>,
    /// Fields of objects beside name and box, and whether all of their values are whole numbers.
    objects: BTreeMap<String, bool>,
    /// Fields of images, and the same.
    images: BTreeMap<String, bool>,
}

/// Opens the annotations under a folder. The classes and fields of `before`, a data set that gets more
/// samples, stay as they are. With `fixed`, there are no other classes than these.
///
/// # Errors
/// Returns an error for a malformed file, for a value that does not fit the data set, for a class that is not in
/// `fixed`, and for a failure of the machine.
pub fn open(
    root: &Path,
    before: &About,
    fixed: Option<&ClassTable>,
    links: Links,
    watch: Watch<'_>,
) -> Result<Opened, Failure> {
    let files = Annotations::list(root, "xml", links, watch)?;
    let recorded = Recorded::of(&before.columns);
    let mut classes = BTreeSet::new();
    let (mut objects, mut images) = fields(&recorded);
    for number in 0..files.len() {
        if number % 1024 == 0 && watch.stop.requested() {
            return Err(Failure::interrupted());
        }
        let (_, path) = files.file(number);
        let annotation = read(&path)?;
        check_fits(&path, &annotation.fields, &recorded)?;
        see(&mut images, &annotation.fields);
        for object in annotation.objects {
            see(&mut objects, &object.fields);
            check_class(&path, &object.name, fixed)?;
            classes.insert(object.name);
        }
        if classes.len() > MAX_CLASSES || objects.len().max(images.len()) > MAX_FIELDS {
            let text = "too many different classes or fields";
            return Err(Failure::bad_data(text).in_file(path));
        }
    }
    let newest = files.newest;
    let known = super::classes::before(before, POINTER);
    let note = (fixed.is_none() && known.is_none()).then(|| numbering(root, classes.len()));
    let table = super::classes::grown(fixed.or(known), classes, POINTER);
    let numbered = table.names.iter().enumerate();
    let classes = numbered.map(|(n, name)| (name.clone(), table.id(n))).collect();
    let rows = VocRows { files, next: 0, classes, objects, images };
    let objects = ObjectTable::of(BoxForm::Corners, false, None);
    let about = About { classes: Some(table), columns: rows.columns(), objects: Some(objects) };
    Ok(Opened { rows, about, newest, note })
}

/// Refuses a class that is not among the given ones.
fn check_class(path: &Path, class: &str, fixed: Option<&ClassTable>) -> Result<(), Failure> {
    if fixed.is_none_or(|table| table.names.iter().any(|name| name == class)) {
        return Ok(());
    }
    Err(Failure::bad_data(message!(
        "the list of classes has no '{}'; add it to the end of the file of {classes}",
        name::shown(class.as_bytes());
        classes = Name::Classes
    ))
    .in_file(path))
}

/// Returns the line about classes whose numbers depend on the folder.
fn numbering(root: &Path, classes: usize) -> Message {
    message!("the {} in {} are numbered in the order of their names; {classes} gives other splits of the data \
             set the same numbers", units::counted(classes as u64, "class", "classes"), root.shown(); classes = Name::Classes.is("OUT/dataset.json"))
}

/// Parses a text, for fuzzing.
pub(crate) fn parse(text: &str) {
    drop(xml::parse(text));
}

fn read(path: &Path) -> Result<Annotation, Failure> {
    let text = text(path)?;
    let parsed = panics::guarded(|| xml::parse(&text));
    let parsed = parsed
        .unwrap_or_else(|panic| Err(XmlFault::whole(format!("the XML cannot be read ({panic})"))));
    parsed.map_err(|XmlFault { byte, reason }| {
        let place = tarflume_formats::Place { path: Some(path.to_path_buf()), byte, key: None };
        Failure::bad_data(reason).in_place(place)
    })
}

/// Fields, and whether all of their values are whole numbers.
type Fields = BTreeMap<String, bool>;

/// Returns the fields of objects and of images that the samples of a data set have.
fn fields(recorded: &Recorded) -> (Fields, Fields) {
    let mut objects = Fields::new();
    let mut images = Fields::new();
    for (name, kind) in recorded.fields().filter(|(name, _)| !OWN.contains(name)) {
        match kind {
            ValueKind::List => objects.insert(name.into(), true),
            kind => images.insert(name.into(), kind == ValueKind::Int),
        };
    }
    (objects, images)
}

/// Checks that the fields of an image fit the types of the data set.
fn check_fits(
    path: &Path,
    fields: &[(String, String)],
    recorded: &Recorded,
) -> Result<(), Failure> {
    for (name, value) in fields {
        let here = match ValueKind::of_word(value) {
            ValueKind::Int => continue, // a whole number is a text, too
            _ => ValueKind::String,
        };
        if let Some(kind @ ValueKind::Int) = recorded.kind(name) {
            let why = misfits(&format!("'{}'", name::shown(name.as_bytes())), here, kind);
            return Err(Failure::bad_data(why).in_file(path));
        }
    }
    Ok(())
}

/// Notes fields, and which of them have other values than whole numbers.
fn see(known: &mut BTreeMap<String, bool>, fields: &[(String, String)]) {
    for (name, value) in fields {
        let whole = ValueKind::of_word(value) == ValueKind::Int;
        *known.entry(name.clone()).or_insert(true) &= whole;
    }
}

fn value(text: &str, is_whole: bool) -> Value {
    match text.parse::<i64>() {
        Ok(number) if is_whole => number.into(),
        _ => text.into(),
    }
}

/// Returns the value of a field; null if there is none with this name.
fn field(fields: &[(String, String)], name: &str, is_whole: bool) -> Value {
    let found = fields.iter().find(|(n, _)| n == name);
    found.map_or(Value::Null, |(_, text)| value(text, is_whole))
}

impl VocRows {
    fn write(&self, annotation: &Annotation, out: &mut Vec<u8>) {
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
        json.insert(
            "boxes".into(),
            objects.iter().map(|o| Value::from(o.corners.to_vec())).collect(),
        );
        json.insert(
            "class".into(),
            objects.iter().map(|o| Value::from(self.classes[&o.name])).collect(),
        );
        let names = objects.iter().map(|o| Value::from(o.name.clone()));
        json.insert("class_name".into(), names.collect());
        put_value(&json.into(), out);
    }

    fn columns(&self) -> Vec<Column> {
        let list = Inferred { kind: ValueKind::List, nullable: false };
        let own = OWN.map(str::to_string);
        let mut columns: Vec<Column> =
            self.objects.keys().chain(&own).map(|name| described(name, list)).collect();
        for (name, whole) in self.images.iter().filter(|(n, _)| !self.objects.contains_key(*n)) {
            let kind = if *whole { ValueKind::Int } else { ValueKind::String };
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
