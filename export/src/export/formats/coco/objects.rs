//! `Objects`: the annotations of samples, with boxes as left, top, width and height in pixels.

use tarflume_base::Failure;
use tarflume_formats::json::{Object, Value};
use tarflume_formats::message;
use tarflume_formats::message::{Call, Name, Task};
use tarflume_formats::{BoxForm, ErrorKind};

use crate::export::formats::coco::plan::Plan;
use crate::export::row::ExportRow;

/// Makes annotations.
pub(super) struct Objects<'p, 'a> {
    plan: &'p Plan<'a>,
    /// The form of boxes; `None` if they are COCO's.
    form: Option<BoxForm>,
    /// The annotations that were made.
    made: u64,
}

/// Width and height by which coordinates are multiplied.
type Sides = [f64; 2];

impl<'p, 'a> Objects<'p, 'a> {
    pub(super) fn new(plan: &'p Plan<'a>) -> Objects<'p, 'a> {
        let form = plan.table.form().filter(|form| *form != BoxForm::Sized || plan.table.relative);
        Objects { plan, form, made: 0 }
    }

    /// Returns the annotations of sample `number`.
    ///
    /// # Errors
    /// Returns an error if the JSON cannot be read, and if coordinates are relative to a picture of unknown size.
    pub(super) fn of(
        &mut self,
        number: u64,
        row: &mut ExportRow<'_, '_>,
    ) -> Result<Vec<Object>, Failure> {
        let mut json = row.object()?;
        let image = match json.get("id").filter(|_| self.plan.keeps_image_ids) {
            Some(id) => id.clone(),
            None => number.into(),
        };
        let sides = self.sides(&json, row)?;
        let lists: Vec<(&str, Vec<Value>)> = self
            .plan
            .lists()
            .filter_map(|name| Some((name, elements(json.remove(name)?))))
            .collect();
        let count = lists.iter().map(|(_, list)| list.len()).max().unwrap_or_default();
        let mut annotations = vec![Object::new(); count];
        for (name, list) in lists {
            for (annotation, value) in annotations.iter_mut().zip(list) {
                self.put(annotation, name, value, sides);
            }
        }
        if self.plan.is_list("segment_id") {
            return Ok(self.panoptic(annotations, image, row)?.into_iter().collect());
        }
        for annotation in &mut annotations {
            self.made += 1;
            annotation.insert("image_id".into(), image.clone());
            if !self.plan.keeps_annotation_ids {
                annotation.insert("id".into(), self.made.into());
            }
            if self.form.is_some() {
                complete(annotation);
            }
        }
        Ok(annotations)
    }

    /// Returns width and height of the picture, if coordinates are relative.
    fn sides(&self, json: &Object, row: &ExportRow<'_, '_>) -> Result<Sides, Failure> {
        if !self.plan.table.relative {
            return Ok([1.0, 1.0]);
        }
        let known =
            row.sample.dimensions.map(|(width, height)| [f64::from(width), f64::from(height)]);
        known.or_else(|| stated(json)).ok_or_else(|| {
            let text = message!(
                "coordinates are relative, and the size of the picture is not known; make sidecars with dimensions: \
                 `{index}`"; index = Call::of(Task::Index).with(Name::Force.on())
            );
            row.error(ErrorKind::WrongFormat, text, row.sample.first).into()
        })
    }

    /// Adds the value of a list to an annotation.
    fn put(&self, annotation: &mut Object, name: &str, value: Value, sides: Sides) {
        if value.is_null() {
            return; // the annotation had no such field
        }
        let is_of_coco = self.plan.is_list("category_id");
        match (name, self.form) {
            ("category_index", _) => {}
            ("class_name", _) if !is_of_coco => {}
            ("class", _) if !is_of_coco => _ = annotation.insert("category_id".into(), value),
            ("boxes", None) => _ = annotation.insert("bbox".into(), value),
            ("boxes", Some(form)) => {
                let area = numbers(&value).and_then(|numbers| numbers.try_into().ok());
                if let Some(area) = area {
                    annotation.insert("bbox".into(), sized(form, area, sides));
                }
            }
            ("segmentation", Some(_)) => {
                _ = annotation.insert("segmentation".into(), outline(value, sides));
            }
            ("keypoints", Some(_)) => self.put_points(annotation, &value, sides),
            (name, _) => {
                let field = name.strip_prefix("annotation_").unwrap_or(name);
                annotation.insert(field.into(), value);
            }
        }
    }

