//! All tests of the crate that share a process, in one program, so that it links once. Tests of what belongs to the
//! whole process are programs of their own; Cargo.toml says why.
//!
//! - `loader`: whole epochs; `readahead`: of a slow server; `remote`: of a data set in a store; `array`: of rows of arrays;
//! - `mixing`: batches whose rows are mixed;
//! - `shards`: from the name of a data set to the bytes of its parts;
//! - `stream`: tars without a sidecar; `stream_loader`: their batches;
//! - `gpu`: devices, which `simulated` starts; `transforms`: recipes in a loader; `views`: several pictures of
//!   a sample;
//! - `patience`: waits that only a hang exceeds.
#![allow(missing_docs, unreachable_pub, clippy::unwrap_used, clippy::expect_used)]

mod array;
mod gpu;
mod loader;
mod mixing;
mod patience;
mod readahead;
#[cfg(feature = "remote")]
mod remote;
mod shards;
mod stream;
mod stream_loader;
mod transforms;
mod views;
