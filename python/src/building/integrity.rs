//! `pack_sign` signs a data set, `pack_repair` starts to repair one.

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use tarflume_base::Stop;
use tarflume_packer::build::jobs as jobs_of;
use tarflume_verify::repair;
use tarflume_verify::signature::{SigningKey, sign};

use crate::arguments::numbers::Number;
use crate::arguments::storage;
use crate::building::pack::threads;
use crate::building::packing::Work;
use crate::faults::failures::JobFailure;
use crate::faults::url;

/// Signs the data set in a folder.
#[pyfunction]
#[pyo3(signature = (folder, *, key, password=None))]
pub(crate) fn pack_sign<'py>(
    py: Python<'py>,
    folder: PathBuf,
    key: PathBuf,
    password: Option<String>,
) -> PyResult<Bound<'py, PyDict>> {
    let signed = py.detach(|| sign(&folder, &SigningKey::read(&key, password)?));
    let signed = signed.map_err(|failure| JobFailure::failure(failure).raised(py))?;
    let facts = PyDict::new(py);
    facts.set_item("path", signed.path.display().to_string())?;
    facts.set_item("root", signed.root)?;
    facts.set_item("key", signed.key)?;
    facts.set_item("public_key", signed.public)?;
    Ok(facts)
}

/// Starts to repair a data set.
#[pyfunction]
#[pyo3(signature = (folder, sources, *, root=None, dry_run=false, jobs=None, storage=None))]
pub(crate) fn pack_repair(
    py: Python<'_>,
    folder: PathBuf,
    sources: Vec<PathBuf>,
    root: Option<String>,
    dry_run: bool,
    jobs: Option<Number<u64>>,
    storage: Option<Bound<'_, PyAny>>,
) -> PyResult<Work> {
    let options = repair::Options {
        from: sources.into_iter().map(url::restored).collect(),
        root,
        dry_run,
        jobs: jobs_of(threads(py, jobs)?),
        stop: Stop::new(),
        storage: storage::pairs(py, storage.as_ref())?,
    };
    Work::repair(folder, options)
}
