//! Arrays as DLPack capsules (github.com/dmlc/dlpack, versions 0 and 1.0), in host memory or GPU memory.
//!
//! Contains unsafe code. Contract:
//! - the structures below have the layout of dlpack.h;
//! - a capsule owns a [`CapsuleContext`] until a consumer renames it, then the consumer owns it. The owner calls the
//!   deleter once, from any thread, with or without the interpreter lock;
//! - shape, strides and the owner of the memory are in the [`CapsuleContext`] and live as long as it does. An address
//!   in device memory is never dereferenced here;
//! - this process never writes to the memory while it is held. A flag tells consumers of version 1.0 not to
//!   write to it.

#![allow(unsafe_code)]

use std::ffi::{CStr, c_void};
use std::sync::Arc;

use pyo3::ffi;
use pyo3::prelude::*;
use tarflume::{DType, DeviceBatch, DeviceColumn};

use crate::buffers::memory::Memory;

/// `kDLCPU`, number 0.
pub(crate) const HOST: (i32, i32) = (1, 0);

const OLD: &CStr = c"dltensor";
const VERSIONED: &CStr = c"dltensor_versioned";
const READ_ONLY: u64 = 1;

#[repr(C)]
struct DLTensor {
    data: *mut c_void,
    device_type: i32,
    device_id: i32,
    ndim: i32,
    code: u8,
    bits: u8,
    lanes: u16,
    shape: *mut i64,
    strides: *mut i64,
    byte_offset: u64,
}

#[repr(C)]
struct Unversioned {
    tensor: DLTensor,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Unversioned)>,
}

#[repr(C)]
struct Versioned {
    major: u32,
    minor: u32,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Versioned)>,
    flags: u64,
    tensor: DLTensor,
}

/// The target of a capsule, and what it needs. The managed part is first, so a pointer to it points to
/// all.
#[repr(C)]
struct CapsuleContext<M> {
    managed: M,
    shape: Vec<i64>,
    strides: Vec<i64>,
    keep: MemoryOwner,
}

/// Keeps an array's memory until it is dropped.
#[derive(Clone)]
enum MemoryOwner {
    Host { _memory: Arc<dyn Memory> },
    Device { _batch: Arc<DeviceBatch> },
}

/// The `DLDataTypeCode` of an element.
fn code(dtype: DType) -> u8 {
    match dtype {
        DType::I8 | DType::I16 | DType::I32 | DType::I64 => 0,
        DType::U8 | DType::U16 | DType::U32 | DType::U64 => 1,
        DType::F16 | DType::F32 | DType::F64 => 2,
        DType::Bf16 => 4,
        DType::Bool => 6,
        _ => 3, // opaque: no reader takes it for numbers
    }
}

/// A tensor, and what its pointers lead to.
struct Tensor {
    tensor: DLTensor,
    shape: Vec<i64>,
    strides: Vec<i64>,
}

/// An array to export.
pub(crate) struct Array<'a> {
    keep: MemoryOwner,
    data: usize,
    device: (i32, i32),
    dtype: DType,
    /// In elements.
    shape: &'a [isize],
    /// In bytes.
    strides: &'a [isize],
}

