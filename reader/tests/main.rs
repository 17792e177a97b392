//! All tests of the crate that share a process, in one program, so that it links once. Tests of what belongs to the
//! whole process are programs of their own; Cargo.toml says why.
//!
//! - `loader`: whole epochs; `readahead`: of a slow server; `remote`: of a data set in a store; `array`: of rows of arrays;
//! - `shards`: from the name of a data set to the bytes of its parts;
//! - `stream`: tars without a sidecar; `stream_loader`: their batches;
//! - `transforms`: recipes in a loader;
//! - `cuda`, `cuda_finish`, `cuda_resident`, `device_decoder`, `nvjpeg`: a GPU that `simulated` starts; `kernel`: its kernels;
//! - `nvtx`: ranges of a profiler;
//! - `patience`: waits that only a hang exceeds.
#![allow(missing_docs, unreachable_pub, clippy::unwrap_used, clippy::expect_used)]

mod array;
#[cfg(feature = "cuda")]
mod cuda;
#[cfg(feature = "cuda")]
mod cuda_finish;
#[cfg(feature = "cuda")]
mod cuda_resident;
#[cfg(feature = "cuda")]
mod device_decoder;
mod kernel;
mod loader;
#[cfg(feature = "cuda")]
mod nvjpeg;
#[cfg(feature = "nvtx")]
mod nvtx;
mod patience;
mod readahead;
#[cfg(feature = "remote")]
mod remote;
mod shards;
#[cfg(feature = "cuda")]
mod simulated;
mod stream;
mod stream_loader;
mod transforms;
