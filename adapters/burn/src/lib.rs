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
//! **Copies.** [`burn_std::TensorData`] of an `Arc<Batch>` is the loader's own memory, which goes back to the loader
//! when burn has dropped the data: none is copied here. What burn does then is the backend's: one on a GPU copies
//! over the bus, one on the CPU may keep the memory or copy it. Of a [`tarflume::Batch`] the rows are copied once.
//!
//! **GPUs.** burn's tensors are made of data of the host; its backends keep memory of their own, and 0.22 has no call
//! that we know of for memory that somebody else has in a GPU. So `Loader::device_epoch` has no adapter here; use `Loader::epoch`.
#![forbid(unsafe_code)]

mod data;
mod held;

pub use data::Data;
