//! Steps shared by all inverse DCTs in vectors: coefficients by rows, products of pairs, wide sums.

use super::groups::BlockGroup;
use crate::simd::cosines::BETWEEN_BITS;
use crate::simd::lanes::Lanes;
use crate::simd::run::Blocks;

/// One line of 32-bit numbers: the lower and the upper halves of groups.
pub(in crate::simd) type Wide<L> = [<L as Lanes>::V; 2];

#[inline(always)]
pub(in crate::simd) fn dequantized<L: Lanes>(
    lanes: L,
    blocks: &Blocks<'_>,
    group: BlockGroup,
    row: usize,
) -> L::V {
    let quant = blocks.quant.as_chunks::<8>().0[row].map(u16::cast_signed);
    lanes.mul_16(group.row(lanes, blocks, row), lanes.eight(&quant))
}

/// Returns true if the top row has values that wrap if there are no others, and saturate if there
/// are.
#[inline(always)]
pub(in crate::simd) fn may_wrap<L: Lanes>(lanes: L, top: L::V) -> bool {
    const LEAST: i16 = i16::MIN >> BETWEEN_BITS;
    let above = lanes.sub_16(top, lanes.all_16(LEAST));
    lanes.any(above, lanes.all_16(!(-2 * LEAST - 1)))
}

#[inline(always)]
pub(in crate::simd) fn pairs<L: Lanes>(lanes: L, a: L::V, b: L::V) -> Wide<L> {
    [lanes.zip_low_16(a, b), lanes.zip_high_16(a, b)]
}

#[inline(always)]
pub(in crate::simd) fn dot<L: Lanes>(lanes: L, pairs: L::V, first: i16, second: i16) -> L::V {
    lanes.dot(pairs, lanes.pair_16(first, second))
}

#[inline(always)]
pub(in crate::simd) fn dots<L: Lanes>(
    lanes: L,
    pairs: Wide<L>,
    first: i16,
    second: i16,
) -> Wide<L> {
    [dot(lanes, pairs[0], first, second), dot(lanes, pairs[1], first, second)]
}

#[inline(always)]
pub(in crate::simd) fn adds<L: Lanes>(lanes: L, a: Wide<L>, b: Wide<L>) -> Wide<L> {
    [lanes.add_32(a[0], b[0]), lanes.add_32(a[1], b[1])]
}

#[inline(always)]
pub(in crate::simd) fn subs<L: Lanes>(lanes: L, a: Wide<L>, b: Wide<L>) -> Wide<L> {
    [lanes.sub_32(a[0], b[0]), lanes.sub_32(a[1], b[1])]
}

/// `sum` plus `dots`.
#[inline(always)]
pub(in crate::simd) fn dots_add<L: Lanes>(
    lanes: L,
    sum: Wide<L>,
    pairs: Wide<L>,
    first: i16,
    second: i16,
) -> Wide<L> {
    let factors = lanes.pair_16(first, second);
    [lanes.dot_add(sum[0], pairs[0], factors), lanes.dot_add(sum[1], pairs[1], factors)]
}
