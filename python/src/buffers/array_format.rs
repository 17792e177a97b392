//! How NumPy and the buffer protocol name the types of elements, and the strides of arrays without gaps.

use std::ffi::CStr;

use pyo3::exceptions::PyBufferError;
use pyo3::prelude::*;
use tarflume::DType;

/// The format of PEP 3118 and the type string of NumPy.
///
/// # Errors
/// `BufferError`: they have no such type.
pub(crate) fn formats(dtype: DType) -> PyResult<(&'static CStr, &'static str)> {
    Ok(match dtype {
        DType::U8 => (c"B", "|u1"),
        DType::I8 => (c"b", "|i1"),
        DType::U16 => (c"H", "<u2"),
        DType::I16 => (c"h", "<i2"),
        DType::U32 => (c"I", "<u4"),
        DType::I32 => (c"i", "<i4"),
        DType::U64 => (c"L", "<u8"),
        DType::I64 => (c"l", "<i8"),
        DType::F16 => (c"e", "<f2"),
        DType::F32 => (c"f", "<f4"),
        DType::F64 => (c"d", "<f8"),
        DType::Bool => (c"?", "|b1"),
        DType::Bf16 => {
            let text = "NumPy has no bfloat16: use torch.from_dlpack(column), or dtype=\"float16\"";
            return Err(PyBufferError::new_err(text));
        }
        other => return Err(PyBufferError::new_err(format!("NumPy has no {other}"))),
    })
}

/// The layout of an array without gaps.
pub(crate) struct Packed {
    pub(crate) shape: Box<[isize]>,
    /// In bytes.
    pub(crate) strides: Box<[isize]>,
}

impl Packed {
    pub(crate) fn of(dtype: DType, shape: &[usize]) -> Packed {
        let shape: Box<[isize]> = shape.iter().map(|&n| n as isize).collect();
        let mut strides = vec![dtype.size() as isize; shape.len()];
        for n in (1..shape.len()).rev() {
            strides[n - 1] = strides[n] * shape[n].max(1);
        }
        Packed { shape, strides: strides.into() }
    }
}

/// The type string of NumPy, for array interfaces.
///
/// # Errors
/// `BufferError`: NumPy has no such type.
pub(crate) fn typestr(dtype: DType) -> PyResult<&'static str> {
    Ok(formats(dtype)?.1)
}
