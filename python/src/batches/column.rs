//! `Column`: an array of a batch, which NumPy, PyTorch, JAX and others use without a copy.
//!
//! Contains unsafe code, for `__getbuffer__`. Contract:
//! - the view's object is this column, which keeps shape, strides, format and memory in place until the
//!   view is released. A column never changes;
//! - the memory is exported as read-only.

#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::sync::Arc;

use pyo3::exceptions::{PyBufferError, PyIndexError, PyTypeError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::pyclass::CompareOp;
use pyo3::types::{PyBytes, PyDict, PyTuple};
use tarflume::{Batch, DType};

use crate::arguments::words::{self, dtype_name};
use crate::buffers::array_format::{Packed, formats, typestr};
use crate::buffers::dlpack::{Array, HOST, export};
use crate::buffers::memory::{BatchColumnMemory, Memory, VecMemory, copy_of};
use crate::faults::errors::{OrRaise, usage};
use crate::faults::missing;

/// A read-only array in host memory: rows in order, without gaps.
///
/// It is a view of a batch and keeps the batch's memory. Another batch uses the memory only when all views
/// are dropped. `numpy.asarray(column)`, `torch.from_dlpack(column)`,
/// `jax.dlpack.from_dlpack(column)` and `memoryview(column)` take it without a copy.
///
/// Operators, comparisons, and attributes that a column lacks are those of its NumPy array: `column / 255`,
/// `column == 3`, `column.mean()`. A column without a dimension is a number.
#[pyclass(frozen, module = "tarflume")]
pub struct Column {
    memory: Arc<dyn Memory>,
    dtype: DType,
    shape: Box<[isize]>,
    /// In bytes.
    strides: Box<[isize]>,
}

impl Column {
    pub(crate) fn new(memory: Arc<dyn Memory>, dtype: DType, shape: &[usize]) -> Column {
        let Packed { shape, strides } = Packed::of(dtype, shape);
        Column { memory, dtype, shape, strides }
    }

    /// The column `name` of a batch.
    ///
    /// # Errors
    /// The batch has no column of this name.
    pub(crate) fn of(batch: &Arc<Batch>, name: &str) -> tarflume::Result<Column> {
        let column = batch.column(name)?;
        let memory = BatchColumnMemory { batch: batch.clone(), name: name.to_string() };
        Ok(Column::new(Arc::new(memory), column.dtype(), &column.shape()))
    }

    pub(crate) fn numbers(values: Vec<u64>) -> Column {
        let shape = [values.len()];
        Column::new(Arc::new(VecMemory(values)), DType::U64, &shape)
    }

    /// A column of signed numbers.
    pub(crate) fn signed(values: Vec<i64>) -> Column {
        let shape = [values.len()];
        Column::new(Arc::new(VecMemory(values)), DType::I64, &shape)
    }

    /// The length of the first dimension.
    fn rows(&self) -> Option<usize> {
        self.shape.first().map(|&rows| rows as usize)
    }

    fn array(&self, memory: Arc<dyn Memory>) -> Array<'_> {
        Array::host(memory, self.dtype, &self.shape, &self.strides)
    }
}

/// What an operator makes of the NumPy array.
type Made<'py> = PyResult<Bound<'py, PyAny>>;

/// Bytes, type and shape of a pickled column.
type Copied<'py> = (Bound<'py, PyBytes>, &'static str, Vec<usize>);

/// The column of a pickle.
#[pyfunction]
pub(crate) fn copied_column(
    py: Python<'_>,
    bytes: &[u8],
    dtype: &str,
    shape: Vec<usize>,
) -> PyResult<Column> {
    let dtype = words::dtype(py, dtype)?;
    let expected = shape.iter().try_fold(dtype.size(), |product, &n| product.checked_mul(n));
    if expected != Some(bytes.len()) {
        return Err(usage(py, format!("{} bytes are no {dtype} of shape {shape:?}", bytes.len())));
    }
    Ok(Column::new(copy_of(bytes), dtype, &shape))
}

