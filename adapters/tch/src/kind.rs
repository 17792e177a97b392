//! Which types of ours libtorch has by tch. Words only.

use tarflume::{DType, Error, ErrorKind, Result};
use tch::{Kind, TchError};

/// The kind of a column's elements.
pub(crate) fn of(name: &str, dtype: DType) -> Result<Kind> {
    Ok(match dtype {
        DType::U8 => Kind::Uint8,
        DType::I8 => Kind::Int8,
        DType::I16 => Kind::Int16,
        DType::I32 => Kind::Int,
        DType::I64 => Kind::Int64,
        DType::F16 => Kind::Half,
        DType::Bf16 => Kind::BFloat16,
        DType::F32 => Kind::Float,
        DType::F64 => Kind::Double,
        DType::Bool => Kind::Bool,
        other => {
            return Err(Error::usage(format!(
                "column '{name}' holds {other:?}, and tch has no such type: store it as one of U8, I8, I16, I32, \
                 I64, F16, Bf16, F32, F64, Bool, or convert the elements of the host's column"
            )));
        }
    })
}

/// libtorch's words for a shape.
pub(crate) fn size(shape: &[usize]) -> Vec<i64> {
    shape.iter().map(|&length| length as i64).collect()
}

/// What libtorch refused.
pub(crate) fn refused(name: &str, error: TchError) -> Error {
    Error::new(ErrorKind::Device, format!("libtorch made no tensor of column '{name}'"))
        .with_source(error)
}
