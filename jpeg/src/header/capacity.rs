//! Checks that the file has enough bytes for its picture size, before memory is allocated for the
//! pixels: a header of 20 bytes can declare 65535 x 65535 of them.

use super::Header;
use crate::error::{Error, Result};

/// Least number of bits of a block: one DC code and one end of block. In several scans it may be
/// one code.
const WHOLE_BITS: u64 = 2;
const PASS_BITS: u64 = 1;

impl Header {
    /// Checks that the entropy-coded data can hold `rows` rows of MCUs of `each` blocks.
    ///
    /// # Errors
    /// Returns an error if they cannot, with the first row that is certainly missing.
    pub(crate) fn check_rows(&self, bytes: &[u8], rows: u32, each: u64) -> Result<()> {
        let held = self.bits(bytes) / (WHOLE_BITS * each).max(1);
        match u32::try_from(held) {
            Ok(held) if held < rows => Err(self.too_few(bytes).in_row(held)),
            _ => Ok(()),
        }
    }

    /// The same check for a whole picture of several scans.
    ///
    /// # Errors
    /// Returns an error if the data cannot hold it.
    pub(crate) fn check_blocks(&self, bytes: &[u8]) -> Result<()> {
        if self.blocks.saturating_mul(PASS_BITS) > self.bits(bytes) {
            return Err(self.too_few(bytes));
        }
        Ok(())
    }

    /// Returns the number of bits after the header.
    fn bits(&self, bytes: &[u8]) -> u64 {
        8 * bytes.len().saturating_sub(self.data) as u64
    }

    fn too_few(&self, bytes: &[u8]) -> Error {
        let width = self.width;
        let height = self.height;
        let text = format!("{width}x{height} pixels do not fit into this file: it was cut");
        Error::damaged(bytes.len(), text)
    }
}
