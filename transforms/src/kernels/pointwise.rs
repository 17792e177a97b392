//! Tables of bytes.

use crate::actions::Table;
use crate::kernels::sets::wide;

wide! {
    /// Replaces each byte by its value in the table.
    pub(crate) fn look_up(bytes: &mut [u8], table: &Table) {
        for byte in bytes {
            *byte = table[usize::from(*byte)];
        }
    }
}
