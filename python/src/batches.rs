//! Batches and tables: their columns in host and device memory.

pub(super) mod batch;
pub(super) mod bucket_column;
pub(super) mod column;
pub(super) mod device;
pub(super) mod device_ragged;
pub(super) mod draws;
pub(super) mod objects;
pub(super) mod ragged;
pub(super) mod table;
