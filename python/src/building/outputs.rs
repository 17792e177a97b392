//! Files that Python code writes under names of the user, checked as those of the commands are.

use std::path::PathBuf;

use pyo3::prelude::*;
use tarflume::Error;
use tarflume_formats::output::{OutputFile, OutputKind, is_json_line, is_refused, must_be_outside};

use crate::faults::errors::OrRaise;

/// Lines of `Stats.append`.
const STATISTICS: OutputKind = OutputKind {
    name: "a file of `Stats.append`",
    is: |bytes| is_json_line(bytes, &["time", "host", "rank"]),
};

/// Raises an error unless statistics may be appended to `path`.
#[pyfunction]
pub fn check_statistics_file(py: Python<'_>, path: PathBuf) -> PyResult<()> {
    OutputFile::new(&path, STATISTICS).map(drop).map_err(checked).or_raise(py)
}

/// Raises an error if `path` is in a folder that holds a data set.
#[pyfunction]
pub fn check_outside(py: Python<'_>, path: PathBuf) -> PyResult<()> {
    must_be_outside(&path).map_err(checked).or_raise(py)
}

fn checked(error: tarflume_formats::Error) -> Error {
    if !is_refused(&error) {
        return Error::from(error);
    }
    let usage = Error::usage(error.message());
    match &error.place().path {
        Some(path) => usage.with_path(path),
        None => usage,
    }
}
