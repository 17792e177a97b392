//! Batches on a GPU as candle tensors: one copy within the GPU, in candle's stream.
//!
//! Contains unsafe code: the driver writes memory owned by candle. What it relies on, and why it holds:
//! - candle's stream is alive while the batch uses it: the batch is released before `taken` returns, and the stream
//!   belongs to a device that is borrowed until then;
//! - a column has as many elements as its shape, in the memory of this GPU: `DeviceColumn` guarantees that, and the
//!   ordinals of the GPUs are compared;
//! - the copy reads the slot after the batch's own copy (`ready_on`) and before the slot is reused (`release`); it
//!   writes candle memory that no other code has seen yet.
#![allow(unsafe_code)]

use std::sync::Arc;

use candle_core::backend::BackendDevice;
use candle_core::cuda_backend::cudarc::driver::{CudaStream, DevicePtrMut, DeviceRepr, result};
use candle_core::cuda_backend::{CudaDType, WrapErr};
use candle_core::op::BackpropOp;
use candle_core::{
    CudaDevice, CudaStorage, DType as Candle, DeviceLocation, Result as CandleResult, Storage,
    Tensor,
};
use tarflume::{DeviceBatch, DeviceColumn, DeviceStream, Error, Result};

use crate::dtype::{of, refused};

/// `kDLCUDA` in dlpack.h.
const DLPACK_CUDA: i32 = 2;

/// A batch that candle's stream may read.
pub(crate) struct Readable<'a> {
    batch: &'a DeviceBatch,
    cuda: &'a CudaDevice,
    stream: Arc<CudaStream>,
}

/// Calls `make` with the batch, and then releases the batch.
pub(crate) fn taken<T>(
    batch: DeviceBatch,
    make: impl FnOnce(&Readable<'_>) -> Result<T>,
    cuda: &CudaDevice,
) -> Result<T> {
    same_gpu(&batch, cuda)?;
    let stream = cuda.cuda_stream();
    // SAFETY: a stream of this GPU; `cuda` holds it until the batch is released.
    let waiting = unsafe { DeviceStream::raw(stream.cu_stream() as usize as u64) };
    batch.ready_on(waiting)?;
    let made = make(&Readable { batch: &batch, cuda, stream })?;
    batch.release(&[waiting])?;
    Ok(made)
}

fn same_gpu(batch: &DeviceBatch, cuda: &CudaDevice) -> Result<()> {
    let DeviceLocation::Cuda { gpu_id } = cuda.location() else { return Ok(()) };
    let elsewhere = |column: &DeviceColumn| column.device != (DLPACK_CUDA, gpu_id as i32);
    match batch.columns().find(elsewhere) {
        Some(column) => Err(Error::usage(format!(
            "the batch is on cuda:{}, and tensors are wanted on cuda:{gpu_id}: open both on one GPU",
            column.device.1
        ))),
        None => Ok(()),
    }
}

impl Readable<'_> {
    pub(crate) fn tensor(&self, name: &str) -> Result<Tensor> {
        let column = self.batch.column(name)?;
        let made = match of(name, column.dtype)? {
            Candle::U8 => self.copied::<u8>(&column),
            Candle::I16 => self.copied::<i16>(&column),
            Candle::U32 => self.copied::<u32>(&column),
            Candle::I32 => self.copied::<i32>(&column),
            Candle::I64 => self.copied::<i64>(&column),
            Candle::F16 => self.copied::<half::f16>(&column),
            Candle::BF16 => self.copied::<half::bf16>(&column),
            Candle::F32 => self.copied::<f32>(&column),
            _ => self.copied::<f64>(&column),
        };
        made.map_err(|error| refused(name, error))
    }

    fn copied<T: CudaDType + DeviceRepr>(&self, column: &DeviceColumn) -> CandleResult<Tensor> {
        let elements = column.shape.iter().product::<usize>();
        // SAFETY: written below before other code sees it. Drivers allocate no empty block, hence at least one element.
        let mut memory = unsafe { self.cuda.alloc::<T>(elements.max(1)) }?;
        if elements > 0 {
            let (to, _written) = memory.device_ptr_mut(&self.stream);
            let from = column.pointer;
            let bytes = elements * size_of::<T>();
            // SAFETY: see the head of this file; `alloc` made the context current on this thread.
            unsafe { result::memcpy_dtod_async(to, from, bytes, self.stream.cu_stream()) }.w()?;
        }
        let storage = Storage::Cuda(CudaStorage::wrap_cuda_slice(memory, self.cuda.clone()));
        Ok(Tensor::from_storage(storage, column.shape.clone(), BackpropOp::none(), false))
    }
}
