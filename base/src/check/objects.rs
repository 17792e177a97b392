//! Checks the objects of a sample: boxes, classes, outlines, keypoints and masks, as a build with annotations writes them.
//!
//! A sample has at most one fault of each kind: that of the first object, with the number of the others.

mod outline;
mod read;

use tarflume_formats::json::Value;
use tarflume_formats::{ClassTable, ObjectTable};

pub use self::outline::run_lengths;
use self::read::{Fault, list, member, number, numbers};
use super::ImageSize;
use crate::problem::ProblemKind;
use crate::units;

/// Pixels by which a box may reach beyond its picture: numbers of boxes are rounded.
const TOLERANCE: f64 = 0.5;
/// The same for relative boxes of a picture whose size is not known.
const RELATIVE_TOLERANCE: f64 = 1e-3;
/// Lists that have one element for each object.
const LISTS: [&str; 13] = [
    "annotation_id",
    "area",
    "boxes",
    "caption",
    "category_id",
    "category_index",
    "class",
    "class_name",
    "iscrowd",
    "keypoints",
    "num_keypoints",
    "segment_id",
    "segmentation",
];

/// What is known of a sample beside its JSON.
#[derive(Debug, Clone, Copy)]
pub struct ObjectFacts<'a> {
    /// What the numbers mean; `None` if nothing states it.
    pub table: Option<&'a ObjectTable>,
    /// The classes of the data set.
    pub classes: Option<&'a ClassTable>,
    /// Width and height of the picture, if its header can be read.
    pub size: Option<ImageSize>,
    /// Extensions and sizes of masks.
    pub masks: &'a [(String, ImageSize)],
}

/// A fault of a sample's objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectFault {
    /// The kind.
    pub kind: ProblemKind,
    /// The object, the fault, and how many other objects have it.
    pub reason: String,
}

/// The result of a check.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct CheckedObjects {
    /// Objects that the JSON has.
    pub objects: u64,
    /// What is wrong with them.
    pub faults: Vec<ObjectFault>,
}

/// Returns true for the extension of a mask: a picture with `mask`, `seg`, `label`, `panoptic` or the like as a word of it.
pub fn is_mask(ext: &[u8]) -> bool {
    const WORDS: [&[u8]; 7] =
        [b"mask", b"masks", b"seg", b"segmentation", b"label", b"labels", b"panoptic"];
    let mut words = ext.split(|&byte| byte == b'.' || byte == b'_');
    words.any(|word| WORDS.iter().any(|mask| word.eq_ignore_ascii_case(mask)))
}

/// Checks the objects in a sample's JSON.
pub fn check(json: &Value, facts: ObjectFacts<'_>) -> CheckedObjects {
    let mut found = Found::default();
    let stated = stated_size(json);
    if let Some((stated, size)) = stated.zip(facts.size).filter(|(stated, size)| stated != size) {
        let reason = format!("the picture is {size}, and 'width' and 'height' are {stated}");
        found.once(ProblemKind::SizeMismatch, reason);
    }
    let size = facts.size.or(stated);
    for (ext, mask) in facts.masks {
        if let Some(size) = size.filter(|size| size != mask) {
            found.once(
                ProblemKind::SizeMismatch,
                format!("the picture is {size}, its {ext} is {mask}"),
            );
        }
    }
    let lists: Vec<(&str, &[Value])> =
        LISTS.iter().filter_map(|&name| Some((name, list(json, name)?))).collect();
    let Some((_, first)) = lists.first() else { return found.of(0) };
    let objects = first.len();
    if let Some((name, other)) = lists.iter().find(|(_, list)| list.len() != objects) {
        let reason =
            format!("'{}' has {objects} elements and '{name}' {}", lists[0].0, other.len());
        found.once(ProblemKind::UnequalLists, reason);
    }
    let guessed = ObjectTable::of_fields(&|name| list(json, name).is_some());
    let table = facts.table.or(guessed.as_ref());
    for (name, list) in lists {
        // An object without a box, an outline or keypoints has null there.
        for (number, value) in list.iter().enumerate().filter(|(_, value)| !value.is_null()) {
            let fault = match name {
                "boxes" => table.and_then(|table| box_fault(value, table, size)),
                "category_id" | "class" => {
                    facts.classes.and_then(|classes| class_fault(value, name, classes))
                }
                "category_index" => facts.classes.and_then(|classes| index_fault(value, classes)),
                "segmentation" => outline::fault(value, size),
                "keypoints" => points_fault(value, table, counted(json, number)),
                _ => None,
            };
            if let Some((kind, reason)) = fault {
                found.add(kind, number, reason);
            }
        }
    }
    found.of(objects as u64)
}

/// Faults, and how many more objects have one of each kind.
#[derive(Default)]
struct Found(Vec<(ObjectFault, u64)>);

impl Found {
    fn once(&mut self, kind: ProblemKind, reason: String) {
        if !self.0.iter().any(|(known, _)| known.kind == kind) {
            self.0.push((ObjectFault { kind, reason }, 0));
        }
    }

    fn add(&mut self, kind: ProblemKind, number: usize, reason: String) {
        match self.0.iter_mut().find(|(known, _)| known.kind == kind) {
            Some((_, more)) => *more += 1,
            None => self.once(kind, format!("object {number}: {reason}")),
        }
    }

