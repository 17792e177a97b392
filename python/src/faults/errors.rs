//! Errors of the crates below as exceptions of `tarflume.errors`, with path, byte and key.

use std::error::Error as _;
use std::io;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tarflume::{Error, ErrorKind};
use tarflume_formats::Place;
use tarflume_formats::message::{Face, Message};
use tarflume_formats::url::without_secrets;

use crate::faults::url;

/// "No such file or directory" in Linux.
const ENOENT: i32 = 2;

/// The class of `tarflume.errors` for a kind of error.
fn class(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::Usage => "UsageError",
        ErrorKind::Io | ErrorKind::Machine => "ReadError",
        ErrorKind::Network => "NetworkError",
        ErrorKind::Refused => "PermissionDeniedError",
        ErrorKind::Truncated => "TruncatedError",
        ErrorKind::Damaged => "DamagedError",
        ErrorKind::WrongFormat => "FormatError",
        ErrorKind::Stale => "StaleError",
        ErrorKind::MissingPart => "MissingPartError",
        ErrorKind::Decode | ErrorKind::Unsupported => "DecodeError",
        ErrorKind::Limit => "LimitError",
        ErrorKind::TooManyBad => "TooManyBadError",
        ErrorKind::Device => "DeviceError",
        _ => "Error",
    }
}

/// True for an error of a library that contains nothing but its kind.
fn is_a_kind_alone(error: &io::Error) -> bool {
    error.raw_os_error().is_none() && error.get_ref().is_none()
}

/// The whole chain in one line: place, text, causes.
fn told(error: &Error) -> String {
    let mut text = error.in_face(Face::Python);
    let mut cause = error.source();
    while let Some(next) = cause {
        if next.downcast_ref::<io::Error>().is_some_and(is_a_kind_alone) {
            break; // the text contains it
        }
        let own = next.downcast_ref::<Error>().map(|below| below.in_face(Face::Python));
        let next_text = own.unwrap_or_else(|| next.to_string());
        text = format!("{text}: {next_text}");
        cause = next.source();
    }
    text
}

/// The exception for an error. Its cause is the exception of a user's function, if that failed.
pub(crate) fn raised(py: Python<'_>, error: &Error) -> PyErr {
    made(py, error).unwrap_or_else(|failed| failed)
}

/// The operating system's error that caused an error of reading.
fn of_the_system(error: &Error) -> Option<&io::Error> {
    let asked = matches!(error.kind(), ErrorKind::Io | ErrorKind::Machine | ErrorKind::Refused);
    let mut cause = error.source().filter(|_| asked);
    while let Some(next) = cause {
        if let Some(found) = next.downcast_ref::<io::Error>() {
            return Some(found);
        }
        cause = next.source();
    }
    None
}

/// True if a sidecar and its tar do not belong together.
fn is_of_a_shard(error: &Error) -> bool {
    let end = error.place().path.as_ref().and_then(|path| path.extension());
    error.kind() == ErrorKind::Stale && end.is_some_and(|end| end == "index" || end == "tar")
}

/// The class for an error of the operating system. Python's class for the same error is a base of it.
fn class_of_the_system(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::NotFound => "MissingFileError",
        io::ErrorKind::PermissionDenied => "PermissionDeniedError",
        _ => class(ErrorKind::Io),
    }
}

/// The exception of a user's function that ends an epoch as it is: see `ApplyDecoder`.
fn of_user(py: Python<'_>, error: &Error) -> PyResult<Option<PyErr>> {
    let cause = error.source().and_then(|source| source.downcast_ref::<PyErr>());
    let Some(cause) = cause.filter(|_| error.kind() == ErrorKind::Machine) else { return Ok(None) };
    let cause = cause.clone_ref(py);
    cause.value(py).call_method1("add_note", (error.in_face(Face::Python),))?;
    Ok(Some(cause))
}

/// What an exception knows of the place: `path`, `byte` and `key`.
pub(crate) fn place_of<'py>(py: Python<'py>, place: &Place) -> PyResult<Bound<'py, PyDict>> {
    let known = PyDict::new(py);
    let path = place.path.as_deref().map(|path| url::shown(py, path)).transpose()?;
    known.set_item("path", path)?;
    known.set_item("byte", place.byte)?;
    known.set_item("key", place.key.as_deref())?;
    Ok(known)
}

fn made(py: Python<'_>, error: &Error) -> PyResult<PyErr> {
    if let Some(own) = of_user(py, error)? {
        return Ok(own);
    }
    let known = place_of(py, error.place())?;
    let system = of_the_system(error);
    if let Some(system) = system {
        let missing = (system.kind() == io::ErrorKind::NotFound).then_some(ENOENT);
        known.set_item("errno", system.raw_os_error().or(missing))?;
    }
    let class = match system {
        Some(system) => class_of_the_system(system),
        None if is_of_a_shard(error) => "StaleShardError",
        None => class(error.kind()),
    };
    let class = py.import("tarflume.errors")?.getattr(class)?;
    let made =
        PyErr::from_value(class.call((without_secrets(&told(error)).into_owned(),), Some(&known))?);
    let cause = error.source().and_then(|source| source.downcast_ref::<PyErr>());
    made.set_cause(py, cause.map(|cause| cause.clone_ref(py)));
    Ok(made)
}

/// Conversion of a result to Python's.
pub(crate) trait OrRaise<T> {
    /// The value, or the error as an exception.
    fn or_raise(self, py: Python<'_>) -> PyResult<T>;
}

impl<T, E: Into<Error>> OrRaise<T> for Result<T, E> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|error| raised(py, &error.into()))
    }
}

/// A usage error as an exception.
pub(crate) fn usage(py: Python<'_>, text: impl Into<Message>) -> PyErr {
    raised(py, &Error::usage(text))
}

/// An internal error as an exception, instead of a crash.
pub(crate) fn bug(what: &str) -> PyErr {
    PyRuntimeError::new_err(format!("{what}: this is a bug of tarflume, please report it"))
}
