//! The JSON of Label Studio: a list of tasks, each with a picture and the results of its annotations; or the short form
//! (JSON-MIN), in which a task has the results itself. Coordinates are percents of the picture.

use std::fmt;
use std::io::BufReader;
use std::path::Path;

use percent_encoding::percent_decode_str;
use serde::de::{Deserializer, Error, SeqAccess, Visitor};
use serde_json::{Map, Value};
use tarflume_base::{Failure, Stop};
use tarflume_formats::BoxForm;
use tarflume_table::text::stream::{self, Budget};

use super::collected::{Collected, Object};
use super::form::Form;
use super::shapes::{around, class_of};

/// The keys of a value with the names of classes, by the kind of shape.
const LABELS: [&str; 6] = [
    "rectanglelabels",
    "polygonlabels",
    "keypointlabels",
    "ellipselabels",
    "brushlabels",
    "labels",
];

/// Reads a file.
///
/// # Errors
/// Returns an error for a JSON of another form, for masks of brushes, and for a failure of the machine.
pub(super) fn read(path: &Path, into: &mut Collected<'_>, stop: &Stop) -> Result<Form, Failure> {
    let stream::OpenText { text, budget, origin } = stream::open(path)?;
    let mut json = serde_json::Deserializer::from_reader(BufReader::with_capacity(256 << 10, text));
    let mut failure = None;
    let tasks = Tasks { into, budget, stop, failure: &mut failure };
    let read = json.deserialize_seq(tasks).and_then(|()| json.end());
    if let Some(failure) = failure {
        return Err(failure);
    }
    read.map_err(|error| match error.io_error_kind() {
        Some(_) => origin.refused(error.into(), 1),
        None => {
            Failure::bad_data(format!("it is no export of Label Studio: {error}")).in_file(path)
        }
    })?;
    Ok(Form { boxes: BoxForm::Sized, is_relative: true, omits_empty: false })
}

/// The list of tasks.
struct Tasks<'a, 'n> {
    into: &'a mut Collected<'n>,
    budget: Budget,
    stop: &'a Stop,
    failure: &'a mut Option<Failure>,
}

impl<'de> Visitor<'de> for Tasks<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of tasks")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let mut number = 0;
        loop {
            self.budget.renew();
            let Some(task) = list.next_element::<Map<String, Value>>()? else { return Ok(()) };
            number += 1;
            let task = Task::of(&task);
            let task = task.map_err(|why| A::Error::custom(format!("task {number}: {why}")))?;
            let added = if self.stop.requested() {
                Err(Failure::interrupted())
            } else {
                task.add(number, self.into)
            };
            if let Err(failure) = added {
                *self.failure = Some(failure);
                return Err(A::Error::custom("stopped"));
            }
        }
    }
}

/// One picture with its objects.
struct Task {
    name: String,
    /// Width and height, if a result states them.
    size: Option<[u64; 2]>,
    objects: Vec<Object>,
}

impl Task {
    fn of(task: &Map<String, Value>) -> Result<Task, String> {
        let data = task.get("data").and_then(Value::as_object).unwrap_or(task);
        let name = image(data).ok_or("it names no picture")?;
        let results = results(task)?;
        let size = [side(&results, "original_width"), side(&results, "original_height")];
        let size = match size {
            [Some(width), Some(height)] => Some([width, height]),
            _ => None,
        };
        let objects = results.into_iter().map(object).collect::<Result<Vec<_>, String>>()?;
        Ok(Task { name, size, objects: objects.into_iter().flatten().collect() })
    }

    fn add(self, number: u64, into: &mut Collected<'_>) -> Result<(), Failure> {
        let sides = self.size.map(|[width, height]| [("width", width), ("height", height)]);
        let fields: Vec<(String, String)> = sides
            .into_iter()
            .flatten()
            .map(|(name, side)| (name.to_string(), side.to_string()))
            .collect();
        into.picture(&self.name, number, &fields)?;
        self.objects.into_iter().try_for_each(|object| into.object(&self.name, number, object))
    }
}

