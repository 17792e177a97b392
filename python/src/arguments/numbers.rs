//! `Number` and `Shape`: whole numbers as arguments, with a readable error for other values.

use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::faults::errors::usage;

/// A whole number from 0 on that fits into `T`.
#[derive(Clone, Copy)]
pub(crate) struct Number<T>(pub(crate) T);

impl<'a, 'py, T: TryFrom<u64>> FromPyObject<'a, 'py> for Number<T> {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let fitting = object.extract::<u64>().ok().and_then(|n| T::try_from(n).ok());
        fitting.map(Number).ok_or_else(|| refused(&object))
    }
}

fn refused(object: &Bound<'_, PyAny>) -> PyErr {
    let what = match object.extract::<u64>() {
        Ok(_) => "a smaller number",
        Err(_) => "a whole number, 0 or more,",
    };
    match object.repr() {
        Ok(given) => usage(object.py(), format!("{what} is needed, not {given}")),
        Err(failed) => failed,
    }
}

/// The elements along each dimension, from a tuple or list.
pub(crate) struct Shape(pub(crate) Vec<usize>);

impl<'a, 'py> FromPyObject<'a, 'py> for Shape {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if object.cast::<PyString>().is_err() && object.try_iter().is_ok() {
            return object.extract::<Vec<Number<usize>>>().map(|numbers| Shape(plain(numbers)));
        }
        let given = object.repr()?;
        let text = match object.extract::<Number<usize>>() {
            Ok(Number(one)) => format!("a shape is a tuple, such as ({one},), not {given}"),
            Err(_) => {
                format!("a shape is a tuple of whole numbers, such as (3, 224, 224), not {given}")
            }
        };
        Err(usage(object.py(), text))
    }
}

/// The inner numbers.
pub(crate) fn plain<T>(numbers: Vec<Number<T>>) -> Vec<T> {
    numbers.into_iter().map(|Number(n)| n).collect()
}
