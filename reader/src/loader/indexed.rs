//! Batches of shards that have an index: planned by the order, read by place.

pub(crate) mod new_shards;
pub(crate) mod planner;
pub(crate) mod readahead;
pub(crate) mod substitute;
pub(crate) mod worker;
