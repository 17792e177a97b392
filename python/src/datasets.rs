//! Data sets, arrays, and selections of their samples.

pub(super) mod arrays;
pub(super) mod selecting;
pub(super) mod shards;
