//! `Shape`: boxes and polygons of a sample's JSON, relative to the size of its picture.
//!
//! `dataset.json` states the form of boxes and what keypoints there are. Without it, the fields beside the boxes tell which
//! of three forms it is.

use serde::Serialize;
use serde_json::Value;
use tarflume_formats::{ClassTable, KeypointTable, ObjectTable};
use tarflume_image::ImageSize;

use super::rle::Region;
use crate::stats::class_names;

/// Limits on the shapes of a sample, and on the numbers of a polygon.
const MAX_SHAPES: usize = 200;
const MAX_NUMBERS: usize = 2000;
/// Lists with a class for each box, in the order in which they are tried.
const LABELS: [&str; 7] =
    ["class_name", "category_id", "class", "label", "labels", "category", "categories"];
const BOXES: [&str; 3] = ["boxes", "bbox", "bboxes"];

/// The form of boxes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BoxForm {
    /// Left, top, width, height in pixels: COCO.
    Sized,
    /// Left, top, right, bottom in pixels: Pascal VOC.
    Corners,
    /// Center x, center y, width, height, relative to the picture: YOLO.
    Centered,
}

/// A box or a polygon of an object. Coordinates are relative to width and height of the picture, 0 to 1.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Shape {
    /// Its class; empty if unknown.
    pub label: String,
    /// Left, top, width, height.
    #[serde(rename = "box", skip_serializing_if = "Option::is_none")]
    pub area: Option<[f32; 4]>,
    /// Polygons: x, y, x, y and so on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub polygons: Vec<Vec<f32>>,
    /// Labeled keypoints: x, y, and 1 if it is visible, else 0.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub points: Vec<[f32; 3]>,
    /// Lines between labeled keypoints: x, y of both ends.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<[f32; 4]>,
}

/// What tells the meaning of a sample's numbers.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Meaning<'a> {
    /// Replaces the form that is stated or that the fields tell.
    pub(super) form: Option<BoxForm>,
    /// The classes of the data set.
    pub(super) table: Option<&'a ClassTable>,
    /// What the data set states about objects.
    pub(super) objects: Option<&'a ObjectTable>,
}

/// What is drawn over a picture.
#[derive(Debug, Default)]
pub(super) struct Drawn {
    pub(super) shapes: Vec<Shape>,
    pub(super) regions: Vec<Region>,
}

/// Reads the shapes of a sample's JSON.
pub(super) fn shapes(json: &Value, size: ImageSize, meaning: Meaning<'_>) -> Drawn {
    let holder = json.get("objects").filter(|objects| objects.is_object()).unwrap_or(json);
    let boxes: Vec<Option<[f64; 4]>> = BOXES
        .iter()
        .find_map(|name| list(holder, name))
        .map(|boxes| boxes.iter().map(four).take(MAX_SHAPES).collect())
        .unwrap_or_default();
    let known: Vec<[f64; 4]> = boxes.iter().flatten().copied().collect();
    let stated = meaning.objects.filter(|_| meaning.form.is_none());
    let place = match stated.and_then(|objects| Some((objects.form()?, objects.relative))) {
        Some((form, is_relative)) => Placing { form, is_relative },
        None => Placing::of(meaning.form.unwrap_or_else(|| form_of(holder, &known))),
    };
    let labels = LABELS.iter().find_map(|name| list(holder, name)).unwrap_or_default();
    let outlines = list(holder, "segmentation").unwrap_or_default();
    let points = list(holder, "keypoints").unwrap_or_default();
    let keypoints = stated.and_then(|objects| objects.keypoints.as_ref());
    let count = boxes.len().max(outlines.len()).max(points.len()).min(MAX_SHAPES);
    let mut drawn = Drawn::default();
    for n in 0..count {
        let region = outlines.get(n).and_then(Region::read);
        let is_region = region.is_some();
        drawn.regions.extend(region);
        let outline = outlines.get(n).filter(|_| !is_region);
        let mut shape = Shape {
            label: label(labels, n, meaning.table),
            area: boxes.get(n).copied().flatten().map(|area| place.relative(area, size)),
            polygons: outline.map_or_else(Vec::new, |outline| polygons(outline, size, stated)),
            points: Vec::new(),
            lines: Vec::new(),
        };
        if let Some(points) = points.get(n).and_then(numbers) {
            shape.add_points(&points, size, keypoints, stated);
        }
        if !shape.is_empty() {
            drawn.shapes.push(shape);
        }
    }
    drawn
}

/// Where the numbers of a box are.
#[derive(Debug, Clone, Copy)]
struct Placing {
    form: tarflume_formats::BoxForm,
    is_relative: bool,
}

impl Placing {
    fn of(form: BoxForm) -> Placing {
        let known = match form {
            BoxForm::Sized => tarflume_formats::BoxForm::Sized,
            BoxForm::Corners => tarflume_formats::BoxForm::Corners,
            BoxForm::Centered => tarflume_formats::BoxForm::Centered,
        };
        Placing { form: known, is_relative: form == BoxForm::Centered }
    }

