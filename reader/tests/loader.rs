//! Whole epochs of the loader, as sentences.
#![allow(missing_docs, unreachable_pub, clippy::unwrap_used, clippy::expect_used)]

mod api;
mod arrays;
mod columns;
mod faults;
pub(crate) mod harness;
mod order;
mod pictures;
mod shards;
mod truth;
