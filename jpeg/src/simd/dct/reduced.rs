//! Inverse DCTs of 8x8 coefficients to 4x4 and 2x2 samples in vectors, one block per group.
//!
//! Equal to `portable::reduced`, with sums of products by pairs; see there for the source and for
//! where values wrap.

use super::groups::{BlockGroup, CORNER, fill, only, rest};
use super::pairs::{Wide, adds, dequantized, dot, dots, may_wrap, pairs, subs};
use crate::simd::cosines::{
    BETWEEN_BITS, C_0_211, C_0_509, C_0_601, C_0_720, C_0_765, C_0_850, C_0_899, C_1_061, C_1_272,
    C_1_451, C_1_847, C_2_172, C_2_562, C_3_624, EIGHTH_BITS, FACTOR_BITS,
};
use crate::simd::lanes::Lanes;
use crate::simd::portable;
use crate::simd::run::Blocks;

/// Shifts after the two passes to 4x4.
const FIRST_4: i32 = FACTOR_BITS - BETWEEN_BITS + 1;
const SECOND_4: i32 = FACTOR_BITS + BETWEEN_BITS + EIGHTH_BITS + 1;

/// Transposes 4x4 bytes.
const TURNED: [u8; 16] = [0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15];

#[inline(always)]
pub(in crate::simd) fn to_4x4<L: Lanes>(lanes: L, blocks: &mut Blocks<'_>) {
    let mut n = 0;
    while n < blocks.count {
        if let Some(coefficient) = only(blocks, n) {
            fill::<4>(blocks, n, portable::idct::flat(coefficient, blocks.quant[0]));
            n += 1;
            continue;
        }
        let Some(group) = BlockGroup::from::<L>(blocks, n) else {
            return (lanes.shorter().idct[1])(&mut rest(blocks, n));
        };
        n += L::GROUPS;
        let c0 = dequantized(lanes, blocks, group, 0);
        if may_wrap(lanes, c0) {
            portable::reduced::to_4x4(&mut group.blocks::<L>(blocks));
            continue;
        }
        let c1 = dequantized(lanes, blocks, group, 1);
        let c2 = dequantized(lanes, blocks, group, 2);
        let c3 = dequantized(lanes, blocks, group, 3);
        let samples = if group.last < CORNER {
            corner_4x4(lanes, [c0, c1, c2, c3])
        } else {
            let c5 = dequantized(lanes, blocks, group, 5);
            let c6 = dequantized(lanes, blocks, group, 6);
            let c7 = dequantized(lanes, blocks, group, 7);
            samples_4x4(lanes, [c0, c1, c2, c3, c5, c6, c7])
        };
        group.store::<L, 4>(lanes.groups(samples), blocks);
        group.clear::<L>(blocks);
    }
}

/// Transforms rows of the upper left 4x4 coefficients; all others are 0.
#[inline(always)]
fn corner_4x4<L: Lanes>(lanes: L, c: [L::V; 4]) -> L::V {
    // Lower halves only. Columns 1 and 2 are swapped, so that neighbors are the pairs of pass 2.
    let c02 = lanes.swap_middle_32(lanes.zip_low_16(c[0], c[2]));
    let c13 = lanes.swap_middle_32(lanes.zip_low_16(c[1], c[3]));
    let r = corner_sums_4::<L, FIRST_4>(lanes, c02, c13);
    let r02 = lanes.narrow_32(r[0], r[2]);
    let r13 = lanes.narrow_32(r[1], r[3]);
    let r01 = lanes.zip_low_32(r02, r13);
    let r23 = lanes.zip_high_32(r02, r13);
    let c02 = lanes.zip_low_64(r01, r23);
    let c13 = lanes.zip_high_64(r01, r23);
    let x = corner_sums_4::<L, SECOND_4>(lanes, c02, c13);
    let columns = lanes.narrow_16(lanes.narrow_32(x[0], x[1]), lanes.narrow_32(x[2], x[3]));
    lanes.xor(lanes.shuffle(columns, &TURNED), lanes.bytes(&[0x80; 16]))
}

