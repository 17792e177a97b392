//! Batches of [tarflume](https://docs.rs/tarflume) as tensors of tch, the bindings of libtorch.
//!
//! ```no_run
//! use tarflume::{Loader, RandomResizedCrop, Shuffle};
//! use tarflume_tch::Tensors;
//! use tch::{Device, Kind};
//!
//! # fn main() -> tarflume::Result<()> {
//! let loader = Loader::builder("shards/")
//!     .shuffle(Shuffle::Full { seed: 42 })
//!     .image("jpg", RandomResizedCrop::new(224).flip(0.5))
//!     .label("json", "/class")
//!     .batch(256)
//!     .build()?;
//! for batch in loader.epoch(0) {
//!     let [images, labels] = batch?.tensors(["image", "label"], Device::Cpu)?;
//!     assert_eq!((images.size(), images.kind()), (vec![256, 224, 224, 3], Kind::Uint8));
//!     assert_eq!(labels.kind(), Kind::Int64);
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
//! | [`tarflume::Batch`] | `Device::Cpu` | one |
//! | [`tarflume::Batch`] | `Device::Cuda` | two: on the host, and over the bus; the calling thread waits for the second |
//! | [`tarflume::DeviceBatch`] | `Device::Cuda` | one inside the GPU, into memory of libtorch; no thread waits |
//! | [`tarflume::DeviceBatch`] | `Device::Cpu` | one, from the host's part of the batch |
//!
//! The copy inside the GPU is necessary: `Tensor::from_blob` in tch has no callback for the end of the last view. The
//! device slot is free again after this copy, independent of the lifetime of the tensors.
//!
//! libtorch computes in CUDA's legacy default stream; tch cannot change that. If C++ or Python code sets another stream,
//! make that stream wait for the legacy one before it uses the tensors.
#![deny(unsafe_code)]

mod host;
mod kind;
mod tensors;

#[cfg(feature = "cuda")]
mod device;

pub use tensors::Tensors;
