//! Batches of [tarflume](https://docs.rs/tarflume) as tensors of candle.
//!
//! ```no_run
//! use candle_core::{DType, Device};
//! use tarflume::{Loader, RandomResizedCrop, Shuffle};
//! use tarflume_candle::Tensors;
//!
//! # fn main() -> tarflume::Result<()> {
//! let loader = Loader::builder("shards/")
//!     .shuffle(Shuffle::Full { seed: 42 })
//!     .image("jpg", RandomResizedCrop::new(224).flip(0.5))
//!     .label("json", "/class")
//!     .batch(256)
//!     .build()?;
//! let device = Device::Cpu;
//! for batch in loader.epoch(0) {
//!     let [images, labels] = batch?.tensors(["image", "label"], &device)?;
//!     assert_eq!((images.dims(), images.dtype()), (&[256, 224, 224, 3][..], DType::U8));
//!     assert_eq!(labels.dtype(), DType::I64);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! With the feature `cuda`, a `DeviceLoader` gives batches that are in the GPU when the step before ends,
//! and `tensors` is the same call. Copies, and who waits for whom:
//!
//! | from | to | copies of the rows |
//! |---|---|---|
//! | [`tarflume::Batch`] | `Device::Cpu` | one: a tensor of candle's owns a `Vec` |
//! | [`tarflume::Batch`] | `Device::Cuda` | one over the bus, by candle, for which this thread waits |
//! | [`tarflume::DeviceBatch`] | `Device::Cuda` | one inside the GPU, in candle's stream; no thread waits |
//! | [`tarflume::DeviceBatch`] | `Device::Cpu` | one, of what stands in host memory anyway |
//!
//! The copy inside the GPU is what makes it safe: candle frees the memory of a tensor by itself when the last view
//! of it is gone, and has no way to be told to give it back to somebody else. It costs the GPU twice the batch's
//! bytes of memory traffic: 0.04 GB of photographs a batch, next to thousands of GB/s.
//! The slot is free again when this copy is done, however long the tensors live.
#![deny(unsafe_code)]

mod dtype;
mod host;
mod tensors;

#[cfg(feature = "cuda")]
mod device;

pub use tensors::Tensors;
