//! Errors of the crates below as exceptions of `tarflume.errors`, with path, byte and key.

use std::error::Error as _;
use std::io;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tarflume::{Error, ErrorKind};

/// "No such file or directory" in Linux.
const ENOENT: i32 = 2;

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

/// No more than "not found", by a library and not by the system.
fn is_a_kind_alone(error: &io::Error) -> bool {
    error.raw_os_error().is_none() && error.get_ref().is_none()
}

/// The whole chain in one line: place, text, causes.
fn told(error: &Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        if next.downcast_ref::<io::Error>().is_some_and(is_a_kind_alone) {
            break; // which the text above says
        }
        text = format!("{text}: {next}");
        cause = next.source();
    }
    text
}

/// Calls of the builder as the keywords of the same names: `.memory()` as `memory=`.
fn keywords(text: &str) -> String {
    let text = text.replace("Split::new(rank, world)", "rank= and world=");
    let text = text.replace(".device(..)", "device=\"cuda\"");
    let (mut out, mut rest) = (String::with_capacity(text.len()), &text[..]);
    while let Some(at) = rest.find('.') {
        let behind = &rest[at + 1..];
        let end = behind.find(|c: char| !c.is_ascii_lowercase() && c != '_').unwrap_or(0);
        let (name, more) = behind.split_at(end);
        let call = ["()", "(..)"].iter().find_map(|call| more.strip_prefix(call));
        let begins = at == 0 || rest[..at].ends_with([' ', '(', '`']);
        out.push_str(&rest[..at]);
        rest = match call.filter(|_| begins && !name.is_empty()) {
            Some(more) => {
                out.push_str(name);
                out.push('=');
                more
            }
            None => {
                out.push('.');
                behind
            }
        };
    }
    out.push_str(rest);
    out
}

/// The exception for an error; one that a user's function raised is its cause.
pub(crate) fn raised(py: Python<'_>, error: &Error) -> PyErr {
    made(py, error).unwrap_or_else(|failed| failed)
}

/// The operating system's error below `error`, if it is one of reading.
fn of_the_system(error: &Error) -> Option<&io::Error> {
    let asked = matches!(error.kind(), ErrorKind::Io | ErrorKind::Machine);
    let mut cause = error.source().filter(|_| asked);
    while let Some(next) = cause {
        if let Some(found) = next.downcast_ref::<io::Error>() {
            return Some(found);
        }
        cause = next.source();
    }
    None
}

/// A sidecar describes another tar than the one that is there.
fn is_of_a_shard(error: &Error) -> bool {
    let end = error.place().path.as_ref().and_then(|path| path.extension());
    error.kind() == ErrorKind::Stale && end.is_some_and(|end| end == "index" || end == "tar")
}

/// The class for the operating system's error: what Python raises for the same error is a base of it.
fn class_of_the_system(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::NotFound => "MissingFileError",
        io::ErrorKind::PermissionDenied => "PermissionDeniedError",
        _ => class(ErrorKind::Io),
    }
}

fn made(py: Python<'_>, error: &Error) -> PyResult<PyErr> {
    let place = error.place();
    let known = PyDict::new(py);
    known.set_item("path", place.path.as_deref())?;
    known.set_item("byte", place.byte)?;
    known.set_item("key", place.key.as_deref())?;
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
    let made = PyErr::from_value(class.call((keywords(&told(error)),), Some(&known))?);
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
