//! `Data`: converts the columns of a batch into burn's tensor data.

use std::sync::Arc;

use burn_std::{AllocationProperty, BoolStore, Bytes, DType as Burn, TensorData};
use tarflume::{Batch, Column, DType, Error, Result};

use crate::column_bytes::ColumnBytes;

/// Converts the columns of a batch into burn's tensor data.
pub trait Data {
    /// The columns of these names, in this order, of shape `[rows, row's shape..]`. The data of an [`Arc`] share its
    /// memory, which returns to the loader when the last of them is dropped; otherwise each column is copied once.
    ///
    /// # Errors
    /// [`tarflume::ErrorKind::Usage`]: a column does not exist, its rows have different lengths, burn does not have its
    /// type, or a Bool column holds bytes other than 0 and 1.
    fn data<const N: usize>(&self, names: [&str; N]) -> Result<[TensorData; N]>;
}

impl Data for Arc<Batch> {
    fn data<const N: usize>(&self, names: [&str; N]) -> Result<[TensorData; N]> {
        each(self, names, |column| {
            let held = ColumnBytes { batch: self.clone(), name: column.name().to_string() };
            Bytes::from_shared(bytes::Bytes::from_owner(held), AllocationProperty::Other)
        })
    }
}

impl Data for Batch {
    fn data<const N: usize>(&self, names: [&str; N]) -> Result<[TensorData; N]> {
        each(self, names, |column| aligned(*column))
    }
}

fn each<const N: usize>(
    batch: &Batch,
    names: [&str; N],
    take: impl Fn(&Column<'_>) -> Bytes,
) -> Result<[TensorData; N]> {
    let made = names.iter().map(|name| {
        let column = batch.column(name)?;
        let dtype = of(&column)?;
        TensorData::try_from_bytes(take(&column), column.shape(), dtype).map_err(|error| {
            Error::usage(format!("burn took no data of column '{name}'")).with_source(error)
        })
    });
    let made = made.collect::<Result<Vec<_>>>()?;
    made.try_into().map_err(|_| Error::usage("as many data as names"))
}

/// The burn type of a column.
fn of(column: &Column<'_>) -> Result<Burn> {
    let name = column.name();
    if column.offsets().is_some() {
        return Err(Error::usage(format!(
            "the rows of column '{name}' have different lengths: take batch.column(\"{name}\")?.padded(value)? and \
             make TensorData::new of its values and shape"
        )));
    }
    Ok(match column.dtype() {
        DType::U8 => Burn::U8,
        DType::I8 => Burn::I8,
        DType::U16 => Burn::U16,
        DType::I16 => Burn::I16,
        DType::U32 => Burn::U32,
        DType::I32 => Burn::I32,
        DType::U64 => Burn::U64,
        DType::I64 => Burn::I64,
        DType::F16 => Burn::F16,
        DType::Bf16 => Burn::BF16,
        DType::F32 => Burn::F32,
        DType::F64 => Burn::F64,
        DType::Bool if column.bytes().iter().all(|byte| *byte < 2) => Burn::Bool(BoolStore::Native),
        DType::Bool => {
            return Err(Error::usage(format!(
                "column '{name}' of Bool holds bytes that are neither 0 nor 1: read it as U8"
            )));
        }
        other => {
            return Err(Error::usage(format!(
                "column '{name}' holds {other:?}, and burn has no such type: convert the elements of \
                 batch.column(\"{name}\")?"
            )));
        }
    })
}

/// Copies a column into memory with the alignment of its elements.
fn aligned(column: Column<'_>) -> Bytes {
    let bytes = column.bytes();
    match column.dtype().size() {
        1 => Bytes::from_elems(bytes.to_vec()),
        2 => Bytes::from_elems(words(bytes, u16::from_ne_bytes)),
        4 => Bytes::from_elems(words(bytes, u32::from_ne_bytes)),
        _ => Bytes::from_elems(words(bytes, u64::from_ne_bytes)),
    }
}

fn words<T, const N: usize>(bytes: &[u8], word: impl Fn([u8; N]) -> T) -> Vec<T> {
    bytes.as_chunks::<N>().0.iter().map(|chunk| word(*chunk)).collect()
}