impl<'a> Array<'a> {
    /// One in host memory.
    pub(crate) fn host(
        memory: Arc<dyn Memory>,
        dtype: DType,
        shape: &'a [isize],
        strides: &'a [isize],
    ) -> Array<'a> {
        let data = memory.bytes().as_ptr() as usize;
        Array {
            keep: MemoryOwner::Host { _memory: memory },
            data,
            device: HOST,
            dtype,
            shape,
            strides,
        }
    }

    /// A column of a batch in device memory.
    pub(crate) fn device(
        batch: Arc<DeviceBatch>,
        column: &DeviceColumn,
        shape: &'a [isize],
        strides: &'a [isize],
    ) -> Array<'a> {
        let data = column.pointer as usize;
        Array {
            keep: MemoryOwner::Device { _batch: batch },
            data,
            device: column.device,
            dtype: column.dtype,
            shape,
            strides,
        }
    }

    fn tensor(&self) -> Tensor {
        let size = self.dtype.size() as i64;
        let mut shape: Vec<i64> = self.shape.iter().map(|&n| n as i64).collect();
        let mut strides: Vec<i64> = self.strides.iter().map(|&n| n as i64 / size).collect();
        let tensor = DLTensor {
            data: self.data as *mut c_void,
            device_type: self.device.0,
            device_id: self.device.1,
            ndim: shape.len() as i32,
            code: code(self.dtype),
            bits: 8 * self.dtype.size() as u8,
            lanes: 1,
            // A vector's block does not move with the vector.
            shape: shape.as_mut_ptr(),
            strides: strides.as_mut_ptr(),
            byte_offset: 0,
        };
        Tensor { tensor, shape, strides }
    }
}

unsafe extern "C" fn delete<M>(managed: *mut M) {
    // SAFETY: made by `Box::into_raw` of a `CapsuleContext<M>`, which begins with its `M`; called once.
    drop(unsafe { Box::from_raw(managed.cast::<CapsuleContext<M>>()) });
}

/// The destructor of a capsule that no consumer took.
unsafe fn drop_capsule<M>(capsule: *mut ffi::PyObject, name: &CStr) {
    // SAFETY: the interpreter passes a live capsule. One that was taken has another name.
    let valid = unsafe { ffi::PyCapsule_IsValid(capsule, name.as_ptr()) };
    if valid != 1 {
        return;
    }
    // SAFETY: it is valid under this name.
    let managed = unsafe { ffi::PyCapsule_GetPointer(capsule, name.as_ptr()) };
    // SAFETY: the capsule still owns it.
    unsafe { delete(managed.cast::<M>()) };
}

unsafe extern "C" fn drop_old(capsule: *mut ffi::PyObject) {
    // SAFETY: as for `drop_capsule`.
    unsafe { drop_capsule::<Unversioned>(capsule, OLD) };
}

unsafe extern "C" fn drop_versioned(capsule: *mut ffi::PyObject) {
    // SAFETY: as for `drop_capsule`.
    unsafe { drop_capsule::<Versioned>(capsule, VERSIONED) };
}

fn capsule<'py, M>(
    py: Python<'py>,
    held: CapsuleContext<M>,
    name: &'static CStr,
    destructor: unsafe extern "C" fn(*mut ffi::PyObject),
) -> PyResult<Bound<'py, PyAny>> {
    let held = Box::into_raw(Box::new(held));
    // SAFETY: name and destructor are static, the pointer is not null.
    let made = unsafe { ffi::PyCapsule_New(held.cast(), name.as_ptr(), Some(destructor)) };
    if made.is_null() {
        // SAFETY: this function still owns it.
        unsafe { delete(held.cast::<M>()) };
    }
    // SAFETY: a new reference, or null with an exception set.
    unsafe { Bound::from_owned_ptr_or_err(py, made) }
}

/// The array as a capsule: of version 1.0 if the consumer supports it, otherwise of version 0.
///
/// # Errors
/// The interpreter cannot allocate the capsule.
pub(crate) fn export<'py>(
    py: Python<'py>,
    array: &Array<'_>,
    versioned: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let Tensor { tensor, shape, strides } = array.tensor();
    let keep = array.keep.clone();
    let context = std::ptr::null_mut();
    if versioned {
        let deleter = Some(delete::<Versioned> as unsafe extern "C" fn(*mut Versioned));
        let managed = Versioned { major: 1, minor: 0, context, deleter, flags: READ_ONLY, tensor };
        capsule(py, CapsuleContext { managed, shape, strides, keep }, VERSIONED, drop_versioned)
    } else {
        let deleter = Some(delete::<Unversioned> as unsafe extern "C" fn(*mut Unversioned));
        let managed = Unversioned { tensor, context, deleter };
        capsule(py, CapsuleContext { managed, shape, strides, keep }, OLD, drop_old)
    }
}