#[inline(always)]
fn corner_sums_4<L: Lanes, const BITS: i32>(lanes: L, c02: L::V, c13: L::V) -> [L::V; 4] {
    const ONE: i16 = 1 << (FACTOR_BITS + 1);
    let half = lanes.all_32(1 << (BITS - 1));
    let even = [
        lanes.dot_add(half, c02, lanes.pair_16(ONE, C_1_847)),
        lanes.dot_add(half, c02, lanes.pair_16(ONE, -C_1_847)),
    ];
    let odd = [dot(lanes, c13, C_2_562, C_0_899), dot(lanes, c13, C_1_061, -C_2_172)];
    [
        lanes.right_32::<BITS>(lanes.add_32(even[0], odd[0])),
        lanes.right_32::<BITS>(lanes.add_32(even[1], odd[1])),
        lanes.right_32::<BITS>(lanes.sub_32(even[1], odd[1])),
        lanes.right_32::<BITS>(lanes.sub_32(even[0], odd[0])),
    ]
}

/// Transforms all rows but row 4.
#[inline(always)]
fn samples_4x4<L: Lanes>(lanes: L, [c0, c1, c2, c3, c5, c6, c7]: [L::V; 7]) -> L::V {
    let c13 = pairs(lanes, c1, c3);
    let c57 = pairs(lanes, c5, c7);
    let c26 = pairs(lanes, c2, c6);
    let zero = lanes.all_16(0);
    let half = lanes.all_32(1 << (FIRST_4 - 1));
    let low = lanes.zip_low_16(zero, c0);
    let low = sums_4::<L, FIRST_4>(lanes, low, half, c13[0], c57[0], c26[0]);
    let high = lanes.zip_high_16(zero, c0);
    let high = sums_4::<L, FIRST_4>(lanes, high, half, c13[1], c57[1], c26[1]);
    let r0 = lanes.narrow_32(low[0], high[0]);
    let r1 = lanes.narrow_32(low[1], high[1]);
    let r2 = lanes.narrow_32(low[2], high[2]);
    let r3 = lanes.narrow_32(low[3], high[3]);

    let r01 = pairs(lanes, r0, r1);
    let r23 = pairs(lanes, r2, r3);
    let c01 = lanes.zip_low_32(r01[0], r23[0]);
    let c23 = lanes.zip_high_32(r01[0], r23[0]);
    let c45 = lanes.zip_low_32(r01[1], r23[1]);
    let c67 = lanes.zip_high_32(r01[1], r23[1]);
    let c13 = lanes.zip_high_16(c01, c23);
    let c57 = lanes.zip_high_16(c45, c67);
    let c26 = lanes.zip_low_16(c23, c67);
    let c0 = lanes.zip_low_16(zero, c01);
    let half = lanes.all_32(1 << (SECOND_4 - 1));
    let x = sums_4::<L, SECOND_4>(lanes, c0, half, c13, c57, c26);
    let columns = lanes.narrow_16(lanes.narrow_32(x[0], x[1]), lanes.narrow_32(x[2], x[3]));
    let rows = lanes.shuffle(columns, &TURNED);
    lanes.xor(rows, lanes.bytes(&[0x80; 16]))
}

/// Computes four outputs of lines whose coefficients come in pairs, `c0` as upper halves of 32
/// bits.
#[inline(always)]
fn sums_4<L: Lanes, const BITS: i32>(
    lanes: L,
    c0: L::V,
    half: L::V,
    c13: L::V,
    c57: L::V,
    c26: L::V,
) -> [L::V; 4] {
    let even = lanes.add_32(lanes.right_32::<{ 16 - FACTOR_BITS - 1 }>(c0), half);
    let turned = dot(lanes, c26, C_1_847, -C_0_765);
    let even = [lanes.add_32(even, turned), lanes.sub_32(even, turned)];
    let inner = dot(lanes, c13, C_2_562, C_0_899);
    let inner = lanes.dot_add(inner, c57, lanes.pair_16(-C_0_601, -C_0_509));
    let outer = dot(lanes, c13, C_1_061, -C_2_172);
    let outer = lanes.dot_add(outer, c57, lanes.pair_16(C_1_451, -C_0_211));
    [
        lanes.right_32::<BITS>(lanes.add_32(even[0], inner)),
        lanes.right_32::<BITS>(lanes.add_32(even[1], outer)),
        lanes.right_32::<BITS>(lanes.sub_32(even[1], outer)),
        lanes.right_32::<BITS>(lanes.sub_32(even[0], inner)),
    ]
}

