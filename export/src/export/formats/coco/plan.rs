//! `Plan`: which fields of the samples are lists of objects, and which ids are kept. One pass over the JSON.

use std::collections::{BTreeSet, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use tarflume_base::Failure;
use tarflume_formats::json::{Object, Value};
use tarflume_formats::message;
use tarflume_formats::message::{Message, Name};
use tarflume_formats::{ClassTable, ErrorKind, ObjectTable};

use crate::export::formats::coco::walk::each;
use crate::export::job::Job;

/// Lists of which each sample with objects has one: they tell the number of objects.
const LEADING: [&str; 8] = [
    "annotation_id",
    "segment_id",
    "category_id",
    "class",
    "boxes",
    "caption",
    "segmentation",
    "keypoints",
];
/// Lists of images in LVIS.
const OF_IMAGES: [&str; 2] = ["neg_category_ids", "not_exhaustive_category_ids"];

/// What is known before the first byte is written.
#[derive(Debug)]
pub(super) struct Plan<'a> {
    /// What the numbers mean.
    pub(super) table: ObjectTable,
    /// The classes of the data set.
    pub(super) classes: Option<&'a ClassTable>,
    /// Fields that have one element for each object in all samples.
    lists: BTreeSet<String>,
    /// Whether images and annotations have ids, each another one.
    pub(super) keeps_image_ids: bool,
    pub(super) keeps_annotation_ids: bool,
}

/// What one pass finds.
#[derive(Default)]
struct Found {
    lists: BTreeSet<String>,
    others: BTreeSet<String>,
    images: Ids,
    annotations: Ids,
}

/// Ids that were seen, as hashes.
struct Ids {
    seen: HashSet<u64>,
    are_whole: bool,
}

impl Default for Ids {
    fn default() -> Ids {
        Ids { seen: HashSet::new(), are_whole: true }
    }
}

impl Ids {
    fn add(&mut self, id: Option<&Value>) {
        let Some(id) = id.filter(|id| !id.is_null()) else {
            self.are_whole = false;
            return;
        };
        let mut hasher = DefaultHasher::new();
        id.to_string().hash(&mut hasher);
        self.are_whole &= self.seen.insert(hasher.finish());
    }
}

impl<'a> Plan<'a> {
    /// Reads all samples.
    ///
    /// # Errors
    /// Returns an error if no sample has objects, and for a JSON that cannot be read.
    pub(super) fn of(job: &Job<'a>) -> Result<Plan<'a>, Failure> {
        let mut found = Found::default();
        each(job, |_, row| {
            let taken = found.take(&row.object()?);
            taken.map_err(|text| row.error(ErrorKind::WrongFormat, text, row.sample.first).into())
        })?;
        let lists: BTreeSet<String> = found.lists.difference(&found.others).cloned().collect();
        let about = job.listing.manifest.as_ref().map(|manifest| &manifest.about);
        let stated = about.and_then(|about| about.objects.clone());
        let told = stated.or_else(|| ObjectTable::of_fields(&|name| lists.contains(name)));
        let Some(table) = told.filter(|_| !lists.is_empty()) else {
            return Err(Failure::usage(
                "no sample has objects: only what a build with annotations has joined can be written as a COCO file",
            ));
        };
        if table.form().is_none() {
            let form = &table.boxes;
            return Err(Failure::usage(format!(
                "this version does not know the form of boxes '{form}' of dataset.json"
            )));
        }
        Ok(Plan {
            table,
            classes: about.and_then(|about| about.classes.as_ref()),
            keeps_image_ids: found.images.are_whole,
            keeps_annotation_ids: found.annotations.are_whole && lists.contains("annotation_id"),
            lists,
        })
    }

    /// Returns true for a field that has one element for each object.
    pub(super) fn is_list(&self, name: &str) -> bool {
        self.lists.contains(name)
    }

    /// Returns the names of these fields.
    pub(super) fn lists(&self) -> impl Iterator<Item = &str> {
        self.lists.iter().map(String::as_str)
    }
}

impl Found {
    /// # Errors
    /// Returns a text if lists of objects differ in length: nothing tells whose their elements are.
    fn take(&mut self, json: &Object) -> Result<(), Message> {
        let lists = LEADING.iter().filter_map(|name| Some((*name, json.get(*name)?.as_array()?)));
        let mut lists = lists.map(|(name, list)| (name, list.len()));
        let first = lists.next();
        let count = first.map(|(_, count)| count);
        if let (Some((one, count)), Some((name, other))) =
            (first, lists.find(|(_, other)| Some(*other) != count))
        {
            return Err(message!(
                "'{one}' has {count} elements and '{name}' {other}; a verification with {objects} lists such samples";
                one = one, count = count.to_string(), name = name, other = other.to_string(), objects = Name::Objects.on()
            ));
        }
        self.images.add(json.get("id"));
        for (name, value) in json {
            let is_list = value.as_array().is_some_and(|list| Some(list.len()) == count);
            if is_list && !OF_IMAGES.contains(&name.as_str()) {
                if !self.lists.contains(name) {
                    self.lists.insert(name.clone());
                }
            } else if !self.others.contains(name) {
                self.others.insert(name.clone());
            }
        }
        let ids = json.get("annotation_id").and_then(Value::as_array);
        ids.into_iter().flatten().for_each(|id| self.annotations.add(Some(id)));
        Ok(())
    }
}
