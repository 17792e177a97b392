//! Conversion between values of the crates below and Python objects, through JSON.

use pyo3::prelude::*;
use serde::Serialize;

use crate::faults::errors::bug;

/// A value as dicts, lists, numbers and strings.
pub(crate) fn from_json<'py>(
    py: Python<'py>,
    value: &impl Serialize,
) -> PyResult<Bound<'py, PyAny>> {
    let text =
        serde_json::to_string(value).map_err(|_| bug("a value that JSON cannot represent"))?;
    py.import("json")?.call_method1("loads", (text,))
}

/// A Python object as JSON text.
pub(crate) fn to_json(object: &Bound<'_, PyAny>) -> PyResult<String> {
    object.py().import("json")?.call_method1("dumps", (object,))?.extract()
}
