//! The steps inside blocks, for one to four lanes in turn.

use super::huffman::LOOK;
use super::lane::{Hot, Lane, PLACES, entry_value, window};

/// Limit on the lanes decoded in turn. More would need more registers than a processor has, and
/// gain nothing.
pub(crate) const MOST_LANES: usize = 4;

/// The number of taken bits up to which a window still holds a third symbol.
const ROOM: usize = 57 - 20;

/// Decodes two symbols of one lane from one window of 57 bits, because no symbol of the entries has
/// more than 20; with `MORE` a third one if it fits. Returns false if the lane stops.
#[inline(always)]
fn step<const KEEP: bool, const MORE: bool>(lane: &mut Hot<'_>) -> bool {
    let first = lane.bit;
    let Some(mut bits) = window(lane.data, first) else { return lane.cut() };
    let entry = lane.ac[(bits >> (64 - LOOK)) as usize];
    symbol::<KEEP>(lane, entry, bits);
    if lane.k >= 63 {
        return lane.turn(entry);
    }
    bits <<= 64 - (entry & 0xff);
    let entry = lane.ac[(bits >> (64 - LOOK)) as usize];
    symbol::<KEEP>(lane, entry, bits);
    if lane.k >= 63 {
        return lane.turn(entry);
    }
    if !MORE || lane.bit - first > ROOM {
        return true;
    }
    bits <<= 64 - (entry & 0xff);
    let entry = lane.ac[(bits >> (64 - LOOK)) as usize];
    symbol::<KEEP>(lane, entry, bits);
    if lane.k >= 63 { lane.turn(entry) } else { true }
}

/// Stores the entry's value if it is to be kept, and advances.
#[inline(always)]
fn symbol<const KEEP: bool>(lane: &mut Hot<'_>, entry: u64, bits: u64) {
    lane.k += (entry >> 8) as usize & 0xff;
    if KEEP {
        lane.block[usize::from(PLACES[lane.k & 255]) & 63] = entry_value(entry, bits);
    }
    lane.bit += 64 - (entry & 0xff) as usize;
}

/// The loop with one variable per lane: in an array, the compiler would keep them in memory.
macro_rules! rounds {
    ($name:ident, $count:literal, $more:literal, $($lane:ident $number:literal),+) => {
        /// Steps the lanes in turn until one stops; returns its number.
        #[inline(always)]
        pub(super) fn $name<const KEEP: bool>(lanes: [&mut Lane; $count]) -> usize {
            let [$($lane),+] = lanes;
            $(let mut $lane = $lane.hot();)+
            let stopped = loop {
                $(if !step::<KEEP, $more>(&mut $lane) { break $number; })+
            };
            $($lane.park();)+
            stopped
        }
    };
}

// One or two lanes wait for their windows: a third symbol per window shortens that. Three or four
// lanes fill each other's waits and gain nothing.
rounds!(rounds1, 1, true, a 0);
rounds!(rounds2, 2, true, a 0, b 1);
rounds!(rounds3, 3, false, a 0, b 1, c 2);
rounds!(rounds4, 4, false, a 0, b 1, c 2, d 3);

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
    pub(super) const PORTABLE: Lockstep = Lockstep {
        one: |lanes| rounds1::<true>(lanes),
        two: |lanes| rounds2::<true>(lanes),
        three: |lanes| rounds3::<true>(lanes),
        four: |lanes| rounds4::<true>(lanes),
    };

    /// The same without storing most coefficients, for scans that only need positions.
    pub(super) const PORTABLE_SCAN: Lockstep = Lockstep {
        one: |lanes| rounds1::<false>(lanes),
        two: |lanes| rounds2::<false>(lanes),
        three: |lanes| rounds3::<false>(lanes),
        four: |lanes| rounds4::<false>(lanes),
    };

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
