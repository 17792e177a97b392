//! `ObjectTable`: what the numbers of a sample's objects mean: boxes, polygons and keypoints.
//!
//! Pure data; reads no sample.

use serde::{Deserialize, Serialize};

/// The objects of samples that annotations were joined to. A sample's JSON has one list for each kind of value, with one
/// element for each object.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObjectTable {
    /// The form of the four numbers of a box, as [`BoxForm::word`] names it; a reader accepts words that it does not know.
    pub boxes: String,
    /// Whether coordinates of boxes, polygons and keypoints are relative to width and height of the picture, 0 to 1;
    /// otherwise they are pixels.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub relative: bool,
    /// The keypoints, if objects have some and all classes have the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keypoints: Option<KeypointTable>,
}

/// The keypoints of an object.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeypointTable {
    /// Keypoints of an object.
    pub points: u32,
    /// Numbers of a keypoint: 2 (x, y), or 3 (x, y, visibility).
    pub values: u32,
    /// Their names; empty if unknown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// Pairs of keypoints that are joined by a line, counted from 0; empty if unknown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skeleton: Vec<[u32; 2]>,
    /// For each keypoint the one that takes its place in a mirrored picture; empty if unknown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flip: Vec<u32>,
}

/// The form of the four numbers of a box.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BoxForm {
    /// Left, top, width, height.
    Sized,
    /// Left, top, right, bottom.
    Corners,
    /// Center x, center y, width, height.
    Centered,
}

impl BoxForm {
    const ALL: [BoxForm; 3] = [BoxForm::Sized, BoxForm::Corners, BoxForm::Centered];

    /// Returns the word in `dataset.json`.
    pub fn word(self) -> &'static str {
        match self {
            BoxForm::Sized => "xywh",
            BoxForm::Corners => "xyxy",
            BoxForm::Centered => "cxcywh",
        }
    }

    /// Returns left, top, right and bottom.
    pub fn corners(self, [a, b, c, d]: [f64; 4]) -> [f64; 4] {
        match self {
            BoxForm::Sized => [a, b, a + c, b + d],
            BoxForm::Corners => [a, b, c, d],
            BoxForm::Centered => [a - c / 2.0, b - d / 2.0, a + c / 2.0, b + d / 2.0],
        }
    }

    /// Returns width and height.
    pub fn sides(self, [a, b, c, d]: [f64; 4]) -> [f64; 2] {
        match self {
            BoxForm::Sized | BoxForm::Centered => [c, d],
            BoxForm::Corners => [c - a, d - b],
        }
    }
}

impl ObjectTable {
    /// Creates the table of objects with boxes of this form.
    pub fn of(form: BoxForm, is_relative: bool, keypoints: Option<KeypointTable>) -> ObjectTable {
        ObjectTable { boxes: form.word().into(), relative: is_relative, keypoints }
    }

    /// Returns true if coordinates mean the same in both.
    pub fn is_placed_as(&self, other: &ObjectTable) -> bool {
        (&self.boxes, self.relative) == (&other.boxes, other.relative)
    }

    /// Returns the form of boxes in words: `xywh in pixels`.
    pub fn words(&self) -> String {
        format!(
            "{} {}",
            self.boxes,
            if self.relative { "relative to the picture" } else { "in pixels" }
        )
    }

    /// Returns the table of these samples and of those with the table `before`. Keypoints that differ are left out, because
    /// no table describes them all.
    pub fn after(mut self, before: &ObjectTable) -> ObjectTable {
        self.keypoints = match (self.keypoints, &before.keypoints) {
            (Some(own), Some(before)) => (own == *before).then_some(own),
            (own, before) => own.or_else(|| before.clone()),
        };
        self
    }

    /// Returns the table that the fields of samples tell, for data sets that state none: builds of earlier versions wrote
    /// `annotation_id` beside boxes of COCO, `class_name` beside those of Pascal VOC, and `class` alone beside YOLO's.
    pub fn of_fields(has: &dyn Fn(&str) -> bool) -> Option<ObjectTable> {
        let form = if has("annotation_id") {
            BoxForm::Sized
        } else if has("class_name") {
            BoxForm::Corners
        } else if has("class") {
            BoxForm::Centered
        } else {
            return None;
        };
        Some(ObjectTable::of(form, form == BoxForm::Centered, None))
    }

    /// Returns the form of boxes; `None` for a word that this version does not know.
    pub fn form(&self) -> Option<BoxForm> {
        BoxForm::ALL.into_iter().find(|form| form.word() == self.boxes)
    }
}

