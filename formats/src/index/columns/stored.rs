//! `StoredColumn`: a typed column of a sidecar, and where its values are. Pure.

use std::ops::Range;

use super::spec::ColumnSpec;

/// A typed column of a sidecar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredColumn {
    pub(in crate::index) spec: ColumnSpec,
    /// The bits of rows that have a value; absent if all have one.
    pub(in crate::index) known: Option<Range<usize>>,
    /// The numbers, the bits, or the places of texts.
    pub(in crate::index) values: Range<usize>,
    /// The texts, one after the other.
    pub(in crate::index) texts: Range<usize>,
}

impl StoredColumn {
    /// Returns name, type and place of the values.
    pub fn spec(&self) -> &ColumnSpec {
        &self.spec
    }

    /// Returns true if a sample lacks a value.
    pub fn has_nulls(&self) -> bool {
        self.known.is_some()
    }
}
