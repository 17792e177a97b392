//! `DeviceRagged`: a column of objects in the memory of a GPU, such as boxes.

use std::sync::Arc;

use pyo3::exceptions::PyAttributeError;
use pyo3::prelude::*;
use pyo3::types::PyList;
use tarflume::DeviceBatch;

use crate::batches::column::Column;
use crate::batches::device::DeviceColumn;
use crate::batches::ragged::{Ragged, RowPlace, WhichRows};

/// Rows of different numbers of objects in the memory of a GPU: a sequence with a `DeviceColumn` for each picture.
///
/// The rows are views of `values`, which has the objects of all pictures and was copied to the GPU at once. Where each row
/// begins is in host memory: `offsets`. `batch.host` has the same column in host memory.
#[pyclass(frozen, module = "tarflume")]
pub struct DeviceRagged {
    batch: Arc<DeviceBatch>,
    /// The rows in host memory.
    host: Ragged,
    name: String,
    values: tarflume::DeviceColumn,
}

impl DeviceRagged {
    pub(crate) fn new(
        batch: &Arc<DeviceBatch>,
        values: tarflume::DeviceColumn,
        host: Ragged,
    ) -> DeviceRagged {
        DeviceRagged { batch: batch.clone(), host, name: values.name.clone(), values }
    }

    fn row(&self, py: Python<'_>, row: usize) -> PyResult<DeviceColumn> {
        let RowPlace { from, shape } = self.host.place(&self.host.column(py)?, row)?;
        let pointer = self.values.pointer + from as u64;
        let column = tarflume::DeviceColumn { pointer, shape, ..self.values.clone() };
        Ok(DeviceColumn::new(&self.batch, column))
    }
}

#[pymethods]
impl DeviceRagged {
    fn __len__(&self) -> usize {
        self.host.__len__()
    }

    /// `column[row]`; a slice is a list of rows.
    fn __getitem__<'py>(&self, which: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = which.py();
        match WhichRows::of(which, self.__len__())? {
            WhichRows::One(row) => Ok(Bound::new(py, self.row(py, row)?)?.into_any()),
            WhichRows::Several(rows) => {
                let rows: PyResult<Vec<_>> =
                    rows.into_iter().map(|row| self.row(py, row)).collect();
                Ok(PyList::new(py, rows?)?.into_any())
            }
        }
    }

    /// The type of an element, by its NumPy name.
    #[getter]
    fn dtype(&self, py: Python<'_>) -> PyResult<&'static str> {
        self.host.dtype(py)
    }

    /// The objects of all rows in one array; of masks, all their pixels in one dimension.
    #[getter]
    fn values(&self) -> DeviceColumn {
        DeviceColumn::new(&self.batch, self.values.clone())
    }

    /// Where each row begins in `values`, and where the last one ends: uint64 [rows + 1], in host memory. They count objects;
    /// of masks, pixels.
    #[getter]
    fn offsets(&self, py: Python<'_>) -> PyResult<Column> {
        self.host.offsets(py)
    }

    /// True: rows have objects that lie on pictures.
    #[getter]
    fn has_objects(&self) -> bool {
        self.host.has_objects()
    }

    /// The shape of the masks of each row; an empty list for other columns.
    #[getter]
    fn shapes(&self, py: Python<'_>) -> PyResult<Vec<(usize, usize, usize)>> {
        self.host.shapes(py)
    }

    fn __getattr__(&self, name: &str) -> PyResult<()> {
        let mut text = format!("'DeviceRagged' object has no attribute '{name}'");
        if !name.starts_with('_') {
            let column = &self.name;
            text += &format!(
                "; its values are in GPU memory: batch.host[{column:?}] has them in host memory, and the batches of \
                 tarflume.torch.Loader are tensors"
            );
        }
        Err(PyAttributeError::new_err(text))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let kind = self.values.device.0;
        let number = self.values.device.1;
        let rows = self.__len__();
        Ok(format!("DeviceRagged({}, {rows} rows, device {kind}:{number})", self.dtype(py)?))
    }
}
