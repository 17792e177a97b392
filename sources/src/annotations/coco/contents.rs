//! What a COCO file declares: categories, and the fields of images and annotations.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Map, Value};
use tarflume_base::Failure;
use tarflume_formats::message::Message;
use tarflume_formats::{BoxForm, Column, ObjectTable, name};
use tarflume_table::values::recorded::{Recorded, misfits};
use tarflume_table::values::types::{Inferred, ValueKind, described};

use super::categories::Categories;
use crate::sorter::Sorter;

/// The lists that samples of a data set can have which a file without such fields gets, too: their
/// names, and the fields of annotations.
const USUAL: [(&str, &str); 10] = [
    ("annotation_id", "id"),
    ("area", "area"),
    ("boxes", "bbox"),
    ("caption", "caption"),
    ("category_id", "category_id"),
    ("iscrowd", "iscrowd"),
    ("keypoints", "keypoints"),
    ("num_keypoints", "num_keypoints"),
    ("segment_id", "segment_id"),
    ("segmentation", "segmentation"),
];
/// Limit on the different fields of images or annotations.
const MAX_FIELDS: usize = 1000;

/// The contents of a file, but for the images and annotations themselves.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    pub(super) path: PathBuf,
    /// Images and annotations by the hash of the image's id.
    pub(super) sorter: Option<Sorter>,
    pub(super) images: u64,
    pub(super) annotations: u64,
    pub(super) categories: Categories,
    pub(super) image_fields: Fields,
    pub(super) annotation_fields: Fields,
    /// The types of the data set that gets more samples.
    pub(super) recorded: Recorded,
}

/// Fields with the type of their values and the number of objects that have one.
pub(super) type Fields = BTreeMap<String, (Option<ValueKind>, u64)>;

/// A list of a sample's JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct List {
    /// The field of annotations.
    pub(super) field: String,
    /// The name of the list.
    pub(super) name: String,
}

impl Gathered {
    pub(super) fn bad(&self, why: impl Into<Message>) -> Failure {
        Failure::bad_data(why).in_file(&self.path)
    }

    /// Returns the lists of the samples' JSON: those of the file, and usual ones of the data set. A field
    /// that images have, too, gets a prefix.
    pub(super) fn lists(&self) -> Vec<List> {
        let fields = self.annotation_fields.keys().filter(|field| *field != "image_id");
        let mut lists: Vec<List> = fields.map(|field| self.list(field)).collect();
        for (name, field) in USUAL {
            let is_missing = !self.annotation_fields.contains_key(field);
            if is_missing && self.is_recorded_list(name) && !self.image_fields.contains_key(name) {
                lists.push(List { field: field.into(), name: name.into() });
            }
        }
        lists
    }

    /// Returns the list of a field of annotations.
    fn list(&self, field: &str) -> List {
        let long = format!("annotation_{field}");
        let name = match field {
            "bbox" => "boxes".to_string(),
            _ if self.image_fields.contains_key(field) || self.is_recorded_list(&long) => long,
            _ => field.to_string(),
        };
        List { field: field.to_string(), name }
    }

    fn is_recorded_list(&self, name: &str) -> bool {
        self.recorded.kind(name) == Some(ValueKind::List)
    }

    /// Returns the fields of images that are recorded as numbers, and have whole numbers only here.
    pub(super) fn widened(&self) -> Vec<String> {
        let recorded = self.recorded.fields().filter(|(name, kind)| {
            *kind == ValueKind::Float
                && self.image_fields.get(*name).is_some_and(|f| f.0 == Some(ValueKind::Int))
        });
        recorded.map(|(name, _)| name.to_string()).collect()
    }

    /// Checks that the fields of an image fit the types of the data set.
    ///
    /// # Errors
    /// Returns an error that names the image and the field.
    pub(super) fn check_fits(
        &self,
        number: u64,
        image: &Map<String, Value>,
    ) -> Result<(), Failure> {
        for (name, value) in image {
            let Some(recorded) = self.recorded.kind(name) else { continue };
            let Some(here) = ValueKind::of_value(value) else { continue };
            if !recorded.holds(here) {
                let name = name::shown(name.as_bytes());
                let why = misfits(&format!("'{name}'"), here, recorded);
                return Err(self.bad(format!("image {number}: {why}")));
            }
        }
        Ok(())
    }

    fn has(&self, field: &str) -> bool {
        self.annotation_fields.contains_key(field)
    }

    /// Returns what the numbers of objects mean; `None` if they have no box and no keypoints.
    pub(super) fn objects(&self) -> Option<ObjectTable> {
        let keypoints = self.categories.keypoints().filter(|_| self.has("keypoints"));
        ["bbox", "keypoints", "segmentation"]
            .into_iter()
            .any(|field| self.has(field))
            .then(|| ObjectTable::of(BoxForm::Sized, false, keypoints))
    }

    pub(super) fn columns(&self, lists: &[List]) -> Vec<Column> {
        let list = Inferred { kind: ValueKind::List, nullable: false };
        let mut columns: Vec<Column> = lists.iter().map(|l| described(&l.name, list)).collect();
        if self.has_categories() {
            columns.push(described("category_index", list));
        }
        for (name, (kind, found)) in &self.image_fields {
            let kind = self.recorded.kind(name).or(*kind).unwrap_or(ValueKind::String);
            columns.push(described(name, Inferred { kind, nullable: *found < self.images }));
        }
        columns.sort_by(|a, b| a.name.cmp(&b.name));
        columns
    }

    pub(super) fn has_categories(&self) -> bool {
        self.annotation_fields.contains_key("category_id")
            || self.recorded.kind("category_index").is_some()
    }
}

/// Returns the type of a field with values of two types of numbers.
fn joint(known: ValueKind, kind: ValueKind) -> ValueKind {
    match (known, kind) {
        (ValueKind::Float, _) | (_, ValueKind::Float) => ValueKind::Float,
        _ => ValueKind::UInt,
    }
}

/// Counts the fields of an object. The values of an annotation become elements of lists.
///
/// # Errors
/// Returns the reason if there are too many fields, or values of one field have types that exclude
/// each other.
pub(super) fn count(
    fields: &mut Fields,
    object: &Map<String, Value>,
    in_lists: bool,
) -> Result<(), String> {
    for (name, value) in object {
        if !fields.contains_key(name) {
            if fields.len() == MAX_FIELDS {
                return Err(format!("more than {MAX_FIELDS} different fields"));
            }
            fields.insert(name.clone(), (None, 0));
        }
        let Some((known, found)) = fields.get_mut(name) else { continue };
        let Some(kind) = ValueKind::of_value(value) else { continue };
        *found += 1;
        *known = Some(match *known {
            None => kind,
            Some(known) if known == kind => kind,
            Some(known) if known.is_number() && kind.is_number() => joint(known, kind),
            // Values of annotations are elements of lists: a mask is a polygon or a run-length code.
            Some(known) if in_lists => known,
            Some(known) => {
                return Err(format!(
                    "'{name}' is {} here and {} before",
                    kind.word(),
                    known.word()
                ));
            }
        });
    }
    Ok(())
}
