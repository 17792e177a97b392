//! Are there enough bytes for a picture of this size? Asked before memory is taken for its pixels: a
//! header of 20 bytes can claim 65535 x 65535 of them.

use super::Header;
use crate::error::{Error, Result};

/// The fewest bits of a block: one code of DC, one that ends it. In several passes it may be one code.
const WHOLE_BITS: u64 = 2;
const PASS_BITS: u64 = 1;

impl Header {
    /// Whether the entropy-coded data can hold so many rows of MCUs of so many blocks each.
    ///
    /// # Errors
    /// They can't: the first row that is certainly missing is named.
    pub(crate) fn check_rows(&self, bytes: &[u8], rows: u32, each: u64) -> Result<()> {
        let held = self.bits(bytes) / (WHOLE_BITS * each).max(1);
        match u32::try_from(held) {
            Ok(held) if held < rows => Err(self.too_few(bytes).in_row(held)),
            _ => Ok(()),
        }
    }

    /// The same of a whole picture of several scans.
    ///
    /// # Errors
    /// The data can't hold it.
    pub(crate) fn check_blocks(&self, bytes: &[u8]) -> Result<()> {
        if self.blocks.saturating_mul(PASS_BITS) > self.bits(bytes) {
            return Err(self.too_few(bytes));
        }
        Ok(())
    }

    /// Bits behind the header.
    fn bits(&self, bytes: &[u8]) -> u64 {
        8 * bytes.len().saturating_sub(self.data) as u64
    }

    fn too_few(&self, bytes: &[u8]) -> Error {
        let (width, height) = (self.width, self.height);
        let text = format!("{width}x{height} pixels do not fit into this file: it was cut");
        Error::damaged(bytes.len(), text)
    }
}
