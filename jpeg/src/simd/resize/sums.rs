//! What the kernels that resize share: the steps of a line, and sums from their start to bytes.

use crate::simd::lanes::{Lanes, NONE};
use crate::simd::taps::{LOW_BITS, Places};

/// Joins the sums of upper parts of fine weights with those of lower parts.
#[inline(always)]
pub(super) fn joined<L: Lanes>(lanes: L, upper: L::V, lower: L::V) -> L::V {
    lanes.add_32(lanes.left_32::<{ LOW_BITS as i32 }>(upper), lower)
}

#[inline(always)]
pub(super) fn rounding<L: Lanes>(lanes: L, bits: u32) -> L::V {
    lanes.all_32(1 << (bits - 1))
}

/// Divides sums and saturates them: each group's bytes of the four vectors in turn.
#[inline(always)]
pub(super) fn bytes<L: Lanes>(lanes: L, sums: [L::V; 4], bits: u32) -> L::V {
    let [a, b, c, d] = [
        lanes.right_32_by(sums[0], bits),
        lanes.right_32_by(sums[1], bits),
        lanes.right_32_by(sums[2], bits),
        lanes.right_32_by(sums[3], bits),
    ];
    lanes.narrow_to_unsigned(lanes.narrow_32(a, b), lanes.narrow_32(c, d))
}

/// The starts and the weights of a step.
#[derive(Clone, Copy)]
pub(super) struct Step<'a> {
    pub(super) places: Places<'a>,
    pub(super) weights: &'a [[u8; 16]],
}

/// The bytes of two pixels of three, from pixel `2 unit` of a group on, as pairs of 16-bit numbers.
pub(super) const fn pair(unit: usize) -> [u8; 16] {
    let mut table = [NONE; 16];
    let mut i = 0;
    while i < 6 {
        let byte = 6 * unit + i / 2 + 3 * (i % 2);
        if byte < 16 {
            table[2 * i] = byte as u8;
        }
        i += 1;
    }
    table
}

pub(super) const PAIRS: [[u8; 16]; 3] = [pair(0), pair(1), pair(2)];

/// Drops every fourth byte.
pub(super) const TRIPLES: [u8; 16] =
    [0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, NONE, NONE, NONE, NONE];

/// The sums of each part of weights before the first addition.
#[inline(always)]
pub(super) fn sums_at_start<L: Lanes, const PARTS: usize>(lanes: L, bits: u32) -> [L::V; PARTS] {
    let mut sums = [lanes.all_16(0); PARTS];
    sums[PARTS - 1] = rounding(lanes, bits);
    sums
}
