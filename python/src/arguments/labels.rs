//! Labels: texts and their numbers, as a list or a dict.

use std::collections::HashMap;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::faults::errors::usage;

/// Texts with their numbers.
pub(crate) type Numbers = Vec<(String, i64)>;

/// The numbers of texts: their places in a list, or the values of a dict. A dict of texts by number, such as the classes
/// of a data set, is turned round.
pub(crate) fn numbers(labels: &Bound<'_, PyAny>) -> PyResult<Numbers> {
    if let Ok(dict) = labels.cast::<PyDict>() {
        if let Ok(numbers) = dict.extract::<HashMap<String, i64>>() {
            return Ok(numbers.into_iter().collect());
        }
        if let Ok(names) = dict.extract::<HashMap<i64, String>>() {
            let numbers: HashMap<String, i64> =
                names.iter().map(|(number, name)| (name.clone(), *number)).collect();
            if numbers.len() == names.len() {
                return Ok(numbers.into_iter().collect());
            }
            let text = "labels: two numbers have the same text";
            return Err(usage(labels.py(), text));
        }
    } else if let Ok(texts) = labels.extract::<Vec<String>>() {
        return Ok(texts.into_iter().zip(0..).collect());
    }
    let text =
        "labels are a list of texts, [\"cat\", \"dog\"], or a dict, {\"cat\": 0, \"dog\": 1}";
    Err(usage(labels.py(), format!("{text}, not {}", labels.repr()?)))
}

/// A list or a dict that later changes of `labels` do not reach.
pub(crate) fn copied<'py>(labels: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    match labels.cast::<PyDict>() {
        Ok(dict) => Ok(dict.copy()?.into_any()),
        Err(_) => Ok(PyList::new(labels.py(), labels.extract::<Vec<String>>()?)?.into_any()),
    }
}

/// `classes=`: the numbers of the texts of `label=` if it is a dict; otherwise where `weights=` finds the classes.
pub(crate) fn of_classes<'py>(
    classes: Option<Bound<'py, PyAny>>,
) -> PyResult<(Option<Numbers>, Option<Bound<'py, PyAny>>)> {
    match classes {
        Some(classes) if classes.is_instance_of::<PyDict>() => Ok((Some(numbers(&classes)?), None)),
        classes => Ok((None, classes)),
    }
}
