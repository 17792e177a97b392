//! Columns in host memory as tensors: one copy, by libtorch.

use tarflume::{Batch, Column, DType, Error, Result};
use tch::{Device, Tensor};

use crate::kind::{of, refused, size};

pub(crate) fn tensor(batch: &Batch, name: &str, device: Device) -> Result<Tensor> {
    let column = batch.column(name)?;
    if column.offsets().is_some() {
        return Err(Error::usage(format!(
            "the rows of column '{name}' have different lengths: take batch.column(\"{name}\")?.padded(value)? and \
             make a tensor of its values and shape"
        )));
    }
    let kind = of(name, column.dtype())?;
    truths(&column)?;
    let made = Tensor::f_from_data_size(column.bytes(), &size(&column.shape()), kind);
    made.and_then(|tensor| tensor.f_to(device)).map_err(|error| refused(name, error))
}

/// # Errors
/// A column of truths holds something else, of which libtorch may make anything.
pub(crate) fn truths(column: &Column<'_>) -> Result<()> {
    if column.dtype() != DType::Bool || column.bytes().iter().all(|byte| *byte < 2) {
        return Ok(());
    }
    let name = column.name();
    let text =
        format!("column '{name}' of Bool holds bytes that are neither 0 nor 1: read it as U8");
    Err(Error::usage(text))
}