    fn of(self, objects: u64) -> CheckedObjects {
        let faults = self.0.into_iter().map(|(mut fault, more)| {
            if more > 0 {
                let more = units::counted(more, "other object", "other objects");
                fault.reason += &format!(" ({more} of the sample, too)");
            }
            fault
        });
        CheckedObjects { objects, faults: faults.collect() }
    }
}

/// Returns width and height as the JSON states them, as COCO's and VOC's do.
fn stated_size(json: &Value) -> Option<ImageSize> {
    let [width, height] = ["width", "height"].map(|name| {
        let side = number(member(json, name)?)?;
        (side >= 1.0 && side <= f64::from(u32::MAX) && side.fract() == 0.0).then_some(side as u32)
    });
    Some(ImageSize::new(width?, height?))
}

fn box_fault(value: &Value, table: &ObjectTable, size: Option<ImageSize>) -> Fault {
    let form = table.form()?;
    let numbers: Option<[f64; 4]> = numbers(value).and_then(|numbers| numbers.try_into().ok());
    let Some(area) = numbers.filter(|numbers| numbers.iter().all(|number| number.is_finite()))
    else {
        return Some((ProblemKind::BadBox, "its box is not four numbers".into()));
    };
    let [width, height] = form.sides(area);
    if width <= 0.0 || height <= 0.0 {
        let reason = format!("its box is {} wide and {} high", shown(width), shown(height));
        return Some((ProblemKind::BadBox, reason));
    }
    outside(form.corners(area), table.relative, size).map(|reason| {
        (ProblemKind::BoxOutside, format!("its box {} ({}) {reason}", shown_all(area), form.word()))
    })
}

/// Returns where a box with these corners reaches beyond its picture.
fn outside(corners: [f64; 4], is_relative: bool, size: Option<ImageSize>) -> Option<String> {
    let sides = size.map(|size| [size.width, size.height].map(|side| f64::from(side.max(1))));
    let limits = if is_relative { [1.0; 2] } else { sides? };
    let tolerances = if is_relative {
        sides.map_or([RELATIVE_TOLERANCE; 2], |sides| sides.map(|side| TOLERANCE / side))
    } else {
        [TOLERANCE; 2]
    };
    let [left, top, right, bottom] = corners;
    let is_beyond = left < -tolerances[0]
        || top < -tolerances[1]
        || right > limits[0] + tolerances[0]
        || bottom > limits[1] + tolerances[1];
    is_beyond.then(|| match size.filter(|_| !is_relative) {
        Some(size) => format!("reaches beyond the picture, which is {size}"),
        None => "reaches beyond the picture".into(),
    })
}

fn class_fault(value: &Value, name: &str, classes: &ClassTable) -> Fault {
    let is_table = classes.pointer.strip_prefix('/') == Some(name);
    if !is_table {
        return None;
    }
    let id = value.as_number().and_then(|number| number.text().parse::<i64>().ok());
    let is_known = id.is_some_and(|id| classes.name(id).is_some());
    (!is_known).then(|| {
        (
            ProblemKind::WrongClass,
            format!("its class {} is not listed in dataset.json", value.approximate()),
        )
    })
}

fn index_fault(value: &Value, classes: &ClassTable) -> Fault {
    let index = value.as_number().and_then(|number| number.text().parse::<usize>().ok());
    let is_known = index.is_some_and(|index| index < classes.names.len());
    (!is_known).then(|| {
        let count = units::counted(classes.names.len() as u64, "class", "classes");
        (
            ProblemKind::WrongClass,
            format!("its category_index is {}, and there are {count}", value.approximate()),
        )
    })
}

/// Returns the number of keypoints that an object states to have.
fn counted(json: &Value, object: usize) -> Option<u64> {
    let stated = list(json, "num_keypoints")?.get(object)?;
    stated.as_number()?.text().parse().ok()
}

fn bad_points(reason: String) -> Fault {
    Some((ProblemKind::BadKeypoints, reason))
}

fn points_fault(value: &Value, table: Option<&ObjectTable>, stated: Option<u64>) -> Fault {
    let Some(found) = numbers(value).filter(|found| found.iter().all(|number| number.is_finite()))
    else {
        return bad_points("its keypoints are no list of numbers".into());
    };
    let keypoints = table.and_then(|table| table.keypoints.as_ref());
    let values = keypoints.map_or(3, |keypoints| keypoints.values as usize);
    if let Some(keypoints) = keypoints {
        let wanted = keypoints.points as usize * values;
        if found.len() != wanted {
            let points = keypoints.points;
            return bad_points(format!(
                "it has {} numbers for {points} keypoints of {values}",
                found.len()
            ));
        }
    } else if found.len() % values != 0 {
        return bad_points(format!("it has {} numbers for keypoints of {values}", found.len()));
    }
    let labeled = found.chunks_exact(values).filter(|point| values == 3 && point[2] > 0.0).count();
    match stated.filter(|&stated| values == 3 && stated != labeled as u64) {
        Some(stated) => {
            bad_points(format!("it has {labeled} labeled keypoints, and num_keypoints is {stated}"))
        }
        None => None,
    }
}

fn shown(number: f64) -> String {
    format!("{}", (number * 1e4).round() / 1e4)
}

fn shown_all(numbers: [f64; 4]) -> String {
    let numbers = numbers.map(shown);
    format!("[{}]", numbers.join(", "))
}

#[cfg(test)]
mod tests;
