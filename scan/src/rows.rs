//! Samples that are rows of a table or of another file, as a scan holds them.

pub mod builder;
pub(crate) mod row;
pub mod row_notes;
