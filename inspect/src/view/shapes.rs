//! `Shape`: boxes and polygons of a sample's JSON, relative to the size of its picture.
//!
//! `pack build --coco`, `--voc` and `--yolo` write three forms of boxes. The fields beside them tell which one it is.

use serde::Serialize;
use serde_json::Value;
use tarflume_formats::ClassTable;
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
}

/// What is drawn over a picture.
#[derive(Debug, Default)]
pub(super) struct Drawn {
    pub(super) shapes: Vec<Shape>,
    pub(super) regions: Vec<Region>,
}

/// Reads the shapes of a sample's JSON. `form` replaces the form that the fields tell.
pub(super) fn shapes(
    json: &Value,
    size: ImageSize,
    form: Option<BoxForm>,
    table: Option<&ClassTable>,
) -> Drawn {
    let holder = json.get("objects").filter(|objects| objects.is_object()).unwrap_or(json);
    let boxes: Vec<[f64; 4]> = BOXES
        .iter()
        .find_map(|name| list(holder, name))
        .map(|boxes| boxes.iter().filter_map(four).take(MAX_SHAPES).collect())
        .unwrap_or_default();
    let form = form.unwrap_or_else(|| form_of(holder, &boxes));
    let labels = LABELS.iter().find_map(|name| list(holder, name)).unwrap_or_default();
    let mut drawn = Drawn::default();
    for (n, &area) in boxes.iter().enumerate() {
        let area = Some(relative(area, form, size));
        let label = label(labels, n, table);
        drawn.shapes.push(Shape { label, area, polygons: Vec::new() });
    }
    let outlines = list(holder, "segmentation").unwrap_or_default();
    for (n, outline) in outlines.iter().enumerate().take(MAX_SHAPES) {
        if let Some(region) = Region::read(outline) {
            drawn.regions.push(region);
            continue;
        }
        let polygons = polygons(outline, size);
        match drawn.shapes.get_mut(n) {
            Some(shape) => shape.polygons = polygons,
            None => {
                let label = label(labels, n, table);
                drawn.shapes.push(Shape { label, area: None, polygons });
            }
        }
    }
    drawn
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

fn relative([a, b, c, d]: [f64; 4], form: BoxForm, size: ImageSize) -> [f32; 4] {
    let [width, height] = sides(size);
    let area = match form {
        BoxForm::Sized => [a / width, b / height, c / width, d / height],
        BoxForm::Corners => [a / width, b / height, (c - a) / width, (d - b) / height],
        BoxForm::Centered => [a - c / 2.0, b - d / 2.0, c, d],
    };
    area.map(rounded)
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
fn polygons(value: &Value, size: ImageSize) -> Vec<Vec<f32>> {
    let Some(items) = value.as_array() else { return Vec::new() };
    let outlines: Vec<Vec<f64>> = if items.first().is_some_and(Value::is_number) {
        numbers(value).into_iter().collect()
    } else {
        let outlines: Vec<Vec<f64>> = items.iter().filter_map(numbers).collect();
        let are_points = outlines.iter().all(|outline| outline.len() == 2);
        if are_points { vec![outlines.concat()] } else { outlines }
    };
    let is_relative = outlines.iter().flatten().all(|n| (0.0..=1.001).contains(n));
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
        let drawn = shapes(json, ImageSize::new(200, 100), None, Some(&table));
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
        let forced = shapes(&coco, ImageSize::new(200, 100), Some(BoxForm::Corners), None);
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
            let drawn = shapes(&json, ImageSize::new(200, 100), None, None);
            assert_eq!(drawn.shapes[0].polygons, wanted);
        }
        let runs = json!({"segmentation": [{"counts": [3, 2, 7], "size": [4, 3]}]});
        let drawn = shapes(&runs, ImageSize::new(3, 4), None, None);
        assert_eq!((drawn.shapes.len(), drawn.regions.len()), (0, 1));
        let none = shapes(&json!({"boxes": "none"}), ImageSize::new(1, 1), None, None);
        assert!(none.shapes.is_empty());
    }
}
