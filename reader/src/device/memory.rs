//! device::memory

pub(crate) mod decode_buffers;
pub(crate) mod jpeg_store;
pub(crate) mod row_store;
