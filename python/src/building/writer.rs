//! `Writer`: the compiled part of `tarflume.ShardWriter`, which writes parts, given as bytes, to shards.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard};

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use tarflume_base::check::CheckLevel;
use tarflume_formats::Durability;
use tarflume_packer::build::SHARD_SIZE;
use tarflume_packer::writer::{Abandoned, DatasetWriter, Options, Rejected, merge};
use tarflume_scan::names::rules::NameRules;

use crate::arguments::numbers::Number;
use crate::arguments::words;
use crate::building::pack::{bucket, bytes, choice};
use crate::building::packing_words::{compression, typed_columns};
use crate::faults::errors::usage;
use crate::faults::failures::{JobFailure, in_python};
use crate::faults::json::from_json;
use crate::faults::url;
use tarflume_formats::IgnorePoison;

/// Writes shards from the samples of a program to a folder or an object store; one writer for each data set.
#[pyclass(frozen, module = "tarflume._core")]
pub struct Writer {
    out: PathBuf,
    inner: Mutex<Option<DatasetWriter>>,
}

impl Writer {
    fn held(&self) -> MutexGuard<'_, Option<DatasetWriter>> {
        self.inner.lock().ignore_poison()
    }

    /// Takes the writer: later calls find it closed.
    fn taken(&self, py: Python<'_>) -> PyResult<DatasetWriter> {
        py.detach(|| self.held().take()).ok_or_else(|| self.closed(py))
    }

    fn closed(&self, py: Python<'_>) -> PyErr {
        usage(py, format!("this writer of {} is closed", self.out.display()))
    }
}

#[pymethods]
impl Writer {
    #[new]
    #[pyo3(signature = (out, *, shard_size=None, max_samples=None, prefix="shard", names="",
           check="structure", json_rules="strict", entry_points=true, fsync=true, fresh=false, compress=None, columns=None, storage=None,
           single_writer=false))]
    #[expect(clippy::too_many_arguments, reason = "keywords")]
    fn new(
        py: Python<'_>,
        out: PathBuf,
        shard_size: Option<Bound<'_, PyAny>>,
        max_samples: Option<Number<u64>>,
        prefix: &str,
        names: &str,
        check: &str,
        json_rules: &str,
        entry_points: bool,
        fsync: bool,
        fresh: bool,
        compress: Option<&str>,
        columns: Option<&str>,
        storage: Option<Bound<'_, PyAny>>,
        single_writer: bool,
    ) -> PyResult<Writer> {
        let out = url::restored(out);
        let bucket = bucket(py, &out, storage.as_ref())?;
        let max_samples = max_samples.map(|n| n.0);
        if max_samples == Some(0) {
            return Err(usage(py, "max_samples=0: at least 1 is needed"));
        }
        let check = choice::<CheckLevel>(py, "check", check)?;
        let shard_size = shard_size.map(|size| bytes(py, "shard_size", &size)).transpose()?;
        let options = Options {
            prefix: prefix.into(),
            // With max_samples and no shard_size, only the number of samples limits a shard.
            shard_size: shard_size.unwrap_or(max_samples.map_or(SHARD_SIZE, |_| u64::MAX)),
            shard_samples: max_samples,
            names: NameRules::parse(names)
                .map_err(|error| usage(py, format!("names=: {error}")))?,
            check,
            json: words::json_rules(py, "json_rules", json_rules)?,
            entry_points: entry_points && check != CheckLevel::None,
            durability: if fsync { Durability::Synced } else { Durability::Cached },
            fresh,
            compress: compression(py, compress)?,
            columns: typed_columns(py, columns)?.unwrap_or_default(),
        };
        let made = py.detach(|| match bucket {
            Some(bucket) => DatasetWriter::create_in(bucket, options, single_writer),
            None => DatasetWriter::create(&out, options),
        });
        let inner = made.map_err(|failure| JobFailure::failure(failure).raised(py))?;
        Ok(Writer { out, inner: Mutex::new(Some(inner)) })
    }

    /// Writes a sample: its key, and its parts by extension.
    fn write(
        &self,
        py: Python<'_>,
        key: &str,
        parts: Vec<(String, PyBackedBytes)>,
    ) -> PyResult<()> {
        let written = py.detach(|| {
            let parts: Vec<(&[u8], &[u8])> =
                parts.iter().map(|(ext, bytes)| (ext.as_bytes(), &bytes[..])).collect();
            self.held().as_mut().map(|writer| writer.write(key.as_bytes(), &parts))
        });
        match written {
            Some(Ok(())) => Ok(()),
            Some(Err(Rejected::Failure(failure))) => Err(JobFailure::failure(failure).raised(py)),
            Some(Err(Rejected::Problem(problem))) => {
                let text = "the sample was not written; the writer can write others";
                let error = JobFailure::problems(text, std::slice::from_ref(&*problem)).raised(py);
                error.value(py).setattr("key", key)?;
                Err(error)
            }
            None => Err(self.closed(py)),
        }
    }

    /// Samples written so far.
    #[getter]
    fn samples(&self, py: Python<'_>) -> PyResult<u64> {
        let samples = py.detach(|| self.held().as_ref().map(DatasetWriter::samples));
        samples.ok_or_else(|| self.closed(py))
    }

    /// What a user should know of uploads that killed writers had left behind.
    #[getter]
    fn notices(&self, py: Python<'_>) -> Vec<String> {
        let notices = py.detach(|| self.held().as_ref().map(DatasetWriter::notices));
        notices.unwrap_or_default().iter().map(in_python).collect()
    }

    /// The JPEGs of written samples that break rules of their format without losing a pixel.
    #[getter]
    fn irregular_jpegs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let jpegs = py.detach(|| self.held().as_ref().map(DatasetWriter::irregular_jpegs));
        from_json(py, &jpegs.ok_or_else(|| self.closed(py))?)
    }

    #[getter]
    fn is_closed(&self, py: Python<'_>) -> bool {
        py.detach(|| self.held().is_none())
    }

    /// Publishes the data set; returns its manifest.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let writer = self.taken(py)?;
        let finished = py.detach(|| writer.finish());
        let manifest = finished.map_err(|failure| JobFailure::failure(failure).raised(py))?;
        from_json(py, &manifest)
    }

    /// Stops without publishing; returns the number of finished shards, of samples in them, and their folder or URL.
    fn abandon(&self, py: Python<'_>) -> PyResult<(usize, u64, String)> {
        let writer = self.taken(py)?;
        let left = py.detach(|| writer.abandon());
        let Abandoned { shards, samples, folder } =
            left.map_err(|failure| JobFailure::failure(failure).raised(py))?;
        Ok((shards, samples, folder.display().to_string()))
    }
}

/// Joins the data sets in the folders `parts` to one in the folder `out`: see `tarflume.ray.write`.
#[pyfunction]
pub fn merge_parts<'py>(
    py: Python<'py>,
    out: PathBuf,
    parts: Vec<PathBuf>,
    prefix: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let merged = py.detach(|| merge(&out, &parts, prefix));
    let manifest = merged.map_err(|failure| JobFailure::failure(failure).raised(py))?;
    from_json(py, &manifest)
}