/// Returns the file name of a task's picture: the last component of its address, or of the path after `?d=`.
fn image(data: &Map<String, Value>) -> Option<String> {
    let known = ["image", "img", "image_url", "photo", "picture"];
    let named = known.iter().find_map(|name| data.get(*name)?.as_str());
    let address = named
        .or_else(|| data.values().find_map(|value| value.as_str().filter(|t| t.contains('.'))))?;
    let path = match address.split_once("?d=") {
        Some((_, path)) => path,
        None => address.split(['?', '#']).next()?,
    };
    let path = percent_decode_str(path).decode_utf8().ok()?;
    path.rsplit('/').next().filter(|name| !name.is_empty()).map(str::to_string)
}

/// Returns the results of a task: those of its first annotation that was not cancelled, or the short form's values.
fn results(task: &Map<String, Value>) -> Result<Vec<&Map<String, Value>>, String> {
    let Some(annotations) = task.get("annotations").or_else(|| task.get("completions")) else {
        let lists = task.values().filter_map(Value::as_array).flatten();
        return Ok(lists.filter_map(Value::as_object).collect());
    };
    let annotations = annotations.as_array().ok_or("its annotations are no list")?;
    let Some(first) = annotations.iter().find(is_valid) else { return Ok(Vec::new()) };
    let results =
        first.get("result").and_then(Value::as_array).ok_or("an annotation has no result")?;
    Ok(results.iter().filter_map(Value::as_object).collect())
}

/// Returns the object of a result; `None` if it has no place in the picture, as a choice or a text.
fn object(result: &Map<String, Value>) -> Result<Option<Object>, String> {
    let value = result.get("value").and_then(Value::as_object).unwrap_or(result);
    if value.contains_key("rle") || value.contains_key("imageDataURL") {
        return Err("masks of brushes are not read; export them as PNG into a parallel folder, or all as COCO".into());
    }
    let Some((kind, labels)) = LABELS.iter().find_map(|kind| Some((*kind, value.get(*kind)?)))
    else {
        return Ok(None);
    };
    let first = labels.as_array().and_then(|labels| labels.first()?.as_str()).map(str::to_string);
    let mut object = Object { class: class_of(first)?, ..Object::default() };
    if let Some(points) = value.get("points") {
        let points = points
            .as_array()
            .and_then(|points| points.iter().map(point).collect::<Option<Vec<_>>>());
        let points = points.ok_or("the points of a polygon are no pairs of numbers")?;
        object.rectangle = around(points.iter().copied());
        object.outline = Some(vec![points.concat()].into());
    } else if kind == "keypointlabels" {
        object.keypoints = vec![share(value, "x")?, share(value, "y")?, 2.0];
    } else if value.contains_key("radiusX") {
        let [x, y] = [share(value, "x")?, share(value, "y")?];
        let [across, down] = [share(value, "radiusX")?, share(value, "radiusY")?];
        object.rectangle = Some([x - across, y - down, 2.0 * across, 2.0 * down]);
    } else {
        object.rectangle = Some([
            share(value, "x")?,
            share(value, "y")?,
            share(value, "width")?,
            share(value, "height")?,
        ]);
    }
    if let Some(turned) = value.get("rotation").and_then(Value::as_f64) {
        object.fields.push(("rotation".into(), turned.to_string()));
    }
    object.fields.push(("shape".into(), kind.trim_end_matches("labels").into()));
    Ok(Some(object))
}

/// Returns a side of the picture that a result states.
fn side(results: &[&Map<String, Value>], name: &str) -> Option<u64> {
    results.iter().find_map(|result| result.get(name)?.as_u64())
}

fn is_valid(annotation: &&Value) -> bool {
    annotation.get("was_cancelled").and_then(Value::as_bool) != Some(true)
}

/// Returns the share of the picture that a percentage is.
fn share(value: &Map<String, Value>, name: &str) -> Result<f64, String> {
    let percent = value.get(name).and_then(Value::as_f64);
    percent.map(|percent| percent / 100.0).ok_or_else(|| format!("a shape has no '{name}'"))
}

fn point(value: &Value) -> Option<[f64; 2]> {
    let place: Option<Vec<f64>> = value.as_array()?.iter().map(Value::as_f64).collect();
    let [x, y]: [f64; 2] = place?.try_into().ok()?;
    Some([x / 100.0, y / 100.0])
}
