//! Batches whose samples belong together: in a bucket, or in packs.

pub(crate) mod bucketing;
pub(crate) mod packing;
pub(crate) mod resolved;
