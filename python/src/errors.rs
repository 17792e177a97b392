//! Errors of the crates below as exceptions of `tarflume.errors`, with path, byte and key.

use std::error::Error as _;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tarflume::{Error, ErrorKind};

/// The class of `tarflume.errors` for a kind of error.
fn class(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::Usage => "UsageError",
        ErrorKind::Io | ErrorKind::Machine => "ReadError",
        ErrorKind::Truncated => "TruncatedError",
        ErrorKind::Damaged => "DamagedError",
        ErrorKind::WrongFormat => "FormatError",
        ErrorKind::Stale => "StaleError",
        ErrorKind::MissingPart => "MissingPartError",
        ErrorKind::Decode => "DecodeError",
        ErrorKind::Limit => "LimitError",
        ErrorKind::TooManyBad => "TooManyBadError",
        ErrorKind::Device => "DeviceError",
        _ => "Error",
    }
}

/// The whole chain in one line: place, text, causes.
fn told(error: &Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        text = format!("{text}: {next}");
        cause = next.source();
    }
    text
}

/// The exception for an error; one that a user's function raised is its cause.
pub(crate) fn raised(py: Python<'_>, error: &Error) -> PyErr {
    made(py, error).unwrap_or_else(|failed| failed)
}

fn made(py: Python<'_>, error: &Error) -> PyResult<PyErr> {
    let place = error.place();
    let known = PyDict::new(py);
    known.set_item("path", place.path.as_deref())?;
    known.set_item("byte", place.byte)?;
    known.set_item("key", place.key.as_deref())?;
    let class = py.import("tarflume.errors")?.getattr(class(error.kind()))?;
    let made = PyErr::from_value(class.call((told(error),), Some(&known))?);
    let cause = error.source().and_then(|source| source.downcast_ref::<PyErr>());
    made.set_cause(py, cause.map(|cause| cause.clone_ref(py)));
    Ok(made)
}

/// A result as Python knows it.
pub(crate) trait OrRaise<T> {
    /// The value, or the error as an exception.
    fn or_raise(self, py: Python<'_>) -> PyResult<T>;
}

impl<T> OrRaise<T> for tarflume::Result<T> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|error| raised(py, &error))
    }
}

/// A request that can't be met, as an exception.
pub(crate) fn usage(py: Python<'_>, text: impl Into<String>) -> PyErr {
    raised(py, &Error::usage(text))
}

/// What can't happen, as an exception instead of a crash.
pub(crate) fn bug(what: &str) -> PyErr {
    PyRuntimeError::new_err(format!("{what}: this is a bug of tarflume, please report it"))
}
