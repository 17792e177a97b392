//! Shards with their sidecars, and the data sets that they form.

pub(super) mod dataset;
#[doc(hidden)]
pub mod probe;
pub(super) mod reading;
pub(super) mod shard;
