//! Batches of streams: tars without an index, front to back.

pub(crate) mod builder;
pub(crate) mod loader;
pub(crate) mod planner;
pub(crate) mod sample;
pub(crate) mod samples;
pub(crate) mod source;
pub(crate) mod worker;
