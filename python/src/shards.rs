//! `Dataset`: open shards with their sidecars, and samples by number and by key.

use std::path::PathBuf;

use pyo3::exceptions::{PyIndexError, PyKeyError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use tarflume::Shards;

use crate::batch::key_text;
use crate::errors::{OrRaise, usage};

/// A data set: a folder of shards, a `dataset.json`, one tar, a pattern (`"shards/{000..765}.tar"`,
/// `"shards/*.tar"`), or a list of these. It takes little memory, and processes share it: sidecars are
/// mapped, not parsed.
///
/// `dataset[n]` is sample `n` as a dict of `bytes`, with `"__key__"`.
#[pyclass(frozen, module = "tarflume")]
pub struct Dataset {
    pub(crate) dataset: tarflume::Dataset,
    /// The paths that it was opened with, for pickling.
    named: Option<Vec<PathBuf>>,
}

/// Opens the value of a `shards` argument.
pub(crate) fn open(py: Python<'_>, shards: &Bound<'_, PyAny>) -> PyResult<tarflume::Dataset> {
    if let Ok(dataset) = shards.cast::<Dataset>() {
        return Ok(dataset.get().dataset.clone());
    }
    let paths = paths(py, shards)?;
    py.detach(|| tarflume::Dataset::open(Shards::from(paths))).or_raise(py)
}

fn paths(py: Python<'_>, shards: &Bound<'_, PyAny>) -> PyResult<Vec<PathBuf>> {
    if let Ok(path) = shards.extract::<PathBuf>() {
        return Ok(vec![path]);
    }
    shards.extract::<Vec<PathBuf>>().map_err(|_| {
        usage(py, "shards are a folder, a dataset.json, a tar, a pattern, or a list of these")
    })
}

impl Dataset {
    fn ordinal(&self, n: isize) -> PyResult<u64> {
        let len = self.dataset.len();
        let at = if n < 0 { (n as i64).checked_add_unsigned(len) } else { Some(n as i64) };
        match at {
            Some(at) if at >= 0 && (at as u64) < len => Ok(at as u64),
            _ => Err(PyIndexError::new_err(format!("sample {n} of {len}"))),
        }
    }

    fn sample<'py>(
        &self,
        py: Python<'py>,
        sample: &tarflume::DatasetSample,
    ) -> PyResult<Bound<'py, PyDict>> {
        let made = PyDict::new(py);
        made.set_item("__key__", key_text(py, sample.key())?)?;
        for part in sample.parts() {
            made.set_item(part.ext(), PyBytes::new(py, part.bytes().as_slice()))?;
        }
        Ok(made)
    }
}

#[pymethods]
impl Dataset {
    #[new]
    fn new(py: Python<'_>, shards: &Bound<'_, PyAny>) -> PyResult<Dataset> {
        let named = paths(py, shards).ok();
        Ok(Dataset { dataset: open(py, shards)?, named })
    }

    fn __len__(&self) -> usize {
        self.dataset.len() as usize
    }

    /// Sample `n` as a dict: `"__key__"`, and the bytes of each part by its extension.
    fn __getitem__<'py>(&self, py: Python<'py>, n: isize) -> PyResult<Bound<'py, PyDict>> {
        let ordinal = self.ordinal(n)?;
        let sample = py.detach(|| self.dataset.get(ordinal)).or_raise(py)?;
        self.sample(py, &sample)
    }

    /// Sample `n` with these parts only; the others are not read.
    fn get<'py>(
        &self,
        py: Python<'py>,
        n: isize,
        parts: Vec<String>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let ordinal = self.ordinal(n)?;
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        let sample = py.detach(|| self.dataset.get_parts(ordinal, &parts)).or_raise(py)?;
        self.sample(py, &sample)
    }

    /// The sample with this key.
    fn find<'py>(&self, py: Python<'py>, key: &str) -> PyResult<Bound<'py, PyDict>> {
        let found = py.detach(|| self.dataset.get_key(key)).or_raise(py)?;
        let sample = found.ok_or_else(|| PyKeyError::new_err(key.to_string()))?;
        self.sample(py, &sample)
    }

    /// The key of sample `n`.
    fn key<'py>(&self, py: Python<'py>, n: isize) -> PyResult<Bound<'py, PyAny>> {
        key_text(py, &self.dataset.key(self.ordinal(n)?).or_raise(py)?)
    }

    /// Each extension, and the number of samples that have it.
    fn extensions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let made = PyDict::new(py);
        for (ext, samples) in self.dataset.extensions().or_raise(py)? {
            made.set_item(ext, samples)?;
        }
        Ok(made)
    }

    /// Paths of the shards, in order.
    #[getter]
    fn shards(&self) -> Vec<PathBuf> {
        self.dataset.shards().iter().map(|shard| shard.path().to_path_buf()).collect()
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Vec<PathBuf>,))> {
        let Some(named) = slf.get().named.clone() else {
            return Err(usage(
                slf.py(),
                "this data set was made from another one and cannot be pickled: open it from its paths",
            ));
        };
        Ok((slf.get_type().into_any(), (named,)))
    }

    fn __repr__(&self) -> String {
        format!("Dataset({} samples, {} shards)", self.dataset.len(), self.dataset.shards().len())
    }
}
