//! `ObjectTally`: the objects of samples: how many a picture has, their areas and their classes.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::Serialize;
use tarflume_formats::json::Value;
use tarflume_formats::{About, ClassTable, ObjectTable};

use super::class_count::{ClassCount, MAX_CLASSES, OTHERS};
use super::class_source;
use super::histogram::{Bucket, Distribution, Histogram};

/// The part with the objects.
pub(super) const EXT: &str = "json";
/// Sides of the squares below whose areas objects are small and medium, as COCO's evaluation has them.
const SMALL: f64 = 32.0;
const MEDIUM: f64 = 96.0;
/// Lists with a class for each object, in the order in which they are tried.
const LABELS: [&str; 3] = ["class_name", "category_id", "class"];
/// Bars of a chart.
const BARS: usize = 32;

/// The objects of the samples that were read.
#[derive(Debug, Clone, Serialize)]
pub struct ObjectStats {
    /// All objects.
    pub objects: u64,
    /// Objects of a picture.
    pub per_picture: Distribution,
    /// Bars of them.
    pub bars: Vec<Bucket>,
    /// Areas in square pixels: `area` of the JSON, or that of the box.
    pub areas: Option<Distribution>,
    /// Objects with less than 32 x 32 pixels, as COCO counts them.
    pub small: u64,
    /// Objects with 32 x 32 to less than 96 x 96 pixels.
    pub medium: u64,
    /// Larger ones.
    pub large: u64,
    /// Classes with the number of objects, the most frequent ones first.
    pub classes: Vec<ClassCount>,
}

/// Counts of objects.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ObjectTally {
    per_picture: Histogram,
    areas: Histogram,
    small: u64,
    medium: u64,
    large: u64,
    classes: BTreeMap<String, u64>,
}

/// What tells the meaning of a sample's objects.
#[derive(Debug, Clone, Copy)]
pub(super) struct ObjectPlace<'a> {
    table: Option<&'a ObjectTable>,
    classes: Option<&'a ClassTable>,
}

impl<'a> ObjectPlace<'a> {
    /// Returns where the objects of a data set are; `None` if its samples have no lists of objects.
    pub(super) fn of(about: &'a About) -> Option<ObjectPlace<'a>> {
        let has_objects = about.objects.is_some() || about.columns.iter().any(is_boxes);
        has_objects.then_some(ObjectPlace {
            table: about.objects.as_ref(),
            classes: about.classes.as_ref(),
        })
    }
}

/// Returns true for the list of boxes.
fn is_boxes(column: &tarflume_formats::Column) -> bool {
    column.name == "/boxes" && column.kind == "list"
}

fn list<'v>(json: &'v Value, name: &str) -> Option<&'v [Value]> {
    match json {
        Value::Object(members) => members.get(name)?.as_array(),
        _ => None,
    }
}

fn number(value: &Value) -> Option<f64> {
    Some(value.as_number()?.nearest())
}

impl ObjectTally {
    /// Counts the objects of a sample, whose picture has this width and height.
    pub(super) fn add(&mut self, json: &Value, size: Option<(u32, u32)>, place: ObjectPlace<'_>) {
        let labels = LABELS.iter().find_map(|name| list(json, name));
        let boxes = list(json, "boxes");
        let Some(objects) = labels.or(boxes) else { return };
        self.per_picture.add(objects.len() as u64);
        let areas = list(json, "area");
        let guessed = ObjectTable::of_fields(&|name| list(json, name).is_some());
        let table = place.table.or(guessed.as_ref());
        for n in 0..objects.len() {
            let stated = areas.and_then(|areas| number(areas.get(n)?));
            let area = stated.or_else(|| box_area(boxes?.get(n)?, table?, size));
            if let Some(area) = area.filter(|area| *area >= 0.0) {
                self.add_area(area);
            }
        }
        for label in labels.unwrap_or_default() {
            let mut names = Vec::new();
            class_source::names(label, place.classes, &mut names);
            names.into_iter().for_each(|name| self.add_class(name, 1));
        }
    }

    fn add_area(&mut self, area: f64) {
        self.areas.add(area.round() as u64);
        if area < SMALL * SMALL {
            self.small += 1;
        } else if area < MEDIUM * MEDIUM {
            self.medium += 1;
        } else {
            self.large += 1;
        }
    }

