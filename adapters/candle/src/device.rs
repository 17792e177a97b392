//! Batches in a GPU as tensors of candle's: one copy inside the GPU, in candle's stream.
//!
//! A room with unsafe code: memory of candle's that is written by the driver. What it relies on, and why it holds:
//! - candle's stream is alive as long as the batch that was told of it: the batch is given back before `taken`
//!   returns, and the stream is that of a device which is borrowed until then;
//! - a column is as many elements as its shape says, in the memory of this GPU: `DeviceColumn` says so, and the
//!   number of the GPU is compared;
//! - the copy reads the slot behind the batch's own copy (`ready_on`) and before the slot is written again
//!   (`release`); it writes memory of candle's that nobody has seen yet.
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

/// DLPack's number for CUDA.
const DLPACK_CUDA: i32 = 2;

/// A batch that candle's stream may read.
pub(crate) struct Readable<'a> {
    batch: &'a DeviceBatch,
    cuda: &'a CudaDevice,
    stream: Arc<CudaStream>,
}

/// Has `make` take out of the batch what it wants, and gives the batch back behind that.
pub(crate) fn taken<T>(
    batch: DeviceBatch,
    make: impl FnOnce(&Readable<'_>) -> Result<T>,
    cuda: &CudaDevice,
) -> Result<T> {
    same_gpu(&batch, cuda)?;
    let stream = cuda.cuda_stream();
    // SAFETY: a stream of this GPU; `cuda` holds it until the batch is gone.
    let told = unsafe { DeviceStream::raw(stream.cu_stream() as usize as u64) };
    batch.ready_on(told)?;
    let made = make(&Readable { batch: &batch, cuda, stream })?;
    batch.release(&[told])?;
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
        // SAFETY: written below before anybody has it. No driver gives out no bytes: one element at least.
        let mut memory = unsafe { self.cuda.alloc::<T>(elements.max(1)) }?;
        if elements > 0 {
            let (to, _written) = memory.device_ptr_mut(&self.stream);
            let (from, bytes) = (column.pointer, elements * size_of::<T>());
            // SAFETY: see the head of this file; the context is this thread's since `alloc`.
            unsafe { result::memcpy_dtod_async(to, from, bytes, self.stream.cu_stream()) }.w()?;
        }
        let storage = Storage::Cuda(CudaStorage::wrap_cuda_slice(memory, self.cuda.clone()));
        Ok(Tensor::from_storage(storage, column.shape.clone(), BackpropOp::none(), false))
    }
}
