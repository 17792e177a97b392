//! Batches of the data loader [tarflume](https://docs.rs/tarflume): rows in host memory, and their upload to the memory
//! of a GPU, where pictures are decoded, resized and converted.
//!
//! Nothing here reads shards or decides what a batch contains. Programs use the types through the crate `tarflume`,
//! which exports them. What it does not export is for the crates of this project: no promise of semver holds for it.
#![deny(unsafe_code)]
#![warn(missing_docs)]

pub mod batch;
mod device;
pub mod jpeg_decoder;
pub mod jpeg_support;
mod libraries;
pub mod range;
pub mod slab;

#[cfg(any(test, feature = "simulated"))]
pub use crate::device::fake;
#[cfg(feature = "cuda")]
pub use crate::device::nvjpeg;
pub use crate::device::{Device, DeviceStream, driver, kernels, memory, room, upload};
pub use crate::libraries::Libraries;
