//! `VariableRows`: the rows of a variable column, to be read.

/// The rows of a variable column of a sealed slab.
#[derive(Debug, Clone, Copy)]
pub struct VariableRows<'a> {
    /// All rows, one after the other.
    bytes: &'a [u8],
    /// Where each row begins and the last one ends, counted from `offsets[0]`.
    offsets: &'a [usize],
}

impl<'a> VariableRows<'a> {
    pub(super) fn new(bytes: &'a [u8], offsets: &'a [usize]) -> VariableRows<'a> {
        VariableRows { bytes, offsets }
    }

    /// The bytes of a row.
    ///
    /// # Panics
    /// Panics if there is no such row.
    pub fn row(&self, row: usize) -> &'a [u8] {
        &self.bytes[self.offsets[row] - self.offsets[0]..self.offsets[row + 1] - self.offsets[0]]
    }
}