impl KeypointTable {
    /// Returns the table with the places that names give in a mirrored picture: `left_eye` takes the place of `right_eye`.
    /// Without such names it is unchanged.
    pub fn with_flip_of_names(mut self) -> KeypointTable {
        let places = self.names.iter().map(|name| {
            let other = mirrored(name)?;
            self.names.iter().position(|known| *known == other)
        });
        let places: Vec<Option<usize>> = places.collect();
        if places.iter().any(Option::is_some) {
            let flip = places.into_iter().enumerate();
            self.flip = flip.map(|(own, other)| other.unwrap_or(own) as u32).collect();
        }
        self
    }

    /// Returns why the table contradicts itself; `None` if it does not.
    pub fn fault(&self) -> Option<String> {
        let points = self.points as usize;
        if !(2..=3).contains(&self.values) {
            return Some(format!("a keypoint has {} numbers, not 2 or 3", self.values));
        }
        for (what, count) in [("names", self.names.len()), ("flip", self.flip.len())] {
            if count != 0 && count != points {
                return Some(format!("'{what}' has {count} elements for {points} keypoints"));
            }
        }
        let mut places = self.flip.iter().chain(self.skeleton.iter().flatten());
        let beyond = places.find(|&&place| place >= self.points);
        if let Some(place) = beyond {
            return Some(format!(
                "it names keypoint {place}, and there are {points}, counted from 0"
            ));
        }
        let mut pairs = self.flip.iter().enumerate();
        let are_mutual = pairs.all(|(own, &other)| self.flip[other as usize] as usize == own);
        (!are_mutual).then(|| "two keypoints take the place of one in a mirrored picture".into())
    }
}

/// Returns the name of the keypoint at the other side; `None` if it is at none.
fn mirrored(name: &str) -> Option<String> {
    const SIDES: [(&str, &str); 3] = [("left", "right"), ("Left", "Right"), ("LEFT", "RIGHT")];
    SIDES.iter().find_map(|(left, right)| {
        if name.contains(left) {
            Some(name.replace(left, right))
        } else {
            name.contains(right).then(|| name.replace(right, left))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(names: &[&str]) -> KeypointTable {
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        KeypointTable { points: names.len() as u32, values: 3, names, ..KeypointTable::default() }
    }

    fn sized(keypoints: Option<KeypointTable>) -> ObjectTable {
        ObjectTable::of(BoxForm::Sized, false, keypoints)
    }

    #[test]
    fn the_forms_of_a_box_are_one_place() {
        for (form, numbers) in [
            (BoxForm::Sized, [10.0, 20.0, 30.0, 40.0]),
            (BoxForm::Corners, [10.0, 20.0, 40.0, 60.0]),
            (BoxForm::Centered, [25.0, 40.0, 30.0, 40.0]),
        ] {
            assert_eq!(form.corners(numbers), [10.0, 20.0, 40.0, 60.0], "{form:?}");
            assert_eq!(form.sides(numbers), [30.0, 40.0], "{form:?}");
            assert_eq!(ObjectTable::of(form, false, None).form(), Some(form));
        }
        assert_eq!(ObjectTable { boxes: "ltrb".into(), ..ObjectTable::default() }.form(), None);
    }

    #[test]
    fn names_of_both_sides_change_places_in_a_mirrored_picture() {
        let table = table(&["nose", "left_eye", "right_eye", "left_ear"]).with_flip_of_names();
        assert_eq!(table.flip, [0, 2, 1, 3]);
        assert!(self::table(&["a", "b"]).with_flip_of_names().flip.is_empty());
        assert_eq!(table.fault(), None);
    }

    #[test]
    fn keypoints_of_two_builds_stay_if_they_are_the_same() {
        let some = sized(Some(table(&["a"])));
        assert_eq!(some.clone().after(&sized(None)), some);
        assert_eq!(sized(None).after(&some), some);
        assert_eq!(some.clone().after(&some), some);
        assert_eq!(some.after(&sized(Some(table(&["b"])))), sized(None));
        let relative = ObjectTable::of(BoxForm::Sized, true, None);
        assert!(!sized(None).is_placed_as(&relative) && sized(None).is_placed_as(&sized(None)));
        assert_eq!(relative.words(), "xywh relative to the picture");
    }

    #[test]
    fn a_table_that_contradicts_itself_is_named() {
        for (change, reason) in [
            ((|t: &mut KeypointTable| t.values = 4) as fn(&mut KeypointTable), "4 numbers"),
            (|t| t.points = 3, "'names' has 2 elements for 3"),
            (|t| t.flip = vec![0], "'flip' has 1 elements"),
            (|t| t.flip = vec![0, 2], "names keypoint 2"),
            (|t| t.skeleton = vec![[0, 5]], "names keypoint 5"),
            (|t| t.flip = vec![0, 0], "take the place of one"),
        ] {
            let mut table = table(&["a", "b"]);
            change(&mut table);
            assert!(table.fault().unwrap().contains(reason), "{reason}");
        }
    }
}
