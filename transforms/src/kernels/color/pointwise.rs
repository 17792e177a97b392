//! Tables of bytes.

use crate::kernels::color::planes::{BLOCK, Planes};
use crate::kernels::color::shuffles;
use crate::kernels::color::table::Table;
use crate::kernels::sets::{Set, wide};

/// Fewer bytes are looked up one by one: the tables' registers take longer to fill.
const FEW: usize = 64;

/// Replaces each byte by its value in the table.
pub(crate) fn look_up(set: Set, bytes: &mut [u8], table: &Table) {
    let done = if bytes.len() < FEW { 0 } else { shuffles::look_up(set, bytes, table) };
    for byte in &mut bytes[done..] {
        *byte = table[usize::from(*byte)];
    }
}

/// Replaces each byte of interleaved pixels of three channels by its value in the table of its
/// channel.
pub(crate) fn look_up_channels(set: Set, pixels: &mut [u8], tables: &[Table; 3]) {
    if set >= Set::Avx2 {
        look_up_planes(set, pixels, set, tables);
        return;
    }
    for pixel in pixels.chunks_exact_mut(3) {
        for (byte, table) in pixel.iter_mut().zip(tables) {
            *byte = table[usize::from(*byte)];
        }
    }
}

wide! {
    /// Takes the channels apart, so that each table is in registers for a block.
    fn look_up_planes(pixels: &mut [u8], of: Set, tables: &[Table; 3]) {
        let mut planes = Planes::black();
        for block in pixels.chunks_mut(3 * BLOCK) {
            planes.split(block);
            look_up(of, &mut planes.red, &tables[0]);
            look_up(of, &mut planes.green, &tables[1]);
            look_up(of, &mut planes.blue, &tables[2]);
            planes.join(block);
        }
    }
}
