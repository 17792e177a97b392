//! From ordinals to bytes: the reads that a batch needs, and the parts that they return.
//!
//! [`wanted`] declares the needed parts, [`plan`] turns ordinals into merged reads, and [`fetched`]
//! executes one run of reads and lends the parts. Starts no threads. After warm-up, a good sample causes
//! no allocation.

pub(crate) mod fetched;
pub(crate) mod plan;
pub(crate) mod view;
pub(crate) mod wanted;
