//! What all classes of annotations have: where they are read, and which picture they follow.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use tarflume::{DType, ObjectValues};
use tarflume_formats::json::JsonRules;

use crate::arguments::{labels, words};
use crate::faults::errors::{OrRaise, usage};

/// The names of values that have a type of their own; others are int64.
const SINGLES: [&str; 2] = ["area", "score"];

/// What objects are read from, and the picture that they follow. Columns with the same source are one group: an object that is
/// left out is left out of all.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Source {
    /// The JSON part.
    pub(crate) part: String,
    /// The name of the column of the picture.
    pub(crate) of: String,
    pub(crate) rules: JsonRules,
    pub(crate) upright: bool,
}

impl Source {
    pub(crate) fn new(
        py: Python<'_>,
        part: &str,
        of: &str,
        rules: &str,
        upright: bool,
    ) -> PyResult<Source> {
        let rules = words::json_rules(py, "rules", rules)?;
        Ok(Source { part: part.to_string(), of: of.to_string(), rules, upright })
    }
}

/// A column of one number for each object, which a keyword names.
#[derive(Clone)]
pub(crate) struct NamedValues {
    pub(crate) name: String,
    pub(crate) values: ObjectValues,
}

/// The columns of keywords such as `labels="/category_index"` and `area=("/area", "float32")`. `classes` numbers the texts of
/// `labels`.
pub(crate) fn named_values(
    py: Python<'_>,
    class: &str,
    more: Option<&Bound<'_, PyDict>>,
    classes: Option<&Bound<'_, PyAny>>,
) -> PyResult<Vec<NamedValues>> {
    let mut named = Vec::new();
    for (name, value) in more.into_iter().flatten() {
        let name = name.extract::<String>()?;
        if value.is_none() {
            continue;
        }
        let values = of_keyword(py, class, &name, &value)?;
        named.push(NamedValues { name, values });
    }
    if let Some(classes) = classes {
        let numbers = labels::numbers(classes)?;
        let Some(labels) = named.iter_mut().find(|named| named.name == "labels") else {
            let text = "classes= numbers the texts of labels=: give the pointer to them, labels=\"/class_name\"";
            return Err(usage(py, text));
        };
        labels.values = labels.values.clone().labels(numbers);
    }
    Ok(named)
}

/// The values at a pointer, or at a pointer with a type.
fn of_keyword(
    py: Python<'_>,
    class: &str,
    name: &str,
    value: &Bound<'_, PyAny>,
) -> PyResult<ObjectValues> {
    let usual = if SINGLES.contains(&name) { DType::F32 } else { DType::I64 };
    if let Ok(pointer) = value.extract::<String>()
        && pointer.starts_with('/')
    {
        return Ok(ObjectValues::new(&pointer, usual));
    }
    if value.is_instance_of::<PyTuple>()
        && let Ok([pointer, dtype]) = value.extract::<[String; 2]>()
        && pointer.starts_with('/')
    {
        return Ok(ObjectValues::new(&pointer, words::dtype(py, &dtype)?));
    }
    let near = py.import("difflib")?.getattr("get_close_matches")?;
    let near: Vec<String> = near.call1((name, SETTINGS, 1))?.extract()?;
    let meant = near.first().map(|near| format!("did you mean {near}=? ")).unwrap_or_default();
    Err(usage(
        py,
        format!(
            "{name}={} is no column of objects: {meant}{class} takes {name}=\"/pointer\" for a column of their values, or \
             {name}=(\"/pointer\", \"float32\"); help(tarflume.{class}) lists all",
            value.repr()?
        ),
    ))
}

/// The keywords of all classes, for spellings.
const SETTINGS: [&str; 18] = [
    "pointer",
    "format",
    "relative",
    "out",
    "normalize",
    "labels",
    "classes",
    "min_size",
    "min_area",
    "min_visibility",
    "part",
    "of",
    "rules",
    "upright",
    "most",
    "bits",
    "count",
    "flip_pairs",
];

/// A format of boxes.
pub(crate) fn format(py: Python<'_>, word: &str) -> PyResult<tarflume::AnyBoxFormat> {
    word.parse()
        .map_err(|error: tarflume::UnknownFormat| tarflume::Error::usage(error.to_string()))
        .or_raise(py)
}
