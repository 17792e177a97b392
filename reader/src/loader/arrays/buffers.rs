//! `ArrayBuffers`: the bytes of the rows of a task. They are reused for later tasks.

use tarflume_types::Result;

use crate::loader::arrays::rows::ArrayRows;

/// The bytes of some rows of all arrays.
#[derive(Debug, Default)]
pub(crate) struct ArrayBuffers {
    /// The numbers of the rows.
    numbers: Vec<u64>,
    /// For each array the bytes of the rows, without gaps.
    bytes: Vec<Vec<u8>>,
}

impl ArrayBuffers {
    /// The bytes of row number `at` of array number `array`.
    #[inline]
    pub(crate) fn row(&self, array: usize, at: usize) -> &[u8] {
        let bytes = &self.bytes[array];
        let size = bytes.len() / self.numbers.len();
        &bytes[at * size..][..size]
    }

    /// Reads the rows with these numbers.
    ///
    /// # Errors
    /// A row cannot be read.
    pub(crate) fn read(
        &mut self,
        arrays: &ArrayRows,
        numbers: impl Iterator<Item = u64>,
    ) -> Result<()> {
        self.numbers.clear();
        self.numbers.extend(numbers);
        self.bytes.resize_with(arrays.arrays().count(), Vec::new);
        for (array, bytes) in arrays.arrays().zip(&mut self.bytes) {
            bytes.resize(self.numbers.len() * array.row_bytes(), 0);
            array.read_rows(&self.numbers, bytes)?;
        }
        Ok(())
    }
}
