//! `Collected`: pictures and objects in the order of the file -> one row for each picture, in bounded memory.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tarflume_base::{Failure, collide};
use tarflume_formats::json::{JsonRules, Number};
use tarflume_formats::message;
use tarflume_formats::message::Name;
use tarflume_formats::{About, ClassTable, Column, KeypointTable, ObjectTable, name, varint};
use tarflume_table::values::json::put_value;
use tarflume_table::values::recorded::Recorded;
use tarflume_table::values::types::{Inferred, ValueKind, described};

use super::form::{Form, POINTER};
use super::names::ClassNames;
use crate::join::{JoinRow, JoinRows, Place};
use crate::sorter::{Sorted, Sorter};

/// Limits on the classes, on the fields of pictures and objects, and on the bytes of one picture's objects.
const MAX_CLASSES: usize = 1 << 20;
const MAX_FIELDS: usize = 256;
const MAX_PICTURE: usize = 64 << 20;
const WRITTEN: &str = "`Collected` has written this record";

/// An opened file.
#[derive(Debug)]
pub struct Opened {
    /// One row for each picture.
    pub rows: ExportRows,
    /// The classes, columns and objects.
    pub about: About,
    /// The JSON of a picture that the file does not name; `None` if each picture must be named.
    pub without: Option<Vec<u8>>,
}

/// An object of a picture.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Object {
    /// The name of its class.
    pub(super) class: String,
    /// Four numbers in the form of the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) rectangle: Option<[f64; 4]>,
    /// The outline: polygons (x, y, x, y and so on), or a region of COCO.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) outline: Option<Value>,
    /// Keypoints: x, y, visibility.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) keypoints: Vec<f64>,
    /// The names of the keypoints, if they have some.
    #[serde(skip)]
    pub(super) point_names: Vec<String>,
    /// Its other fields.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) fields: Vec<(String, String)>,
}

/// Fields with the type that holds all of their values: whole numbers, numbers, or text.
type Fields = BTreeMap<String, ValueKind>;

/// What is read of a file.
#[derive(Debug)]
pub(super) struct Collected<'n> {
    path: PathBuf,
    names: Option<&'n ClassNames>,
    sorter: Sorter,
    classes: BTreeSet<String>,
    objects: Fields,
    pictures: Fields,
    lists: Lists,
}

/// The lists that some object has an element for.
#[derive(Debug, Clone, Default)]
struct Lists {
    boxes: bool,
    outlines: bool,
    keypoints: bool,
    /// Numbers of an object's keypoints; `None` if objects differ.
    points: Option<usize>,
    /// The names of the keypoints; none if objects differ.
    point_names: Vec<String>,
}

