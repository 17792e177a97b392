//! Samples that are delivered together although they are no neighbors in the order: those of a bucket, and packs.

pub(super) mod buckets;
pub(super) mod packs;
