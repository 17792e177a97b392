//! `DeviceColumn`: an array of a batch in the memory of a GPU, for PyTorch, CuPy, JAX.
//!
//! Contains unsafe code, for handles of streams. Contract, as in the array API: a handle that Python passes is
//! a stream of the array's device and lives as long as it is used. Nothing here can check that.

#![allow(unsafe_code)]

use std::sync::Arc;

use pyo3::exceptions::PyBufferError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use tarflume::{DeviceBatch, DeviceStream};

use crate::arguments::words::dtype_name;
use crate::buffers::array_format::{Packed, typestr};
use crate::buffers::dlpack::{Array, export};
use crate::faults::errors::{OrRaise, usage};
use crate::faults::missing;

/// An array in the memory of a GPU: rows in order, without gaps. Do not write into it.
///
/// It is a view of a batch and keeps the batch's memory. Another batch uses the memory only when all views
/// are dropped and the streams that used them have finished the work that was queued by then.
/// `torch.from_dlpack(column)`, `cupy.from_dlpack(column)` and `jax.dlpack.from_dlpack(column)` take it
/// without a copy. The current stream of that library waits for the copy to the device; the host does not.
#[pyclass(frozen, module = "tarflume")]
pub struct DeviceColumn {
    batch: Arc<DeviceBatch>,
    column: tarflume::DeviceColumn,
    shape: Box<[isize]>,
    /// In bytes.
    strides: Box<[isize]>,
}

impl DeviceColumn {
    pub(crate) fn new(batch: &Arc<DeviceBatch>, column: tarflume::DeviceColumn) -> DeviceColumn {
        let Packed { shape, strides } = Packed::of(column.dtype, &column.shape);
        DeviceColumn { batch: batch.clone(), column, shape, strides }
    }
}

/// A stream as the array API defines it: `None` and 1 are the legacy default stream, 2 is that of each
/// thread, other numbers are handles. Objects with a handle are allowed, too (`cuda_stream` of PyTorch,
/// `ptr` of CuPy). Returns `None` for -1: the caller orders the work.
///
/// # Errors
/// A number that is no stream: the driver would dereference it.
pub(crate) fn stream_of(stream: Option<&Bound<'_, PyAny>>) -> PyResult<Option<DeviceStream>> {
    let Some(stream) = stream.filter(|stream| !stream.is_none()) else {
        return Ok(Some(DeviceStream::LEGACY));
    };
    for name in ["cuda_stream", "ptr"] {
        if let Ok(handle) = stream.getattr(name) {
            let handle = handle.extract().map_err(|_| no_stream(stream))?;
            // SAFETY: the handle of a stream object of PyTorch or CuPy, which keeps the stream alive.
            return Ok(Some(unsafe { DeviceStream::raw(handle) }));
        }
    }
    match stream.extract::<i64>() {
        Ok(-1) => Ok(None),
        Ok(0) => Err(usage(
            stream.py(),
            "stream=0 is ambiguous: give 1 for the legacy default stream, or 2 for that of each thread",
        )),
        // SAFETY: the contract of the array API, see the head of this file.
        Ok(handle @ 1..) => Ok(Some(unsafe { DeviceStream::raw(handle as u64) })),
        _ => Err(no_stream(stream)),
    }
}

/// The error for an object or a number that names no stream.
fn no_stream(stream: &Bound<'_, PyAny>) -> PyErr {
    let shown = stream.repr().map_or_else(|_| "this object".into(), |shown| shown.to_string());
    let text = format!(
        "stream={shown} is no stream: give None or 1 for the legacy default stream, 2 for that of each thread, -1 for \
         none, a handle above 2, or a stream of PyTorch or CuPy"
    );
    usage(stream.py(), text)
}

#[pymethods]
impl DeviceColumn {
    /// Rows, then the shape of a row.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.shape.iter())
    }

    /// The type of an element, by its NumPy name.
    #[getter]
    fn dtype(&self) -> &'static str {
        dtype_name(self.column.dtype)
    }

    /// Bytes of all elements.
    #[getter]
    fn nbytes(&self) -> usize {
        self.column.shape.iter().product::<usize>() * self.column.dtype.size()
    }

    #[getter]
    fn ndim(&self) -> usize {
        self.shape.len()
    }

    fn __len__(&self) -> usize {
        self.column.shape.first().copied().unwrap_or(0)
    }

    /// The DLPack device: `(2, N)` for `cuda:N`.
    fn __dlpack_device__(&self) -> (i32, i32) {
        self.column.device
    }

    /// A DLPack capsule for `from_dlpack` of any library. `stream` waits for the copy. As in the array API it
    /// is None or 1 for the legacy default stream, 2 for that of each thread, a handle, or -1 for none; 0 is an
    /// error. With -1 the memory is kept for the work of the legacy default stream only. PyTorch's side streams
    /// are not ordered with that stream: call `batch.used_on(stream)` for each of them.
    #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        stream: Option<Bound<'py, PyAny>>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<(i32, i32)>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if dl_device.is_some_and(|device| device != self.column.device) {
            let text = "the column is in device memory; batch.host has it in host memory";
            return Err(PyBufferError::new_err(text));
        }
        if copy == Some(true) {
            return Err(PyBufferError::new_err(
                "copy=True is not supported: copy the array that from_dlpack returns",
            ));
        }
        match stream_of(stream.as_ref())? {
            Some(stream) => py.detach(|| self.batch.ready_on(stream)).or_raise(py)?,
            // The user is unknown: only the work of the legacy stream protects the memory.
            None => self.batch.used_on(DeviceStream::LEGACY),
        }
        let array = Array::device(self.batch.clone(), &self.column, &self.shape, &self.strides);
        export(py, &array, max_version.is_some_and(|version| version >= (1, 0)))
    }

    /// The CUDA array interface, version 3, synchronized with the legacy default stream.
    #[getter]
    fn __cuda_array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        py.detach(|| self.batch.ready_on(DeviceStream::LEGACY)).or_raise(py)?;
        let interface = PyDict::new(py);
        interface.set_item("version", 3)?;
        interface.set_item("typestr", typestr(self.column.dtype)?)?;
        interface.set_item("shape", self.shape(py)?)?;
        interface.set_item("strides", py.None())?;
        interface.set_item("data", (self.column.pointer, true))?;
        interface.set_item("stream", DeviceStream::LEGACY.handle())?;
        Ok(interface)
    }

    fn __getattr__(&self, py: Python<'_>, name: &str) -> PyResult<()> {
        Err(missing::attribute(py, "DeviceColumn", name, "column"))
    }

    fn __repr__(&self) -> String {
        let (kind, number) = self.column.device;
        format!("DeviceColumn({}, {:?}, device {kind}:{number})", self.dtype(), self.shape)
    }
}
