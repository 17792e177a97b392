//! Batches of samples that are no neighbors in the order: those of buckets, and packs.

pub(crate) mod buckets;
pub(crate) mod group_rows;
pub(crate) mod packs;
pub(crate) mod progress;
pub(crate) mod step_rows;
