//! Typed columns of a sidecar: one value for each sample, such as its class, readable without its parts.
//!
//! `spec` has names and types, `write` collects and encodes values, `stored` says where they are in a
//! sidecar. `values`, beside this folder, reads them.

mod spec;
mod stored;
mod write;

pub use spec::{ColumnSpec, OwnedValue, Value, ValueType};
pub use stored::StoredColumn;
pub(super) use write::ColumnValues;
