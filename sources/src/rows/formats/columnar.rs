//! Formats that store columns: Parquet and Arrow.

pub(crate) mod arrow;
pub(crate) mod classes;
pub(crate) mod parquet;
