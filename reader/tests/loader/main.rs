//! Whole epochs of the loader, as sentences. One target, so that it links once.
#![allow(missing_docs)]

mod harness;
mod orders;
mod resume;
