//! From ordinals to bytes: the reads that a batch needs, and the parts that they return.
//!
//! [`part_needs`] declares the needed parts, [`plan`] turns ordinals into merged reads, and [`run_bytes`]
//! executes one run of reads and lends the parts. [`verify`] selects the samples whose checksums are
//! compared. Starts no threads. After warm-up, a good sample causes no allocation.

pub(crate) mod draw;
pub(crate) mod excerpt;
pub(crate) mod part_needs;
pub(crate) mod parts;
mod place;
pub(crate) mod plan;
mod proofs;
pub(crate) mod run_bytes;
pub(crate) mod verify;
pub(crate) mod view;