#[inline(always)]
pub(in crate::simd) fn to_2x2<L: Lanes>(lanes: L, blocks: &mut Blocks<'_>) {
    let mut n = 0;
    while n < blocks.count {
        if let Some(coefficient) = only(blocks, n) {
            fill::<2>(blocks, n, portable::reduced::flat_2x2(coefficient, blocks.quant[0]));
            n += 1;
            continue;
        }
        let Some(group) = BlockGroup::from::<L>(blocks, n) else {
            return (lanes.shorter().idct[2])(&mut rest(blocks, n));
        };
        n += L::GROUPS;
        let c0 = dequantized(lanes, blocks, group, 0);
        let c1 = dequantized(lanes, blocks, group, 1);
        let c3 = dequantized(lanes, blocks, group, 3);
        let c5 = dequantized(lanes, blocks, group, 5);
        let c7 = dequantized(lanes, blocks, group, 7);
        let samples = samples_2x2(lanes, [c0, c1, c3, c5, c7]);
        group.store::<L, 2>(lanes.groups(samples), blocks);
        group.clear::<L>(blocks);
    }
}

/// Transforms rows 0, 1, 3, 5 and 7.
#[inline(always)]
fn samples_2x2<L: Lanes>(lanes: L, [c0, c1, c3, c5, c7]: [L::V; 5]) -> L::V {
    const FIRST: i32 = FACTOR_BITS - BETWEEN_BITS + 2;
    const SECOND: i32 = FACTOR_BITS + BETWEEN_BITS + EIGHTH_BITS + 2;
    /// For columns 0 to 7: even ones do not contribute to the odd half.
    const ODD: [i16; 8] = [0, C_3_624, 0, -C_1_272, 0, C_0_850, 0, -C_0_720];
    let odd = adds(
        lanes,
        dots(lanes, pairs(lanes, c1, c3), C_3_624, -C_1_272),
        dots(lanes, pairs(lanes, c5, c7), C_0_850, -C_0_720),
    );
    let half = lanes.all_32(1 << (FIRST - 1));
    let c0 = pairs(lanes, lanes.all_16(0), c0);
    let even = [
        lanes.add_32(lanes.right_32::<{ 16 - FACTOR_BITS - 2 }>(c0[0]), half),
        lanes.add_32(lanes.right_32::<{ 16 - FACTOR_BITS - 2 }>(c0[1]), half),
    ];
    let upper = shifted::<L, FIRST>(lanes, adds(lanes, even, odd));
    let lower = shifted::<L, FIRST>(lanes, subs(lanes, even, odd));

    // Four sums of a row's products, added crosswise: the first two numbers are those of both rows.
    let products = [
        lanes.dot(lanes.narrow_32(upper[0], upper[1]), lanes.eight(&ODD)),
        lanes.dot(lanes.narrow_32(lower[0], lower[1]), lanes.eight(&ODD)),
    ];
    let odd = lanes.add_32(
        lanes.zip_low_32(products[0], products[1]),
        lanes.zip_high_32(products[0], products[1]),
    );
    let odd = lanes.add_32(odd, lanes.zip_high_64(odd, odd));
    let even = lanes.left_32::<{ FACTOR_BITS + 2 }>(lanes.zip_low_32(upper[0], lower[0]));
    let even = lanes.add_32(even, lanes.all_32(1 << (SECOND - 1)));
    let x = lanes.zip_low_32(lanes.add_32(even, odd), lanes.sub_32(even, odd));
    let x = lanes.right_32::<SECOND>(x);
    let x = lanes.narrow_32(x, x);
    lanes.xor(lanes.narrow_16(x, x), lanes.bytes(&[0x80; 16]))
}

#[inline(always)]
fn shifted<L: Lanes, const BITS: i32>(lanes: L, wide: Wide<L>) -> Wide<L> {
    [lanes.right_32::<BITS>(wide[0]), lanes.right_32::<BITS>(wide[1])]
}
