//! Devices: a GPU and its libraries that `simulated` starts, ranges of a profiler.
//!
//! - `cuda`, `cuda_finish`, `cuda_resident`, `device_decoder`, `device_kernels`, `device_transforms`, `draws`, `nvjpeg`:
//!   what a device does; `kernel`: its kernels;
//! - `memory`, `own_streams`: its memory and the loader's streams;
//! - `nvtx`: ranges of a profiler.

#[cfg(feature = "cuda")]
mod cuda;
#[cfg(feature = "cuda")]
mod cuda_finish;
#[cfg(feature = "cuda")]
mod cuda_resident;
#[cfg(feature = "cuda")]
mod device_decoder;
#[cfg(feature = "cuda")]
mod device_kernels;
#[cfg(feature = "cuda")]
mod device_transforms;
#[cfg(feature = "cuda")]
mod draws;
mod kernel;
#[cfg(feature = "cuda")]
mod memory;
#[cfg(feature = "cuda")]
mod nvjpeg;
#[cfg(feature = "nvtx")]
mod nvtx;
#[cfg(feature = "cuda")]
mod own_streams;
#[cfg(feature = "cuda")]
pub(crate) mod simulated;
