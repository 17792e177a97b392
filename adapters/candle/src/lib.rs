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
//! With the feature `cuda`, a [`tarflume::DeviceLoader`] delivers batches that are in the GPU before the step needs them.
//! `tensors` is the same call. The number of copies and the waits:
//!
//! | from | to | copies of the rows |
//! |---|---|---|
//! | [`tarflume::Batch`] | `Device::Cpu` | one: a tensor of candle owns a `Vec` |
//! | [`tarflume::Batch`] | `Device::Cuda` | one over the bus, by candle; the calling thread waits for it |
//! | [`tarflume::DeviceBatch`] | `Device::Cuda` | one inside the GPU, in candle's stream; no thread waits |
//! | [`tarflume::DeviceBatch`] | `Device::Cpu` | one, from the host's part of the batch |
//!
//! The copy inside the GPU is necessary: candle frees the memory of a tensor when its last view is dropped, and cannot
//! return memory to another owner. The device slot is free again after this copy, independent of the lifetime of the
//! tensors.
#![deny(unsafe_code)]

mod dtype;
mod host;
mod tensors;

#[cfg(feature = "cuda")]
mod device;

pub use tensors::Tensors;
