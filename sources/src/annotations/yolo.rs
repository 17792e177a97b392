//! YOLO label files: one text file for each image, one line for each object.
//!
//! A line has the number of a class and a box (`cx cy w h`), a polygon (`x y x y ..`), or a box and
//! keypoints, all relative to the size of the image. An oriented box is a polygon of its four corners. An image without
//! file has no objects.

mod line;
mod names;

use std::path::Path;

use serde_json::Value;
use tarflume_base::Failure;
use tarflume_formats::message;
use tarflume_formats::message::Name;
use tarflume_formats::{About, BoxForm, ClassTable, Column, KeypointTable, ObjectTable};
use tarflume_scan::folders::walk::Watch;
use tarflume_scan::links::Links;
use tarflume_table::values::recorded::Recorded;
use tarflume_table::values::types::{Inferred, ValueKind, described};

use self::line::{Object, Points};
use self::names::Names;
use super::classes;
use super::files::{Annotations, text};
use crate::join::{JoinRow, JoinRows, Place};

/// The pointer of the class table.
const POINTER: &str = "/class";
/// The name of a file with the names of classes beside the label files.
const CLASSES: &[u8] = b"classes";

/// An opened folder.
#[derive(Debug)]
pub struct Opened {
    /// One row for each file.
    pub rows: YoloRows,
    /// The classes and columns.
    pub about: About,
    /// The JSON of an image without file.
    pub without: Vec<u8>,
    /// The time of the last change of any file.
    pub newest: i64,
}

/// The label files of a folder.
#[derive(Debug)]
pub struct YoloRows {
    files: Annotations,
    next: usize,
    names: Names,
    lists: Lists,
}

/// The lists that samples have.
#[derive(Debug, Clone, Copy, Default)]
struct Lists {
    polygons: bool,
    keypoints: bool,
}

/// Returns the names of classes in a data set's YAML file, in the order of their numbers.
///
/// # Errors
/// Returns an error for a file without names, and if the operating system refuses.
pub fn class_names(path: &Path) -> Result<Vec<String>, Failure> {
    Ok(Names::read(path)?.classes)
}

/// Opens the label files under a folder. `names` is a file with the names of classes; without it,
/// `classes.txt` in the folder is one, and then the classes of `before`, a data set that gets more
/// samples, whose classes and lists stay as they are.
///
/// # Errors
/// Returns an error for a malformed file, for classes with other ids than in the data set, and for a
/// failure of the machine.
pub fn open(
    root: &Path,
    names: Option<&Path>,
    before: &About,
    links: Links,
    watch: Watch<'_>,
) -> Result<Opened, Failure> {
    let mut files = Annotations::list(root, "txt", links, watch)?;
    let mut beside = false;
    files.retain(|source| {
        beside |= source == CLASSES;
        source != CLASSES
    });
    let beside = beside.then(|| root.join("classes.txt"));
    let recorded = Recorded::of(&before.columns);
    let lists = Lists {
        polygons: recorded.kind("segmentation").is_some(),
        keypoints: recorded.kind("keypoints").is_some(),
    };
    let table = classes::before(before, POINTER);
    let names = named(names.or(beside.as_deref()), table)?;
    if lists.keypoints && names.keypoints.is_none() {
        return Err(Failure::usage(
            message!("the samples of the data set have keypoints; give the file with kpt_shape again: {yolo_names}"; yolo_names = Name::YoloNames.stand("FILE")),
        ));
    }
    let mut rows = YoloRows { files, next: 0, names, lists };
    let mut most = table.filter(|table| is_numbered(table)).map(|t| t.names.len() as i64 - 1);
    for number in 0..rows.files.len() {
        if number % 1024 == 0 && watch.stop.requested() {
            return Err(Failure::interrupted());
        }
        for object in rows.objects(number)?.1 {
            most = most.max(Some(object.class));
            rows.lists.polygons |= matches!(object.points, Points::Polygon(_));
            rows.lists.keypoints |= matches!(object.points, Points::Keypoints(_));
        }
    }
    let mut without = Vec::new();
    rows.write(&[], &mut without);
    let about =
        About { classes: rows.classes(most), columns: rows.columns(), objects: Some(rows.table()) };
    let newest = rows.files.newest;
    Ok(Opened { rows, about, without, newest })
}

