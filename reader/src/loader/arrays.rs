//! Batches of rows of arrays: the same loader, whose samples are rows of files that have no shards.

pub(crate) mod any_source;
pub(crate) mod buffers;
pub(crate) mod planner;
pub(crate) mod row;
pub(crate) mod rows;
pub(crate) mod source;
