//! Whole epochs of the loader, as sentences. One target, so that it links once.
#![allow(missing_docs)]

mod bad;
mod columns;
mod endings;
mod harness;
mod orders;
mod resume;
mod shards;