    /// Returns left, top, width and height of a box, relative to the picture.
    fn relative(self, area: [f64; 4], size: ImageSize) -> [f32; 4] {
        let [width, height] = if self.is_relative { [1.0, 1.0] } else { sides(size) };
        let [left, top, ..] = self.form.corners(area);
        let [across, down] = self.form.sides(area);
        [left / width, top / height, across / width, down / height].map(rounded)
    }
}

impl Shape {
    fn is_empty(&self) -> bool {
        self.area.is_none() && self.polygons.is_empty() && self.points.is_empty()
    }

    /// Adds the keypoints that are labeled, and the lines between them.
    fn add_points(
        &mut self,
        numbers: &[f64],
        size: ImageSize,
        keypoints: Option<&KeypointTable>,
        objects: Option<&ObjectTable>,
    ) {
        let values = keypoints.map_or(3, |keypoints| keypoints.values.clamp(2, 3) as usize);
        let all: Vec<&[f64]> = numbers.chunks_exact(values).collect();
        let is_relative = objects.map_or_else(
            || all.iter().flat_map(|point| &point[..2]).all(|n| (0.0..=1.001).contains(n)),
            |objects| objects.relative,
        );
        let sides = if is_relative { [1.0, 1.0] } else { sides(size) };
        let labeled = all.iter().filter(|point| is_labeled(point));
        self.points.extend(labeled.map(|point| {
            let [x, y] = at(point, sides);
            let is_visible = point.get(2).is_none_or(|&visible| visible > 1.0);
            [x, y, f32::from(u8::from(is_visible))]
        }));
        for [from, to] in keypoints.map_or(&[][..], |keypoints| &keypoints.skeleton) {
            let ends = [from, to].map(|&end| all.get(end as usize).filter(|end| is_labeled(end)));
            if let [Some(from), Some(to)] = ends {
                let [x, y] = at(from, sides);
                let [u, v] = at(to, sides);
                self.lines.push([x, y, u, v]);
            }
        }
    }
}

/// Returns the place of a keypoint, relative to the picture.
fn at(point: &[f64], sides: [f64; 2]) -> [f32; 2] {
    [rounded(point[0] / sides[0]), rounded(point[1] / sides[1])]
}

fn is_labeled(point: &[f64]) -> bool {
    point.get(2).is_none_or(|&visible| visible > 0.0)
}

fn list<'a>(holder: &'a Value, name: &str) -> Option<&'a [Value]> {
    holder.get(name).and_then(Value::as_array).map(Vec::as_slice)
}

/// The first name of label `n`; empty if there is none.
fn label(labels: &[Value], n: usize, table: Option<&ClassTable>) -> String {
    let mut names = Vec::new();
    if let Some(value) = labels.get(n) {
        class_names(&value.clone().into(), table, &mut names);
    }
    names.into_iter().next().unwrap_or_default()
}

fn form_of(holder: &Value, boxes: &[[f64; 4]]) -> BoxForm {
    let are_relative = boxes.iter().flatten().all(|n| (0.0..=1.001).contains(n));
    let are_corners = boxes.iter().all(|area| area[2] > area[0] && area[3] > area[1]);
    if holder.get("category_id").is_some() || holder.get("annotation_id").is_some() {
        BoxForm::Sized
    } else if holder.get("class_name").is_some() {
        BoxForm::Corners
    } else if boxes.is_empty() {
        BoxForm::Sized
    } else if are_relative {
        BoxForm::Centered
    } else if holder.get("boxes").is_some() && are_corners {
        BoxForm::Corners
    } else {
        BoxForm::Sized
    }
}

/// Returns width and height in pixels; 1 for a side of 0, by which coordinates are divided.
fn sides(size: ImageSize) -> [f64; 2] {
    [size.width, size.height].map(|side| f64::from(side.max(1)))
}

/// Rounds to a 10,000th of the picture.
fn rounded(n: f64) -> f32 {
    ((n * 1e4).round() / 1e4) as f32
}

fn four(value: &Value) -> Option<[f64; 4]> {
    let numbers: Vec<f64> = value.as_array()?.iter().map(Value::as_f64).collect::<Option<_>>()?;
    numbers.try_into().ok()
}

/// Reads a list of numbers; more than [`MAX_NUMBERS`] are cut.
fn numbers(value: &Value) -> Option<Vec<f64>> {
    value.as_array()?.iter().map(Value::as_f64).take(MAX_NUMBERS).collect()
}

