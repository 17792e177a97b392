//! `Batch`: a mapping from names to columns.

use std::sync::Arc;

use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};

use crate::column::{Column, of_batch};
use crate::ragged::Ragged;

/// The name under which keys are found.
pub(crate) const KEY: &str = "key";

/// Some samples, decoded: a mapping from names to columns.
///
/// `batch["image"]` is a `Column`, columns of files and texts are `Ragged`, `batch["key"]` is a list
/// of `str`. Columns are views: they keep the batch's memory for themselves as long as they live.
#[pyclass(frozen, mapping, module = "tarflume")]
pub struct Batch {
    batch: Arc<tarflume::Batch>,
    /// Names of columns of text.
    texts: Arc<[String]>,
}

impl Batch {
    pub(crate) fn new(batch: tarflume::Batch, texts: Arc<[String]>) -> Batch {
        Batch { batch: Arc::new(batch), texts }
    }

    fn names(&self) -> Vec<&str> {
        self.batch.names().chain([KEY]).collect()
    }

    fn column<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        if name == KEY {
            return Ok(self.keys_of_rows(py)?.into_any());
        }
        let found = self.batch.column(name).map_err(|_| {
            let there = self.names().join(", ");
            PyKeyError::new_err(format!("no column {name:?}; there are {there}"))
        })?;
        if found.offsets().is_some() {
            let text = self.texts.iter().any(|text| text == name);
            return Ok(Bound::new(py, Ragged::new(&self.batch, name, text))?.into_any());
        }
        Ok(Bound::new(py, of_batch(py, &self.batch, name)?)?.into_any())
    }

    fn keys_of_rows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let keys = (0..self.batch.len()).map(|row| self.batch.key(row));
        let keys: PyResult<Vec<_>> = keys.map(|key| key_text(py, key)).collect();
        PyList::new(py, keys?)
    }
}

/// A key as Python has names of files: bytes that are not UTF-8 as surrogates.
pub(crate) fn key_text<'py>(py: Python<'py>, key: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    if let Ok(text) = std::str::from_utf8(key) {
        return Ok(PyString::new(py, text).into_any());
    }
    let bytes = pyo3::types::PyBytes::new(py, key);
    bytes.call_method1("decode", ("utf-8", "surrogateescape"))
}

#[pymethods]
impl Batch {
    /// How many samples it holds: fewer than asked for in the last batch of an epoch, or where bad
    /// samples were skipped.
    #[getter]
    fn rows(&self) -> usize {
        self.batch.len()
    }

    /// The epoch it belongs to.
    #[getter]
    fn epoch(&self) -> u64 {
        self.batch.epoch()
    }

    /// Its number in the epoch, from 0, counted from where the epoch was begun or resumed.
    #[getter]
    fn step(&self) -> u64 {
        self.batch.step()
    }

    /// The place of each row's sample in the data set: uint64.
    #[getter]
    fn ordinals(&self) -> Column {
        Column::numbers(self.batch.ordinals().collect())
    }

    /// True for each row that fills up the last batch and repeats a sample of this epoch.
    #[getter]
    fn padding(&self) -> Vec<bool> {
        self.batch.rows().map(|row| row.padding).collect()
    }

    /// The number of columns; `rows` is the number of samples.
    fn __len__(&self) -> usize {
        self.names().len()
    }

    fn __getitem__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        self.column(py, name)
    }

    fn __contains__(&self, name: &Bound<'_, PyAny>) -> bool {
        name.extract::<String>().is_ok_and(|name| self.names().contains(&name.as_str()))
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(self.keys(py)?.try_iter()?.into_any())
    }

    /// Names of all columns.
    fn keys<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, self.names())
    }

    /// All columns.
    fn values<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        self.names().into_iter().map(|name| self.column(py, name)).collect()
    }

    /// Names and columns.
    fn items<'py>(&self, py: Python<'py>) -> PyResult<Vec<(String, Bound<'py, PyAny>)>> {
        let item = |name: &str| Ok((name.to_string(), self.column(py, name)?));
        self.names().into_iter().map(item).collect()
    }

    /// The column of this name, or `default` if there is none.
    #[pyo3(signature = (name, default = None))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        if self.names().contains(&name) { self.column(py, name).map(Some) } else { Ok(default) }
    }

    /// All columns as NumPy arrays without a copy; files, texts and keys as lists.
    fn numpy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let made = PyDict::new(py);
        for name in self.names() {
            let column = self.column(py, name)?;
            let column = match column.hasattr("numpy")? {
                true => column.call_method0("numpy")?,
                false if name == KEY => column,
                false => column.call_method0("tolist")?,
            };
            made.set_item(name, column)?;
        }
        Ok(made)
    }

    fn __repr__(&self) -> String {
        format!("{:?}", self.batch)
    }
}
