//! Makes the sidecar of a shard that a writer closed.

use std::path::PathBuf;

use pyo3::prelude::*;
use tarflume::{Error, ErrorKind};
use tarflume_base::{Exit, Stop};
use tarflume_formats::Reading;
use tarflume_shards::index::{Options, index_tar};

use crate::faults::errors::OrRaise;
use crate::faults::failures::in_python;

/// Makes the sidecar of the plain tar at `path`, and replaces an existing one; with `entry_points`, also
/// the entry points of JPEGs. Returns the number of samples, and warnings for readers.
#[pyfunction]
#[pyo3(signature = (path, *, entry_points = false))]
pub fn write_sidecar(
    py: Python<'_>,
    path: PathBuf,
    entry_points: bool,
) -> PyResult<(u64, Vec<String>)> {
    let options = Options {
        reading: Reading::Everything,
        entry_points,
        splits: false,
        force: true,
        accept_edits: false,
        allow_missing_end: false,
        ignore_zeros: false,
        columns: tarflume_base::Columns::default(),
        jobs: 1,
        stop: Stop::new(),
        storage: Vec::new(),
    };
    let made = py.detach(|| {
        index_tar(&path, &options, &|_| {}).map_err(|failure| {
            let kind = match failure.exit() {
                Exit::Usage => ErrorKind::Usage,
                Exit::Barred => ErrorKind::Io,
                Exit::TryAgain => ErrorKind::Machine,
                _ => ErrorKind::Damaged,
            };
            Error::new(kind, failure.message())
        })
    });
    let made = made.or_raise(py)?;
    Ok((made.entry.samples, made.warnings.iter().map(in_python).collect()))
}
