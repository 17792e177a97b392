//! All tests of the crate in one program, so that it links once.
//!
//! - `shard`: tar and index, written in step; `reading`: a tar read from disk; `index`, `columns`, `lookup`: a sidecar;
//! - `dataset`: a data set; `plan`: a plan; `compressed`: shards compressed by zstd;
//! - `guard`: mapped files that are truncated; `overwrites`: mapped files that are overwritten;
//! - `format_md`: the examples of FORMAT.md.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that panics has failed")]

mod columns;
mod compressed;
mod dataset;
mod format_md;
mod guard;
mod index;
mod lookup;
mod overwrites;
mod plan;
mod reading;
mod shard;
