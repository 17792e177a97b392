//! The steps inside blocks, for one to four lanes in turn.

use super::code::PLACES;
use super::lane::{Cold, Fault, Hot, Lane, REACH};
use super::steps::{Steps, rounds};
use crate::entropy::tables::pairs::BITS;

/// Decodes the symbols of one look-up. Returns false if the lane stops.
#[inline(always)]
fn look<'a>(lane: &mut Hot<'a>, cold: &mut Cold<'a>) -> bool {
    #[inline(always)]
    fn place(k: u8) -> usize {
        usize::from(PLACES[usize::from(k)])
    }

    let entry = lane.table[(lane.window >> (64 - BITS)) as usize];
    let Some(reach) = lane.out.first_chunk_mut::<REACH>() else {
        return cold.fail(Fault::TooLong); // never: the slack is behind every block
    };
    // Rotated, not shifted: the bits taken become the lowest, and end with those of the last value.
    // They do not return as data: a window is used for three entries of at most 19 bits.
    lane.window = lane.window.rotate_left((entry >> 8) as u32);
    let first = (lane.state as u8).wrapping_add((entry >> 16) as u8);
    // One addition advances bits and coefficient. It does not carry from one to the other: at most
    // 192 is added to at most 62.
    lane.state += entry & 0xffff;
    let last = lane.state as u8;
    let bits = lane.window & !(u64::MAX << ((entry >> 24) & 63));
    // In this order: an entry of one symbol also stores a zero, behind the block or at the place of
    // its value, which is stored after it.
    reach[place(last)] = (bits as u16).wrapping_add((entry >> 32) as u16) as i16;
    reach[place(first)] = (entry >> 48) as i16;
    // One branch for all that is rare: a full block, its end, an entry without a symbol, a fault.
    if last < 63 { true } else { lane.turn(cold, entry) }
}

rounds!(rounds1, [Lane; 1], look, a cold_a 0);
rounds!(rounds2, [Lane; 2], look, a cold_a 0, b cold_b 1);
rounds!(rounds3, [Lane; 3], look, a cold_a 0, b cold_b 1, c cold_c 2);
rounds!(rounds4, [Lane; 4], look, a cold_a 0, b cold_b 1, c cold_c 2, d cold_d 3);

/// The steps of lanes that decode.
pub(crate) type Lockstep = Steps<Lane>;

impl Lockstep {
    /// For every processor.
    pub(super) const PORTABLE: Lockstep =
        Lockstep { one: rounds1, two: rounds2, three: rounds3, four: rounds4 };
}
