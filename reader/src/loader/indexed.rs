//! Batches of indexed shards: which samples a batch holds, what is read for them, and what replaces bad ones.

pub(crate) mod ahead;
pub(crate) mod groups;
pub(crate) mod new_shards;
pub(crate) mod planner;
pub(crate) mod sample;
pub(crate) mod source;
pub(crate) mod substitute;
pub(crate) mod tasks;
pub(crate) mod walk;
pub(crate) mod whole;
pub(crate) mod worker;