/// Reads the names of classes, which follow those of the data set; without a file they are the data
/// set's.
fn named(path: Option<&Path>, before: Option<&ClassTable>) -> Result<Names, Failure> {
    let Some(path) = path else {
        let named = before.filter(|table| !is_numbered(table));
        let classes = named.map_or_else(Vec::new, |table| table.names.clone());
        return Ok(Names { classes, keypoints: None });
    };
    let mut names = Names::read(path)?;
    let numbered: Vec<(i64, String)> = (0..).zip(names.classes).collect();
    let all =
        classes::joined(before, &numbered).map_err(|why| Failure::bad_data(why).in_file(path))?;
    names.classes = all.into_iter().map(|(_, name)| name).collect();
    Ok(names)
}

/// Returns true for the table of classes without names: each has its number.
fn is_numbered(table: &ClassTable) -> bool {
    table.names.iter().enumerate().all(|(id, name)| *name == id.to_string())
}

/// Parses each line of a text as an object and the whole as names, for fuzzing.
pub(crate) fn parse(text: &str) {
    let names = Names::of_yaml(text).unwrap_or_default();
    text.lines().for_each(|line| drop(Object::parse(line, &names)));
}

impl YoloRows {
    /// Returns the name of a file's image, and the objects.
    fn objects(&self, number: usize) -> Result<(Vec<u8>, Vec<Object>), Failure> {
        let (source, path) = self.files.file(number);
        let mut objects = Vec::new();
        for (at, line) in text(&path)?.lines().enumerate() {
            if line.trim().is_empty() {
                continue;
            }
            let object = Object::parse(line, &self.names).map_err(|why| {
                Failure::bad_data(format!("line {}: {why}", at + 1)).in_file(&path)
            })?;
            objects.push(object);
        }
        Ok((source, objects))
    }

    fn write(&self, objects: &[Object], out: &mut Vec<u8>) {
        let mut json = serde_json::Map::new();
        let boxes = objects.iter().map(|object| Value::from(object.rectangle.to_vec()));
        json.insert("boxes".into(), boxes.collect());
        json.insert("class".into(), objects.iter().map(|o| Value::from(o.class)).collect());
        if self.lists.polygons {
            json.insert("segmentation".into(), points(objects, Points::polygon));
        }
        if self.lists.keypoints {
            json.insert("keypoints".into(), points(objects, Points::keypoints));
        }
        tarflume_table::values::json::put_value(&json.into(), out);
    }

    /// Returns the class table; classes without names have their numbers.
    fn classes(&self, most: Option<i64>) -> Option<ClassTable> {
        let names = if self.names.classes.is_empty() {
            (0..=most?.min(i64::from(u16::MAX))).map(|id| id.to_string()).collect()
        } else {
            self.names.classes.clone()
        };
        Some(ClassTable { pointer: POINTER.into(), names, ..ClassTable::default() })
    }

    /// Returns what the numbers of objects mean.
    fn table(&self) -> ObjectTable {
        let keypoints: Option<KeypointTable> = self.names.keypoints.clone();
        ObjectTable::of(BoxForm::Centered, true, keypoints.filter(|_| self.lists.keypoints))
    }

    fn columns(&self) -> Vec<Column> {
        let mut columns = vec![list("boxes"), list("class")];
        if self.lists.keypoints {
            columns.push(list("keypoints"));
        }
        if self.lists.polygons {
            columns.push(list("segmentation"));
        }
        columns
    }
}

/// Returns the points of each object; null for one without points of the wanted kind.
fn points(objects: &[Object], wanted: fn(&Points) -> Option<&Vec<f64>>) -> Value {
    let of_objects = objects.iter().map(|object| match wanted(&object.points) {
        Some(points) => Value::from(points.clone()),
        None => Value::Null,
    });
    Value::Array(of_objects.collect())
}

/// Returns the column of a list.
fn list(name: &str) -> Column {
    described(name, Inferred { kind: ValueKind::List, nullable: false })
}

impl JoinRows for YoloRows {
    fn next(&mut self, row: &mut JoinRow) -> Result<bool, Failure> {
        if self.next == self.files.len() {
            return Ok(false);
        }
        let (name, objects) = self.objects(self.next)?;
        self.next += 1;
        row.place = Place { table: 0, row: self.next as u64, byte: None };
        row.name = name;
        row.json.clear();
        self.write(&objects, &mut row.json);
        Ok(true)
    }
}

#[cfg(test)]
mod tests;
