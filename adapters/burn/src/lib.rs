//! Batches of [tarflume](https://docs.rs/tarflume) as data for burn's tensors, on any of its backends.
//!
//! ```no_run
//! use std::sync::Arc;
//! use burn_tensor::{DType, Device, Int, Tensor}; // burn::tensor has the same
//! use tarflume::{Loader, RandomResizedCrop, Shuffle};
//! use tarflume_burn::Data;
//!
//! # fn main() -> tarflume::Result<()> {
//! let loader = Loader::builder("shards/")
//!     .shuffle(Shuffle::Full { seed: 42 })
//!     .image("jpg", RandomResizedCrop::new(224).flip(0.5))
//!     .label("json", "/class")
//!     .batch(256)
//!     .build()?;
//! let device = Device::flex();
//! for batch in loader.epoch(0) {
//!     let [images, labels] = Arc::new(batch?).data(["image", "label"])?;
//!     let images = Tensor::<4, Int>::from_data(images, (&device, DType::U8));
//!     let labels = Tensor::<1, Int>::from_data(labels, (&device, DType::I64));
//!     assert_eq!((images.dims(), labels.dims()), ([256, 224, 224, 3], [256]));
//! }
//! # Ok(())
//! # }
//! ```
//!
//! Name the type as above: without it burn converts to the device's own default type.
//!
//! **Copies.** The [`burn_std::TensorData`] of an `Arc<Batch>` borrows the loader's memory, which returns to the loader
//! when burn drops the data: nothing is copied. Further copies depend on the backend: a GPU backend copies over the bus,
//! a CPU backend may keep the memory or copy it. The rows of a [`tarflume::Batch`] are copied once.
//!
//! **GPUs.** Tensors of burn are made from data of the host, and burn 0.22 has no public call that takes device memory of
//! another owner. There is no adapter for [`tarflume::DeviceBatch`]; use batches of a [`tarflume::Loader`].
#![forbid(unsafe_code)]

mod column_bytes;
mod data;

pub use data::Data;
