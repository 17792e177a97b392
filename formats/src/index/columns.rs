//! Typed columns of a sidecar: one value for each sample, such as its class, readable without its parts.
//!
//! `spec` has names and types, `write` collects and encodes values, `read` copies them out.

mod read;
mod spec;
mod write;

pub use read::StoredColumn;
pub use spec::{ColumnSpec, OwnedValue, Value, ValueType};
pub(super) use write::ColumnValues;
