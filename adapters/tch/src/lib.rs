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
//! With the feature `cuda`, a `DeviceLoader` gives batches that are in the GPU when the step before ends,
//! and `tensors` is the same call. Copies, and who waits for whom:
//!
//! | from | to | copies of the rows |
//! |---|---|---|
//! | [`tarflume::Batch`] | `Device::Cpu` | one |
//! | [`tarflume::Batch`] | `Device::Cuda` | two: on the host, and over the bus, for which this thread waits |
//! | [`tarflume::DeviceBatch`] | `Device::Cuda` | one inside the GPU, into memory of libtorch's; no thread waits |
//! | [`tarflume::DeviceBatch`] | `Device::Cpu` | one, of what stands in host memory anyway |
//!
//! The copy inside the GPU is what makes it safe: `Tensor::from_blob` can't be told to give memory back when the
//! last view of it is gone. The slot is free again when this copy is done, however long the tensors live.
//!
//! libtorch computes in CUDA's legacy default stream unless it is told otherwise, which tch can't. A program that
//! sets another one in C++ or Python has that stream wait for the legacy one before it uses the tensors.
#![deny(unsafe_code)]

mod host;
mod kind;
mod tensors;

#[cfg(feature = "cuda")]
mod device;

pub use tensors::Tensors;