#[pymethods]
impl Column {
    /// Rows, then the shape of a row.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.shape.iter())
    }

    /// The type of an element, by its NumPy name.
    #[getter]
    fn dtype(&self) -> &'static str {
        dtype_name(self.dtype)
    }

    /// Bytes of all elements.
    #[getter]
    fn nbytes(&self) -> usize {
        self.memory.bytes().len()
    }

    #[getter]
    fn ndim(&self) -> usize {
        self.shape.len()
    }

    fn __len__(&self) -> PyResult<usize> {
        let rows = self.rows();
        rows.ok_or_else(|| {
            PyTypeError::new_err("a column without a dimension is a number and has no length")
        })
    }

    /// `column[row]`: the same as `numpy.asarray(column)[row]`.
    fn __getitem__<'py>(
        slf: &Bound<'py, Self>,
        index: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if let Ok(row) = index.extract::<isize>() {
            let rows = slf.get().__len__()? as isize;
            if !(-rows..rows).contains(&row) {
                return Err(PyIndexError::new_err(format!("row {row} of {rows}")));
            }
        }
        slf.call_method0("numpy")?.get_item(index)
    }

    /// The elements as a read-only NumPy array, without a copy.
    fn numpy<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("numpy")?.call_method1("asarray", (slf,))
    }

    /// The elements as nested lists of numbers.
    fn tolist<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("builtins")?.call_method1("memoryview", (slf,))?.call_method0("tolist")
    }

    fn __bool__(slf: &Bound<'_, Self>) -> PyResult<bool> {
        Column::numpy(slf)?.is_truthy()
    }

    fn __int__<'py>(slf: &Bound<'py, Self>) -> Made<'py> {
        Column::numpy(slf)?.call_method0("__int__")
    }

    fn __float__<'py>(slf: &Bound<'py, Self>) -> Made<'py> {
        Column::numpy(slf)?.call_method0("__float__")
    }

    fn __index__<'py>(slf: &Bound<'py, Self>) -> Made<'py> {
        Column::numpy(slf)?.call_method0("__index__")
    }

    fn __richcmp__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
        by: CompareOp,
    ) -> PyResult<Bound<'py, PyAny>> {
        Column::numpy(slf)?.rich_compare(other, by)
    }

    fn __add__<'py>(slf: &Bound<'py, Self>, other: Bound<'py, PyAny>) -> Made<'py> {
        Column::numpy(slf)?.add(other)
    }

    fn __radd__<'py>(slf: &Bound<'py, Self>, other: Bound<'py, PyAny>) -> Made<'py> {
        other.add(Column::numpy(slf)?)
    }

    fn __sub__<'py>(slf: &Bound<'py, Self>, other: Bound<'py, PyAny>) -> Made<'py> {
        Column::numpy(slf)?.sub(other)
    }

    fn __rsub__<'py>(slf: &Bound<'py, Self>, other: Bound<'py, PyAny>) -> Made<'py> {
        other.sub(Column::numpy(slf)?)
    }

    fn __mul__<'py>(slf: &Bound<'py, Self>, other: Bound<'py, PyAny>) -> Made<'py> {
        Column::numpy(slf)?.mul(other)
    }

    fn __rmul__<'py>(slf: &Bound<'py, Self>, other: Bound<'py, PyAny>) -> Made<'py> {
        other.mul(Column::numpy(slf)?)
    }

    fn __truediv__<'py>(slf: &Bound<'py, Self>, other: Bound<'py, PyAny>) -> Made<'py> {
        Column::numpy(slf)?.div(other)
    }

    fn __rtruediv__<'py>(slf: &Bound<'py, Self>, other: Bound<'py, PyAny>) -> Made<'py> {
        other.div(Column::numpy(slf)?)
    }

    fn __floordiv__<'py>(slf: &Bound<'py, Self>, other: Bound<'py, PyAny>) -> Made<'py> {
        Column::numpy(slf)?.floor_div(other)
    }

    fn __rfloordiv__<'py>(slf: &Bound<'py, Self>, other: Bound<'py, PyAny>) -> Made<'py> {
        other.floor_div(Column::numpy(slf)?)
    }

    fn __mod__<'py>(slf: &Bound<'py, Self>, other: Bound<'py, PyAny>) -> Made<'py> {
        Column::numpy(slf)?.rem(other)
    }

    fn __rmod__<'py>(slf: &Bound<'py, Self>, other: Bound<'py, PyAny>) -> Made<'py> {
        other.rem(Column::numpy(slf)?)
    }

    fn __matmul__<'py>(slf: &Bound<'py, Self>, other: Bound<'py, PyAny>) -> Made<'py> {
        Column::numpy(slf)?.matmul(other)
    }

    fn __rmatmul__<'py>(slf: &Bound<'py, Self>, other: Bound<'py, PyAny>) -> Made<'py> {
        other.matmul(Column::numpy(slf)?)
    }

    fn __divmod__<'py>(slf: &Bound<'py, Self>, other: Bound<'py, PyAny>) -> Made<'py> {
        Column::numpy(slf)?.divmod(other)
    }

    fn __rdivmod__<'py>(slf: &Bound<'py, Self>, other: Bound<'py, PyAny>) -> Made<'py> {
        other.divmod(Column::numpy(slf)?)
    }

    fn __and__<'py>(slf: &Bound<'py, Self>, other: Bound<'py, PyAny>) -> Made<'py> {
        Column::numpy(slf)?.bitand(other)
    }

    fn __rand__<'py>(slf: &Bound<'py, Self>, other: Bound<'py, PyAny>) -> Made<'py> {
        other.bitand(Column::numpy(slf)?)
    }

    fn __or__<'py>(slf: &Bound<'py, Self>, other: Bound<'py, PyAny>) -> Made<'py> {
        Column::numpy(slf)?.bitor(other)
    }

    fn __ror__<'py>(slf: &Bound<'py, Self>, other: Bound<'py, PyAny>) -> Made<'py> {
        other.bitor(Column::numpy(slf)?)
    }

    fn __xor__<'py>(slf: &Bound<'py, Self>, other: Bound<'py, PyAny>) -> Made<'py> {
        Column::numpy(slf)?.bitxor(other)
    }

    fn __rxor__<'py>(slf: &Bound<'py, Self>, other: Bound<'py, PyAny>) -> Made<'py> {
        other.bitxor(Column::numpy(slf)?)
    }

    fn __lshift__<'py>(slf: &Bound<'py, Self>, other: Bound<'py, PyAny>) -> Made<'py> {
        Column::numpy(slf)?.lshift(other)
    }

    fn __rlshift__<'py>(slf: &Bound<'py, Self>, other: Bound<'py, PyAny>) -> Made<'py> {
        other.lshift(Column::numpy(slf)?)
    }

    fn __rshift__<'py>(slf: &Bound<'py, Self>, other: Bound<'py, PyAny>) -> Made<'py> {
        Column::numpy(slf)?.rshift(other)
    }

    fn __rrshift__<'py>(slf: &Bound<'py, Self>, other: Bound<'py, PyAny>) -> Made<'py> {
        other.rshift(Column::numpy(slf)?)
    }

    fn __pow__<'py>(
        slf: &Bound<'py, Self>,
        other: Bound<'py, PyAny>,
        modulo: Option<Bound<'py, PyAny>>,
    ) -> Made<'py> {
        Column::numpy(slf)?.pow(other, modulo)
    }

    fn __rpow__<'py>(
        slf: &Bound<'py, Self>,
        other: Bound<'py, PyAny>,
        modulo: Option<Bound<'py, PyAny>>,
    ) -> Made<'py> {
        other.pow(Column::numpy(slf)?, modulo)
    }

    fn __neg__<'py>(slf: &Bound<'py, Self>) -> Made<'py> {
        Column::numpy(slf)?.neg()
    }

    fn __pos__<'py>(slf: &Bound<'py, Self>) -> Made<'py> {
        Column::numpy(slf)?.pos()
    }

    fn __abs__<'py>(slf: &Bound<'py, Self>) -> Made<'py> {
        Column::numpy(slf)?.abs()
    }

    fn __invert__<'py>(slf: &Bound<'py, Self>) -> Made<'py> {
        Column::numpy(slf)?.bitnot()
    }

    /// What a column lacks, of its NumPy array: `mean`, `astype`, `T`, ...
    fn __getattr__<'py>(slf: &Bound<'py, Self>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let array = slf.py().import("numpy")?.getattr("ndarray")?;
        if name.starts_with('_') || !array.hasattr(name)? {
            return Err(missing::attribute(slf.py(), "Column", name, "column"));
        }
        Column::numpy(slf)?.getattr(name)
    }

    /// A copy, for pickles.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Copied<'py>)> {
        let py = slf.py();
        let column = slf.get();
        let make = py.import("tarflume._core")?.getattr("copied_column")?;
        let bytes = PyBytes::new(py, column.memory.bytes());
        let shape = column.shape.iter().map(|&n| n as usize).collect();
        Ok((make, (bytes, dtype_name(column.dtype), shape)))
    }

    /// NumPy's array interface, version 3.
    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let interface = PyDict::new(py);
        interface.set_item("version", 3)?;
        interface.set_item("typestr", typestr(self.dtype)?)?;
        interface.set_item("shape", self.shape(py)?)?;
        interface.set_item("strides", py.None())?;
        interface.set_item("data", (self.memory.bytes().as_ptr() as usize, true))?;
        Ok(interface)
    }

    /// The DLPack device: host memory.
    fn __dlpack_device__(&self) -> (i32, i32) {
        HOST
    }

    /// A DLPack capsule for `from_dlpack` of any library.
    #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        stream: Option<Bound<'py, PyAny>>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<(i32, i32)>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if stream.is_some() {
            return Err(PyBufferError::new_err("a column in host memory takes no stream"));
        }
        if dl_device.is_some_and(|device| device != HOST) {
            let text = "the column is in host memory: take it there, then copy it to the device";
            return Err(PyBufferError::new_err(text));
        }
        let memory = match copy {
            Some(true) => copy_of(self.memory.bytes()),
            _ => self.memory.clone(),
        };
        export(py, &self.array(memory), max_version.is_some_and(|version| version >= (1, 0)))
    }

    /// # Safety
    /// Called by the interpreter with a view to fill.
    unsafe fn __getbuffer__(
        slf: Bound<'_, Self>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        if view.is_null() {
            return Err(PyBufferError::new_err("no view to fill"));
        }
        // SAFETY: the interpreter's view, not null, and not shared yet.
        let view = unsafe { &mut *view };
        view.obj = std::ptr::null_mut();
        if flags & ffi::PyBUF_WRITABLE == ffi::PyBUF_WRITABLE {
            return Err(PyBufferError::new_err("a column is read-only: copy it to change it"));
        }
        let column = slf.get();
        let bytes = column.memory.bytes();
        let format = formats(column.dtype)?.0;
        view.buf = bytes.as_ptr().cast_mut().cast::<c_void>();
        view.len = bytes.len() as isize;
        view.readonly = 1;
        view.itemsize = column.dtype.size() as isize;
        view.format = if requests(flags, ffi::PyBUF_FORMAT) {
            format.as_ptr().cast_mut()
        } else {
            std::ptr::null_mut()
        };
        view.ndim = column.shape.len() as c_int;
        view.shape = if requests(flags, ffi::PyBUF_ND) {
            column.shape.as_ptr().cast_mut()
        } else {
            std::ptr::null_mut()
        };
        view.strides = if requests(flags, ffi::PyBUF_STRIDES) {
            column.strides.as_ptr().cast_mut()
        } else {
            std::ptr::null_mut()
        };
        view.suboffsets = std::ptr::null_mut();
        view.internal = std::ptr::null_mut();
        view.obj = slf.into_any().into_ptr();
        Ok(())
    }

    fn __repr__(&self) -> String {
        format!("Column({}, {:?})", dtype_name(self.dtype), self.shape)
    }
}

/// An array of `values`.
pub(crate) fn own<T>(values: Vec<T>, dtype: DType, shape: &[usize]) -> Column
where
    T: bytemuck::NoUninit + Send + Sync + 'static,
{
    Column::new(Arc::new(VecMemory(values)), dtype, shape)
}

/// [`Column::of`] with an exception as its error.
pub(crate) fn of_batch(py: Python<'_>, batch: &Arc<Batch>, name: &str) -> PyResult<Column> {
    Column::of(batch, name).or_raise(py)
}

/// True if a consumer of a buffer requests what `flag` stands for.
fn requests(flags: c_int, flag: c_int) -> bool {
    flags & flag == flag
}
