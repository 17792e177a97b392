//! Columns in host memory as tensors: one copy, by candle.

use candle_core::{DType as Candle, Device, Tensor, WithDType};
use tarflume::{Batch, Column, Element, Error, Result};

use crate::dtype::{of, refused};

pub(crate) fn tensor(batch: &Batch, name: &str, device: &Device) -> Result<Tensor> {
    let column = batch.column(name)?;
    if column.offsets().is_some() {
        return Err(Error::usage(format!(
            "the rows of column '{name}' have different lengths: take batch.column(\"{name}\")?.padded(value)? and \
             make a tensor of its values and shape"
        )));
    }
    match of(name, column.dtype())? {
        Candle::U8 => copied::<u8>(column, device),
        Candle::I16 => copied::<i16>(column, device),
        Candle::U32 => copied::<u32>(column, device),
        Candle::I32 => copied::<i32>(column, device),
        Candle::I64 => copied::<i64>(column, device),
        Candle::F16 => copied::<half::f16>(column, device),
        Candle::BF16 => copied::<half::bf16>(column, device),
        Candle::F32 => copied::<f32>(column, device),
        _ => copied::<f64>(column, device),
    }
}

fn copied<T: Element + WithDType>(column: Column<'_>, device: &Device) -> Result<Tensor> {
    let made = Tensor::from_slice(column.elements::<T>()?, column.shape(), device);
    made.map_err(|error| refused(column.name(), error))
}
