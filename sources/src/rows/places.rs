//! Places of parts in a source: their bytes are read when a shard is packed.

pub(crate) mod bytes;
pub(crate) mod decoded;
pub(crate) mod inflate;
pub(crate) mod named_files;
pub(crate) mod reader;
pub(crate) mod row_cells;
pub(crate) mod sidecar;
