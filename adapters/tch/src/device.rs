//! Batches on a GPU as libtorch tensors: one copy within the GPU, in the stream in which libtorch computes.
//!
//! Contains unsafe code: a tensor over memory that libtorch does not own. What it relies on, and why it holds:
//! - a column has as many elements as its shape, in the memory of this GPU: `DeviceColumn` guarantees that, and the
//!   ordinals of the GPUs are compared;
//! - that tensor is dropped before the slot is released: it does not leave the function that creates it, only its
//!   copy does; the copy is in the legacy default stream, which waits for the batch (`ready_on`) and for which the
//!   slot's reuse waits (`release`).
#![allow(unsafe_code)]

use tarflume::{DeviceBatch, DeviceColumn, DeviceStream, Error, Result};
use tch::{Device, Kind, TchError, Tensor};

use crate::host::truths;
use crate::kind::{of, refused, size};

/// `kDLCUDA` in dlpack.h.
const DLPACK_CUDA: i32 = 2;

/// A batch that libtorch's stream may read.
pub(crate) struct Readable<'a> {
    batch: &'a DeviceBatch,
    gpu: usize,
}

/// Calls `make` with the batch, and then releases the batch.
pub(crate) fn taken<T>(
    batch: DeviceBatch,
    make: impl FnOnce(&Readable<'_>) -> Result<T>,
    gpu: usize,
) -> Result<T> {
    let elsewhere = |column: &DeviceColumn| column.device != (DLPACK_CUDA, gpu as i32);
    if let Some(column) = batch.columns().find(elsewhere) {
        return Err(Error::usage(format!(
            "the batch is on cuda:{}, and tensors are wanted on cuda:{gpu}: open both on one GPU",
            column.device.1
        )));
    }
    batch.ready_on(DeviceStream::LEGACY)?;
    let made = make(&Readable { batch: &batch, gpu })?;
    batch.release(&[DeviceStream::LEGACY])?;
    Ok(made)
}

impl Readable<'_> {
    pub(crate) fn tensor(&self, name: &str) -> Result<Tensor> {
        let column = self.batch.column(name)?;
        let kind = of(name, column.dtype)?;
        truths(&self.batch.host().column(name)?)?;
        self.copied(&column, kind).map_err(|error| refused(name, error))
    }

    fn copied(&self, column: &DeviceColumn, kind: Kind) -> std::result::Result<Tensor, TchError> {
        let size = size(&column.shape);
        let device = Device::Cuda(self.gpu);
        let mut own = Tensor::f_empty(&size, (kind, device))?;
        if column.shape.contains(&0) {
            return Ok(own);
        }
        let pointer = column.pointer as usize as *const u8;
        // SAFETY: see the head of this file.
        let lent = unsafe { Tensor::f_from_blob(pointer, &size, &[], kind, device) }?;
        own.f_copy_(&lent)?;
        Ok(own)
    }
}