/// Reads `[[x, y, ..], ..]`, `[[x, y], ..]` or `[x, y, ..]`, in pixels or relative.
fn polygons(value: &Value, size: ImageSize, objects: Option<&ObjectTable>) -> Vec<Vec<f32>> {
    let Some(items) = value.as_array() else { return Vec::new() };
    let outlines: Vec<Vec<f64>> = if items.first().is_some_and(Value::is_number) {
        numbers(value).into_iter().collect()
    } else {
        let outlines: Vec<Vec<f64>> = items.iter().filter_map(numbers).collect();
        let are_points = outlines.iter().all(|outline| outline.len() == 2);
        if are_points { vec![outlines.concat()] } else { outlines }
    };
    let is_relative = objects.map_or_else(
        || outlines.iter().flatten().all(|n| (0.0..=1.001).contains(n)),
        |objects| objects.relative,
    );
    let sides = if is_relative { [1.0, 1.0] } else { sides(size) };
    let polygons = outlines.into_iter().filter(|outline| outline.len() >= 6).map(|outline| {
        outline.into_iter().enumerate().map(|(n, value)| rounded(value / sides[n % 2])).collect()
    });
    polygons.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn first(json: &Value) -> (String, [f32; 4]) {
        let table = ClassTable {
            names: vec!["cat".into(), "dog".into()],
            ids: vec![3, 17],
            ..ClassTable::default()
        };
        let meaning = Meaning { table: Some(&table), ..Meaning::default() };
        let drawn = shapes(json, ImageSize::new(200, 100), meaning);
        (drawn.shapes[0].label.clone(), drawn.shapes[0].area.unwrap())
    }

    #[test]
    fn the_boxes_of_coco_voc_and_yolo_are_the_same_place() {
        let place = [0.25, 0.2, 0.5, 0.4];
        let coco = json!({"boxes": [[50, 20, 100, 40]], "category_id": [17], "annotation_id": [1]});
        assert_eq!(first(&coco), ("dog".into(), place));
        let voc = json!({"boxes": [[50, 20, 150, 60]], "class": [0], "class_name": ["cow"]});
        assert_eq!(first(&voc), ("cow".into(), place));
        let yolo = json!({"boxes": [[0.5, 0.4, 0.5, 0.4]], "class": [3]});
        assert_eq!(first(&yolo), ("cat".into(), place));
        let objects = json!({"objects": {"bbox": [[50, 20, 100, 40]], "category": ["hen"]}});
        assert_eq!(first(&objects), ("hen".into(), place));
        let forced = shapes(
            &coco,
            ImageSize::new(200, 100),
            Meaning { form: Some(BoxForm::Corners), ..Meaning::default() },
        );
        assert_eq!(forced.shapes[0].area, Some([0.25, 0.2, 0.25, 0.2]));
    }

    #[test]
    fn polygons_are_read_in_pixels_relative_and_as_points() {
        let wanted = vec![vec![0.0, 0.0, 0.5, 0.0, 0.5, 1.0]];
        for outline in [
            json!([[0, 0, 100, 0, 100, 100]]),
            json!([0.0, 0.0, 0.5, 0.0, 0.5, 1.0]),
            json!([[0.0, 0.0], [0.5, 0.0], [0.5, 1.0]]),
        ] {
            let json = json!({"segmentation": [outline], "category_id": [3]});
            let drawn = shapes(&json, ImageSize::new(200, 100), Meaning::default());
            assert_eq!(drawn.shapes[0].polygons, wanted);
        }
        let runs = json!({"segmentation": [{"counts": [3, 2, 7], "size": [4, 3]}]});
        let drawn = shapes(&runs, ImageSize::new(3, 4), Meaning::default());
        assert_eq!((drawn.shapes.len(), drawn.regions.len()), (0, 1));
        let none = shapes(&json!({"boxes": "none"}), ImageSize::new(1, 1), Meaning::default());
        assert!(none.shapes.is_empty());
    }

    #[test]
    fn what_the_data_set_states_tells_the_form_and_the_keypoints() {
        // Without the table, four numbers below 1 would be a center.
        let json = json!({"boxes": [[0.25, 0.2, 0.75, 0.6]], "class": [0], "class_name": ["cow"],
                          "keypoints": [[0.5, 0.5, 2, 0.25, 0.5, 1, 0, 0, 0]]});
        let keypoints = KeypointTable {
            points: 3,
            values: 3,
            skeleton: vec![[0, 1], [1, 2]],
            ..KeypointTable::default()
        };
        let corners = tarflume_formats::BoxForm::Corners;
        let objects = ObjectTable::of(corners, true, Some(keypoints));
        let meaning = Meaning { objects: Some(&objects), ..Meaning::default() };
        let drawn = shapes(&json, ImageSize::new(200, 100), meaning);
        assert_eq!(drawn.shapes[0].area, Some([0.25, 0.2, 0.5, 0.4]));
        assert_eq!(drawn.shapes[0].points, [[0.5, 0.5, 1.0], [0.25, 0.5, 0.0]]);
        assert_eq!(drawn.shapes[0].lines, [[0.5, 0.5, 0.25, 0.5]]);
        let plain = json!({"keypoints": [[100, 50, 2]], "category_id": [1], "boxes": [null]});
        let drawn = shapes(&plain, ImageSize::new(200, 100), Meaning::default());
        assert_eq!(
            (drawn.shapes[0].points.clone(), drawn.shapes[0].area),
            (vec![[0.5, 0.5, 1.0]], None)
        );
    }
}
