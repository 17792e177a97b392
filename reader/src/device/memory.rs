//! Device memory that outlives a batch: rows and JPEGs of resident data sets, and buffers for decoded pictures. Owns no
//! slots.

pub(crate) mod decode_buffers;
pub(crate) mod jpeg_store;
pub(crate) mod row_store;
