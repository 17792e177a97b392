//! The fuzz targets: functions that give their input to one parser each, and panic where it does what it must not.
//!
//! Two programs call them: those of `fuzz/fuzz_targets` with the inputs of libFuzzer, and `tests/main.rs` with the inputs
//! of `fuzz/seeds` and damaged copies of them. Each input is hostile: an error is right; a panic, a place outside the input
//! and memory without a limit are not.
//!
//! Without the feature `safe`, only the targets are there whose code has `unsafe` in our own crates: `make smoke` runs them
//! with AddressSanitizer, and compiles nothing else.
//!
//! A new target has a file here or in `safe`, its name in `tests/main.rs`, seeds in `fuzz/seeds`, and a program: a file in
//! `fuzz/fuzz_targets` and an entry in `fuzz/Cargo.toml`. A test finds what is missing.

mod index;
mod jpeg_decode;
mod jpeg_excerpt;
mod jpeg_group;
mod jpeg_header;
mod jpeg_offload;
mod jpeg_points;
mod jpeg_scan;
#[cfg(feature = "safe")]
mod safe;
mod seeds;

pub use index::index;
pub use jpeg_decode::jpeg_decode;
pub use jpeg_excerpt::jpeg_excerpt;
pub use jpeg_group::jpeg_group;
pub use jpeg_header::jpeg_header;
pub use jpeg_offload::jpeg_offload;
pub use jpeg_points::jpeg_points;
pub use jpeg_scan::jpeg_scan;
#[cfg(feature = "safe")]
pub use safe::*;