    fn add_class(&mut self, name: String, count: u64) {
        let is_kept = self.classes.contains_key(&name) || self.classes.len() < MAX_CLASSES;
        *self.classes.entry(if is_kept { name } else { OTHERS.into() }).or_default() += count;
    }

    /// Adds the counts of other samples.
    pub(super) fn merge(&mut self, other: ObjectTally) {
        self.per_picture.merge(&other.per_picture);
        self.areas.merge(&other.areas);
        self.small += other.small;
        self.medium += other.medium;
        self.large += other.large;
        other.classes.into_iter().for_each(|(name, count)| self.add_class(name, count));
    }

    /// Returns the counts; `None` if no sample has a list of objects.
    pub(super) fn stats(self) -> Option<ObjectStats> {
        let mut classes: Vec<ClassCount> =
            self.classes.into_iter().map(|(name, count)| ClassCount { name, count }).collect();
        classes
            .sort_by_key(|class| (class.name == OTHERS, Reverse(class.count), class.name.clone()));
        Some(ObjectStats {
            objects: self.per_picture.sum(),
            per_picture: self.per_picture.distribution()?,
            bars: self.per_picture.bars(BARS),
            areas: self.areas.distribution(),
            small: self.small,
            medium: self.medium,
            large: self.large,
            classes,
        })
    }
}

/// Returns the area of a box in square pixels; `None` if it is none, or relative to a picture of unknown size.
fn box_area(value: &Value, table: &ObjectTable, size: Option<(u32, u32)>) -> Option<f64> {
    let numbers: Option<Vec<f64>> = value.as_array()?.iter().map(number).collect();
    let numbers: [f64; 4] = numbers?.try_into().ok()?;
    let [across, down] = table.form()?.sides(numbers);
    let unit = if table.relative { size.map(|(w, h)| f64::from(w) * f64::from(h))? } else { 1.0 };
    (across >= 0.0 && down >= 0.0).then_some(across * down * unit)
}

#[cfg(test)]
mod tests {
    use tarflume_formats::BoxForm;
    use tarflume_formats::json::{JsonRules, parse};

    use super::*;

    fn tally(texts: &[&str], table: &ObjectTable) -> ObjectTally {
        let names = vec!["cat".to_string(), "dog".to_string()];
        let classes = ClassTable { names, ids: vec![3, 17], ..ClassTable::default() };
        let place = ObjectPlace { table: Some(table), classes: Some(&classes) };
        let mut tally = ObjectTally::default();
        for text in texts {
            let json = parse(text.as_bytes(), JsonRules::Strict).unwrap();
            tally.add(&json, Some((200, 100)), place);
        }
        tally
    }

    #[test]
    fn objects_are_counted_by_picture_area_and_class() {
        let texts = [
            r#"{"boxes":[[0,0,32,32],[0,0,96,96],[0,0,9,9]],"area":[1023.9,9216,null],"category_id":[3,17,3]}"#,
            r#"{"boxes":[],"category_id":[],"area":[]}"#,
            r#"{"boxes":[[0,0,32,32]],"category_id":[18]}"#,
            r#"{"caption":"none"}"#,
        ];
        let table = ObjectTable::of(BoxForm::Sized, false, None);
        let whole = tally(&texts, &table);
        let mut halves = tally(&texts[2..], &table);
        halves.merge(tally(&texts[..2], &table));
        assert_eq!(halves, whole);
        let stats = whole.stats().unwrap();
        assert_eq!((stats.objects, stats.per_picture.count, stats.per_picture.max), (4, 3, 3));
        assert_eq!((stats.small, stats.medium, stats.large), (2, 1, 1));
        let classes: Vec<_> = stats.classes.iter().map(|c| (c.name.as_str(), c.count)).collect();
        assert_eq!(classes, [("cat", 2), ("18", 1), ("dog", 1)]);
    }

    #[test]
    fn relative_boxes_have_the_area_of_their_pixels() {
        let table = ObjectTable::of(BoxForm::Centered, true, None);
        let found =
            tally(&[r#"{"boxes":[[0.5,0.5,0.5,0.5],[0.5,0.5,0.1,0.1]],"class":[3,17]}"#], &table);
        let stats = found.stats().unwrap();
        assert_eq!((stats.small, stats.medium, stats.areas.unwrap().max), (1, 1, 5000));
        assert!(ObjectTally::default().stats().is_none());
        assert!(ObjectPlace::of(&About::default()).is_none());
    }
}