    fn put_points(&self, annotation: &mut Object, value: &Value, sides: Sides) {
        let Some(found) = numbers(value) else { return };
        let values =
            self.plan.table.keypoints.as_ref().map_or(3, |table| table.values.max(2) as usize);
        let mut points = Vec::new();
        let mut labeled = 0u64;
        for point in found.chunks_exact(values) {
            let visible = point.get(2).copied().unwrap_or(2.0);
            labeled += u64::from(visible > 0.0);
            points.extend([
                number(point[0] * sides[0]),
                number(point[1] * sides[1]),
                number(visible),
            ]);
        }
        annotation.insert("keypoints".into(), Value::Array(points));
        annotation.insert("num_keypoints".into(), labeled.into());
    }

    /// Returns the one annotation of a sample with segments.
    fn panoptic(
        &mut self,
        segments: Vec<Object>,
        image: Value,
        row: &ExportRow<'_, '_>,
    ) -> Result<Option<Object>, Failure> {
        if segments.is_empty() {
            return Ok(None);
        }
        self.made += 1;
        let segments = segments.into_iter().map(|mut segment| {
            let id = segment.remove("segment_id");
            segment.extend(id.map(|id| ("id".to_string(), id)));
            Value::Object(segment)
        });
        let key = row.key()?;
        let stem = key.rsplit('/').next().unwrap_or(key);
        Ok(Some(Object::from_iter([
            ("file_name".to_string(), format!("{stem}.png").into()),
            ("image_id".to_string(), image),
            ("segments_info".to_string(), Value::Array(segments.collect())),
        ])))
    }
}

/// Returns width and height as the JSON states them.
fn stated(json: &Object) -> Option<Sides> {
    Some([json.get("width")?.as_number()?.nearest(), json.get("height")?.as_number()?.nearest()])
}

fn elements(value: Value) -> Vec<Value> {
    match value {
        Value::Array(list) => list,
        _ => Vec::new(),
    }
}

fn numbers(value: &Value) -> Option<Vec<f64>> {
    value.as_array()?.iter().map(|value| Some(value.as_number()?.nearest())).collect()
}

fn number(value: f64) -> Value {
    serde_json::Value::from(value).into()
}

/// Returns left, top, width and height in pixels.
fn sized(form: BoxForm, area: [f64; 4], sides: Sides) -> Value {
    let [left, top, ..] = form.corners(area);
    let [across, down] = form.sides(area);
    let [width, height] = sides;
    Value::Array([left * width, top * height, across * width, down * height].map(number).into())
}

/// Returns polygons in pixels; a region stays as it is.
fn outline(value: Value, sides: Sides) -> Value {
    let flat = numbers(&value);
    let polygons = match (flat, value) {
        (Some(flat), _) => vec![flat],
        (None, Value::Array(list)) => list.iter().filter_map(numbers).collect(),
        (None, region) => return region,
    };
    let scaled = polygons.into_iter().map(|polygon| {
        let places = polygon.into_iter().enumerate();
        Value::Array(places.map(|(n, place)| number(place * sides[n % 2])).collect())
    });
    Value::Array(scaled.collect())
}

/// Adds what readers of COCO files expect of each annotation.
fn complete(annotation: &mut Object) {
    annotation.entry("iscrowd".into()).or_insert_with(|| 0i64.into());
    let area = annotation.get("bbox").and_then(numbers);
    let area = area.and_then(|sides| Some(sides.get(2)? * sides.get(3)?));
    if let Some(area) = area {
        annotation.entry("area".into()).or_insert_with(|| number(area));
    }
}
