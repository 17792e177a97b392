//! Device memory that outlives a batch: rows and JPEGs of resident data sets, and buffers for decoded pictures. Owns no
//! slots.

pub mod decode_buffers;
pub mod jpeg_kernels;
pub mod jpeg_store;
pub mod row_store;