impl<'n> Collected<'n> {
    pub(super) fn new(path: &Path, names: Option<&'n ClassNames>) -> Collected<'n> {
        Collected {
            path: path.to_path_buf(),
            names,
            sorter: Sorter::new(),
            classes: BTreeSet::new(),
            objects: Fields::new(),
            pictures: Fields::new(),
            lists: Lists::default(),
        }
    }

    fn bad(&self, why: impl Into<message::Message>) -> Failure {
        Failure::bad_data(why).in_file(&self.path)
    }

    /// Adds a picture with its fields. `number` is its place in the file, from 1.
    ///
    /// # Errors
    /// Returns an error for too many fields, and for a failure of the machine.
    pub(super) fn picture(
        &mut self,
        name: &str,
        number: u64,
        fields: &[(String, String)],
    ) -> Result<(), Failure> {
        see(&mut self.pictures, fields);
        self.check_fields()?;
        self.push(false, name, number, &fields)
    }

    /// Adds an object of the picture `name`.
    ///
    /// # Errors
    /// Returns an error for a class that the given names lack, for too many classes or fields, and for a failure of the
    /// machine.
    pub(super) fn object(
        &mut self,
        name: &str,
        number: u64,
        mut object: Object,
    ) -> Result<(), Failure> {
        let sides = object.rectangle.iter().flatten();
        if sides.into_iter().any(|side| !side.is_finite()) {
            return Err(self.bad(format!("object {number}: its box is not finite")));
        }
        if let Some(names) = self.names {
            let Some(known) = names.name(&object.class) else {
                return Err(self.bad(message!(
                    "object {number}: {classes} has no '{}'", name::shown(object.class.as_bytes());
                    classes = Name::Classes, number = number.to_string()
                )));
            };
            object.class = known.to_string();
        }
        if !self.classes.contains(&object.class) {
            if self.classes.len() == MAX_CLASSES {
                return Err(self.bad("too many different classes"));
            }
            self.classes.insert(object.class.clone());
        }
        see(&mut self.objects, &object.fields);
        self.check_fields()?;
        let lists = &mut self.lists;
        lists.boxes |= object.rectangle.is_some();
        lists.outlines |= object.outline.is_some();
        if !object.keypoints.is_empty() {
            let count = object.keypoints.len();
            if !lists.keypoints {
                lists.point_names.clone_from(&object.point_names);
            } else if lists.point_names != object.point_names {
                lists.points = None;
                lists.point_names.clear();
            }
            lists.points = (!lists.keypoints || lists.points == Some(count)).then_some(count);
            lists.keypoints = true;
        }
        self.push(true, name, number, &object)
    }

    fn check_fields(&self) -> Result<(), Failure> {
        if self.objects.len().max(self.pictures.len()) > MAX_FIELDS {
            return Err(self.bad(format!("more than {MAX_FIELDS} different fields")));
        }
        Ok(())
    }

    fn push(
        &mut self,
        is_object: bool,
        name: &str,
        number: u64,
        value: &impl Serialize,
    ) -> Result<(), Failure> {
        let mut record = vec![u8::from(is_object)];
        varint::put(&mut record, number);
        varint::put_bytes(&mut record, name.as_bytes());
        serde_json::to_writer(&mut record, value).expect("texts and numbers serialize");
        self.sorter.push(collide::exact_hash(name.as_bytes()), &record)
    }

    /// Ends the file: returns its rows, and the description of their JSON. Classes of `fixed` keep their numbers; fields
    /// of `before` stay lists.
    ///
    /// # Errors
    /// Returns an error for a file without pictures, and for a failure of the machine.
    pub(super) fn finish(
        mut self,
        form: Form,
        fixed: Option<&ClassTable>,
        before: &About,
    ) -> Result<Opened, Failure> {
        let recorded = Recorded::of(&before.columns);
        self.lists.boxes |= is_list(&recorded, "boxes");
        self.lists.outlines |= is_list(&recorded, "segmentation");
        self.lists.keypoints |= is_list(&recorded, "keypoints");
        let own = ["boxes", "class", "class_name", "keypoints", "segmentation"];
        for (field, kind) in recorded.fields().filter(|(field, _)| !own.contains(field)) {
            match kind {
                ValueKind::List => self.objects.entry(field.into()).or_insert(ValueKind::Int),
                kind => self.pictures.entry(field.into()).or_insert(kind),
            };
        }
        self.pictures
            .retain(|field, _| !self.objects.contains_key(field) && !own.contains(&&**field));
        self.objects.retain(|field, _| !own.contains(&&**field));
        let table = crate::annotations::classes::grown(fixed, self.classes, POINTER);
        let numbers = table.names.iter().enumerate();
        let rows = ExportRows {
            path: self.path,
            sorted: self.sorter.finish()?,
            numbers: numbers.map(|(at, name)| (name.clone(), table.id(at))).collect(),
            objects: self.objects,
            pictures: self.pictures,
            lists: self.lists,
            group: Vec::new(),
        };
        let mut without = Vec::new();
        rows.write(&[], &mut without);
        let objects = ObjectTable::of(form.boxes, form.is_relative, rows.keypoints());
        let about = About { classes: Some(table), columns: rows.columns(), objects: Some(objects) };
        Ok(Opened { rows, about, without: form.omits_empty.then_some(without) })
    }
}

/// Returns true for a field that samples of a data set have as a list.
fn is_list(recorded: &Recorded, name: &str) -> bool {
    recorded.kind(name) == Some(ValueKind::List)
}

/// Notes fields and the types of their values.
fn see(known: &mut Fields, fields: &[(String, String)]) {
    for (name, text) in fields {
        let kind = match number(text) {
            Some(number) if number.is_i64() => ValueKind::Int,
            Some(_) => ValueKind::Float,
            None => ValueKind::String,
        };
        let joint = known.entry(name.clone()).or_insert(kind);
        *joint = match (*joint, kind) {
            (ValueKind::String, _) | (_, ValueKind::String) => ValueKind::String,
            (ValueKind::Float, _) | (_, ValueKind::Float) => ValueKind::Float,
            _ => ValueKind::Int,
        };
    }
}

/// Returns the number that a text is, as JSON writes it and with all its digits.
fn number(text: &str) -> Option<Value> {
    serde_json::from_str::<serde_json::Number>(text).ok()?;
    match text.parse::<i64>() {
        Ok(whole) => Some(whole.into()),
        Err(_) => Number::lenient(text, JsonRules::Strict)?.real().map(Value::from),
    }
}

/// The pictures of a file, in the order of the hashes of their names.
#[derive(Debug)]
pub struct ExportRows {
    path: PathBuf,
    sorted: Sorted,
    numbers: BTreeMap<String, i64>,
    objects: Fields,
    pictures: Fields,
    lists: Lists,
    /// The records with the current hash that no row has had.
    group: Vec<Vec<u8>>,
}

/// A record of the sort.
struct Record<'a> {
    is_object: bool,
    number: u64,
    name: &'a [u8],
    json: &'a [u8],
}

