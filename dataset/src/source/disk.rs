//! Shards on a local disk: read, or mapped into memory.

pub(crate) mod file;
pub(super) mod limit;
pub(crate) mod mapped;
