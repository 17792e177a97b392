//! `default=` of a column of JSON.

use pyo3::prelude::*;
use pyo3::types::PyString;
use tarflume::JsonDefault;

/// The default that a value of Python is: a text, a number, or a list of numbers.
pub(crate) fn json_default(value: &Bound<'_, PyAny>) -> PyResult<JsonDefault> {
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(JsonDefault::Text(text.to_string()));
    }
    if let Ok(whole) = value.extract::<i64>() {
        return Ok(whole.into());
    }
    if let Ok(whole) = value.extract::<u64>() {
        return Ok(whole.into());
    }
    if let Ok(real) = value.extract::<f64>() {
        return Ok(real.into());
    }
    match value.extract::<Vec<i64>>() {
        Ok(whole) => Ok(whole.into()),
        Err(_) => Ok(value.extract::<Vec<f64>>()?.into()),
    }
}