impl Record<'_> {
    fn parse(bytes: &[u8]) -> Record<'_> {
        let mut at = 1;
        let number = varint::take(bytes, &mut at).expect(WRITTEN);
        let name = varint::take_bytes(bytes, &mut at).expect(WRITTEN);
        Record { is_object: bytes[0] == 1, number, name, json: &bytes[at..] }
    }
}

impl ExportRows {
    /// Reads the records with the next hash; returns false at the end.
    fn next_group(&mut self) -> Result<bool, Failure> {
        let Some(hash) = self.sorted.peek()? else { return Ok(false) };
        let mut bytes = 0;
        while self.sorted.peek()? == Some(hash) {
            let Some((_, record)) = self.sorted.next()? else { break };
            bytes += record.len();
            if bytes > MAX_PICTURE {
                let shown = name::shown(Record::parse(record).name);
                let why =
                    format!("the objects of '{shown}' take more than {} MiB", MAX_PICTURE >> 20);
                return Err(Failure::bad_data(why).in_file(&self.path));
            }
            self.group.push(record.to_vec());
        }
        Ok(true)
    }

    /// Removes the records of the group's first name.
    fn next_picture(&mut self) -> Vec<Vec<u8>> {
        let name = Record::parse(&self.group[0]).name.to_vec();
        let (picture, rest) = std::mem::take(&mut self.group)
            .into_iter()
            .partition(|record| Record::parse(record).name == name);
        self.group = rest;
        picture
    }

