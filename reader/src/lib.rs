//! Streams WebDataset shards to whoever trains: order, splitting, resume, decoding, batches.
//!
//! ```no_run
//! use tarflume::{Loader, RandomResizedCrop, Shuffle, Split};
//!
//! # fn main() -> tarflume::Result<()> {
//! let loader = Loader::builder("shards/") // folder, dataset.json, one tar, glob or {000..765} braces
//!     .shuffle(Shuffle::Full { seed: 42 })
//!     .split(Split::from_env()?) // rank and world
//!     .image("jpg", RandomResizedCrop::new(224).flip(0.5))
//!     .label("json", "/class")
//!     .batch(256)
//!     .build()?;
//! for epoch in loader.current_epoch()..90 {
//!     for batch in loader.epoch(epoch) {
//!         let batch = batch?;
//!         let images = batch.column("image")?; // u8 [256, 224, 224, 3]
//!         assert_eq!(images.shape(), [256, 224, 224, 3]);
//!     }
//!     println!("{}", loader.stats());
//! }
//! # Ok(())
//! # }
//! ```
//!
//! Which sample comes when is arithmetic: a function of (data set, seed, epoch, shuffle) and of nothing
//! else. Threads, ranks, prefetch and memory change how fast it goes. [`Loader::state`] is a few
//! integers, with which any number of ranks goes on at the next sample; [`Loader::ledger`] proves
//! that each was seen once.
//!
//! Where things are: [`order`] decides which sample comes when, without I/O. [`source`] reads bytes of a shard, and
//! [`dataset`] opens shards with their sidecars. [`fetch`] plans the reads of a batch, [`decode`] makes rows of parts with
//! the arithmetic of [`picture`], [`batch`] and [`slab`] hold them. [`stream`] reads tars without a sidecar, [`device`]
//! brings batches to a GPU, and [`loader`] puts all of it together.
#![deny(unsafe_code)]
#![warn(missing_docs)]

pub mod array;
pub mod batch;
pub mod column;
pub mod dataset;
pub mod decode;
pub mod device;
pub mod error;
pub mod fetch;
mod fork;
pub mod libraries;
pub mod loader;
pub mod order;
pub mod picture;
mod pool;
mod range;
pub mod rank;
pub mod size;
pub mod slab;
pub mod source;
pub mod stream;
mod sync;

pub use crate::device::upload::batch::{DeviceBatch, DeviceColumn};
pub use array::ArrayDataset;
pub use batch::{Batch, Column};
pub use dataset::Dataset;
pub use dataset::pattern::Shards;
pub use decode::fixed_crop::{CenterCrop, Resize, ResizeCenterCrop};
pub use decode::image::Image;
pub use decode::json::Json;
pub use decode::random_crop::RandomResizedCrop;
pub use device::Device;
pub use error::{Error, ErrorKind, Result};
pub use fetch::fetched::Verify;
pub use loader::{
    DeviceEpoch, DeviceLoader, DeviceLoaderBuilder, Epoch, Loader, LoaderBuilder, OnBad, Residency,
    ResidentSize, StreamEpoch, StreamLoader, StreamLoaderBuilder, end_device_epochs,
};
pub use order::{LoaderState, Remainder, Shuffle, Split};
pub use range::tell_profilers_by;
pub use size::Size;
pub use source::open::SourceKind;
pub use stream::Stream;

/// The examples of the README, as tests of the documentation.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
