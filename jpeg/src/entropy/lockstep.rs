//! The steps inside blocks, for one to four lanes in turn.

use super::code::PLACES;
use super::lane::{Cold, Fault, Hot, Lane, REACH};
use super::pairs::BITS;

/// Limit on the lanes decoded in turn. More would need more registers than a processor has, and
/// gain nothing.
pub(crate) const MOST_LANES: usize = 4;

/// Decodes the symbols of one look-up. Returns false if the lane stops.
#[inline(always)]
fn look<'a>(lane: &mut Hot<'a>, cold: &mut Cold<'a>) -> bool {
    let entry = lane.table[(lane.window >> (64 - BITS)) as usize];
    let Some(reach) = lane.out.first_chunk_mut::<REACH>() else {
        return cold.fail(Fault::TooLong); // never: the slack is behind every block
    };
    lane.window = lane.window.rotate_left((entry >> 8) as u32);
    let first = (lane.state as u8).wrapping_add((entry >> 16) as u8);
    lane.state += entry & 0xffff;
    let last = lane.state as u8;
    let place = |k: u8| usize::from(PLACES[usize::from(k)]);
    let bits = lane.window & !(u64::MAX << ((entry >> 24) & 63));
    reach[place(last)] = (bits as u16).wrapping_add((entry >> 32) as u16) as i16;
    reach[place(first)] = (entry >> 48) as i16;
    if last < 63 { true } else { lane.turn(cold, entry) }
}

/// The loop with one variable per lane: in an array, the compiler would keep them in memory. The
/// look-ups of the lanes alternate, so that each has the time of the others to arrive.
macro_rules! rounds {
    ($name:ident, $count:literal, $($lane:ident $cold:ident $number:literal),+) => {
        /// Steps the lanes in turn until one stops; returns its number.
        #[inline(always)]
        pub(super) fn $name(lanes: [&mut Lane; $count]) -> usize {
            let [$($lane),+] = lanes;
            $(let (mut $lane, mut $cold) = $lane.hot();)+
            let stopped = loop {
                $(if !$lane.load(&mut $cold) { break $number; })+
                $(if !look(&mut $lane, &mut $cold) { break $number; })+
                $(if !look(&mut $lane, &mut $cold) { break $number; })+
                $(if !look(&mut $lane, &mut $cold) { break $number; })+
            };
            $($cold.park($lane.state);)+
            stopped
        }
    };
}

rounds!(rounds1, 1, a cold_a 0);
rounds!(rounds2, 2, a cold_a 0, b cold_b 1);
rounds!(rounds3, 3, a cold_a 0, b cold_b 1, c cold_c 2);
rounds!(rounds4, 4, a cold_a 0, b cold_b 1, c cold_c 2, d cold_d 3);

/// The steps for an instruction set.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lockstep {
    pub(super) one: fn([&mut Lane; 1]) -> usize,
    pub(super) two: fn([&mut Lane; 2]) -> usize,
    pub(super) three: fn([&mut Lane; 3]) -> usize,
    pub(super) four: fn([&mut Lane; 4]) -> usize,
}

impl Lockstep {
    /// For every processor.
    pub(super) const PORTABLE: Lockstep =
        Lockstep { one: rounds1, two: rounds2, three: rounds3, four: rounds4 };

    /// Runs the lanes, each begun, through their blocks until one stops; returns its number.
    pub(crate) fn run(&self, lanes: &mut [Lane]) -> usize {
        match lanes {
            [a, b, c, d, ..] => (self.four)([a, b, c, d]),
            [a, b, c] => (self.three)([a, b, c]),
            [a, b] => (self.two)([a, b]),
            [a] => (self.one)([a]),
            [] => 0,
        }
    }
}