    fn write(&self, records: &[Vec<u8>], out: &mut Vec<u8>) {
        let mut objects: Vec<Object> = Vec::new();
        let mut fields: Vec<(String, String)> = Vec::new();
        for record in records.iter().map(|record| Record::parse(record)) {
            if record.is_object {
                objects.push(serde_json::from_slice(record.json).expect(WRITTEN));
            } else {
                let more: Vec<(String, String)> =
                    serde_json::from_slice(record.json).expect(WRITTEN);
                fields.extend(more);
            }
        }
        let mut json = Map::new();
        for (name, kind) in &self.pictures {
            let value = field(&fields, name, *kind);
            let is_wide = *kind == ValueKind::Float;
            let wide = value.as_f64().filter(|_| is_wide).map(Value::from);
            json.insert(name.clone(), wide.unwrap_or(value));
        }
        for (name, kind) in &self.objects {
            let values = objects.iter().map(|object| field(&object.fields, name, *kind));
            json.insert(name.clone(), values.collect());
        }
        let numbers = objects.iter().map(|object| Value::from(self.numbers[&object.class]));
        json.insert("class".into(), numbers.collect());
        let names = objects.iter().map(|object| Value::from(object.class.clone()));
        json.insert("class_name".into(), names.collect());
        if self.lists.boxes {
            let boxes =
                objects.iter().map(|o| o.rectangle.map_or(Value::Null, |r| r.to_vec().into()));
            json.insert("boxes".into(), boxes.collect());
        }
        if self.lists.keypoints {
            let points = objects.iter().map(|object| {
                if object.keypoints.is_empty() {
                    Value::Null
                } else {
                    object.keypoints.clone().into()
                }
            });
            json.insert("keypoints".into(), points.collect());
        }
        if self.lists.outlines {
            let outlines =
                objects.iter_mut().map(|object| object.outline.take().unwrap_or_default());
            json.insert("segmentation".into(), outlines.collect());
        }
        put_value(&json.into(), out);
    }

    fn keypoints(&self) -> Option<KeypointTable> {
        let points = self.lists.points.filter(|_| self.lists.keypoints)?;
        let names = self.lists.point_names.clone();
        let points = points as u32 / 3;
        let table = KeypointTable { points, values: 3, names, ..KeypointTable::default() };
        // Names that repeat give no pairs.
        Some(table.with_flip_of_names()).filter(|table| table.fault().is_none())
    }

    fn columns(&self) -> Vec<Column> {
        let list = Inferred { kind: ValueKind::List, nullable: false };
        let own = [
            ("boxes", self.lists.boxes),
            ("class", true),
            ("class_name", true),
            ("keypoints", self.lists.keypoints),
            ("segmentation", self.lists.outlines),
        ];
        let own = own.into_iter().filter(|(_, is_there)| *is_there).map(|(name, _)| name);
        let lists = self.objects.keys().map(String::as_str).chain(own);
        let mut columns: Vec<Column> = lists.map(|name| described(name, list)).collect();
        for (name, kind) in &self.pictures {
            columns.push(described(name, Inferred { kind: *kind, nullable: true }));
        }
        columns.sort_by(|a, b| a.name.cmp(&b.name));
        columns
    }
}

/// Returns the value of a field; null if there is none with this name.
fn field(fields: &[(String, String)], name: &str, kind: ValueKind) -> Value {
    let Some((_, text)) = fields.iter().find(|(known, _)| known == name) else {
        return Value::Null;
    };
    let number = number(text).filter(|_| kind != ValueKind::String);
    number.unwrap_or_else(|| text.as_str().into())
}

impl ExportRows {
    /// Refuses two pictures with one name: nothing tells whose an object is.
    fn check_one(&self, records: &[Vec<u8>]) -> Result<(), Failure> {
        let records = records.iter().map(|record| Record::parse(record));
        let mut pictures = records.filter(|record| !record.is_object);
        let Some(one) = pictures.next() else { return Ok(()) };
        let Some(two) = pictures.next() else { return Ok(()) };
        let why = format!(
            "pictures {} and {} have the name '{}'",
            one.number,
            two.number,
            name::shown(one.name)
        );
        Err(Failure::bad_data(why).in_file(&self.path))
    }
}

impl JoinRows for ExportRows {
    fn next(&mut self, row: &mut JoinRow) -> Result<bool, Failure> {
        if self.group.is_empty() && !self.next_group()? {
            return Ok(false);
        }
        let picture = self.next_picture();
        self.check_one(&picture)?;
        let first = Record::parse(&picture[0]);
        row.place = Place { table: 0, row: first.number, byte: None };
        row.name.clear();
        row.name.extend_from_slice(first.name);
        row.json.clear();
        self.write(&picture, &mut row.json);
        Ok(true)
    }
}
