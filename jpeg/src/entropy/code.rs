//! Reads single codes: the window of the next bits, and the values in it.

use crate::entropy::tables::huffman::{LOOK, Table};
use crate::header::NATURAL;

/// The natural position of each zigzag number. Numbers beyond the block map to the first position
/// of the next one, whose DC is stored later.
pub(super) static PLACES: [u8; 256] = {
    let mut places = [64; 256];
    let mut n = 0;
    while n < 64 {
        places[n] = NATURAL[n];
        n += 1;
    }
    places
};

/// Returns at least 57 bits from `bit` on; `None` at the end of the data.
#[inline(always)]
pub(super) fn window(data: &[u8], bit: usize) -> Option<u64> {
    // The first bit is one of the first byte: 57 to 64 bits are left. `PADDING` makes eight bytes
    // exist from any byte of the data on.
    let bytes = data.get(bit >> 3..)?.first_chunk::<8>()?;
    Some(u64::from_be_bytes(*bytes) << (bit & 7))
}

/// Returns the value of `size` bits after a code of `length` bits (T.81, F.2.2.1, EXTEND).
pub(super) fn value(window: u64, length: u32, size: u32) -> i32 {
    if size == 0 {
        return 0;
    }
    let bits = ((window << length) >> (64 - size)) as i32;
    if bits >> (size - 1) == 1 { bits } else { bits + 1 - (1 << size) }
}

/// Returns the value after the code of `entry`, from the window of its lookup.
#[inline(always)]
pub(super) fn entry_value(entry: u64, window: u64) -> i16 {
    // An entry has 64 minus the bits taken: the shift that makes the value the lowest bits.
    let bits = (window >> (entry & 63)) as u16 & (entry >> 16) as u16;
    bits.wrapping_add((entry >> 32) as u16) as i16
}

/// Returns the difference of a DC to the previous one, and the bits that it takes; `None` if no
/// code matches.
#[inline(always)]
pub(super) fn difference(table: &Table, window: u64) -> Option<(i32, usize)> {
    let entry = table.entries[(window >> (64 - LOOK)) as usize];
    // Bit 6 means that no bit is taken: the entry holds no symbol.
    if entry & 64 == 0 {
        return Some((entry_value(entry, window).into(), 64 - (entry & 63) as usize));
    }
    let rare = table.rare_dc(window)?;
    Some((value(window, rare.length, rare.size), (rare.length + rare.size) as usize))
}
