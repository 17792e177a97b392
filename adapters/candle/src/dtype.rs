//! Which types of ours candle has. Words only.

use candle_core::{DType as Candle, Error as CandleError};
use tarflume::{DType, Error, ErrorKind, Result};

/// The type of candle's for a column. Truths are bytes there: 0 and 1, as candle's comparisons give them.
pub(crate) fn of(name: &str, dtype: DType) -> Result<Candle> {
    Ok(match dtype {
        DType::U8 | DType::Bool => Candle::U8,
        DType::I16 => Candle::I16,
        DType::U32 => Candle::U32,
        DType::I32 => Candle::I32,
        DType::I64 => Candle::I64,
        DType::F16 => Candle::F16,
        DType::Bf16 => Candle::BF16,
        DType::F32 => Candle::F32,
        DType::F64 => Candle::F64,
        other => {
            return Err(Error::usage(format!(
                "column '{name}' holds {other:?}, and candle has no such type: store it as one of U8, I16, I32, \
                 U32, I64, F16, Bf16, F32, F64, or convert the elements of the host's column"
            )));
        }
    })
}

/// What candle refused.
pub(crate) fn refused(name: &str, error: CandleError) -> Error {
    Error::new(ErrorKind::Device, format!("candle made no tensor of column '{name}'"))
        .with_source(error)
}
