//! The accurate inverse DCT of 8x8 coefficients in vectors, one block per group.
//!
//! Equals `portable::idct`, with sums of products by pairs; see there for the source and for where
//! values wrap. Blocks with few coefficients take shorter ways to the same bytes.

use super::groups::{BlockGroup, CORNER, fill, only, rest};
use super::pairs::{Wide, adds, dequantized, dot, dots, dots_add, may_wrap, pairs, subs};
use crate::simd::cosines::{
    BETWEEN_BITS, C_0_298, C_0_390, C_0_541, C_0_765, C_0_899, C_1_175, C_1_501, C_1_847, C_1_961,
    C_2_053, C_2_562, C_3_072, EIGHTH_BITS, FACTOR_BITS,
};
use crate::simd::lanes::Lanes;
use crate::simd::portable;
use crate::simd::run::Blocks;

/// Shifts after the two passes.
const FIRST: i32 = FACTOR_BITS - BETWEEN_BITS;
const SECOND: i32 = FACTOR_BITS + BETWEEN_BITS + EIGHTH_BITS;

#[inline(always)]
pub(in crate::simd) fn to_8x8<L: Lanes>(lanes: L, blocks: &mut Blocks<'_>) {
    let mut n = 0;
    while n < blocks.count {
        if let Some(coefficient) = only(blocks, n) {
            fill::<8>(blocks, n, portable::idct::flat(coefficient, blocks.quant[0]));
            n += 1;
            continue;
        }
        let Some(group) = BlockGroup::from::<L>(blocks, n) else {
            return (lanes.shorter().idct[0])(&mut rest(blocks, n));
        };
        n += L::GROUPS;
        let c0 = dequantized(lanes, blocks, group, 0);
        if may_wrap(lanes, c0) {
            portable::idct::to_8x8(&mut group.blocks::<L>(blocks));
            continue;
        }
        let c1 = dequantized(lanes, blocks, group, 1);
        let c2 = dequantized(lanes, blocks, group, 2);
        let c3 = dequantized(lanes, blocks, group, 3);
        let rows = if group.last < CORNER {
            corner(lanes, [c0, c1, c2, c3])
        } else {
            let c4 = dequantized(lanes, blocks, group, 4);
            let c5 = dequantized(lanes, blocks, group, 5);
            let c6 = dequantized(lanes, blocks, group, 6);
            let c7 = dequantized(lanes, blocks, group, 7);
            full(lanes, [c0, c1, c2, c3, c4, c5, c6, c7])
        };
        lanes.store_8x8(rows, &mut blocks.out[group.at..], blocks.stride, blocks.across);
        group.clear::<L>(blocks);
    }
}

#[inline(always)]
fn full<L: Lanes>(lanes: L, rows: [L::V; 8]) -> [L::V; 4] {
    let between = pass::<L, FIRST>(lanes, rows);
    samples(lanes, pass::<L, SECOND>(lanes, transposed(lanes, between)))
}

/// One dimension: the vectors are coefficients 0 to 7 of eight lines.
#[inline(always)]
fn pass<L: Lanes, const BITS: i32>(lanes: L, c: [L::V; 8]) -> [L::V; 8] {
    let turned = pairs(lanes, c[2], c[6]);
    let turned = [
        dots(lanes, turned, C_0_541 + C_0_765, C_0_541),
        dots(lanes, turned, C_0_541, C_0_541 - C_1_847),
    ];
    let even = [
        shifted_up::<L, BITS>(lanes, lanes.add_16(c[0], c[4])),
        shifted_up::<L, BITS>(lanes, lanes.sub_16(c[0], c[4])),
    ];
    let even = [
        adds(lanes, even[0], turned[0]),
        adds(lanes, even[1], turned[1]),
        subs(lanes, even[1], turned[1]),
        subs(lanes, even[0], turned[0]),
    ];
    let shared = pairs(lanes, lanes.add_16(c[3], c[7]), lanes.add_16(c[1], c[5]));
    let c73 = dots(lanes, shared, C_1_175 - C_1_961, C_1_175);
    let c51 = dots(lanes, shared, C_1_175, C_1_175 - C_0_390);
    let c71 = pairs(lanes, c[7], c[1]);
    let c53 = pairs(lanes, c[5], c[3]);
    let odd = [
        dots_add(lanes, c51, c71, -C_0_899, C_1_501 - C_0_899),
        dots_add(lanes, c73, c53, -C_2_562, C_3_072 - C_2_562),
        dots_add(lanes, c51, c53, C_2_053 - C_2_562, -C_2_562),
        dots_add(lanes, c73, c71, C_0_298 - C_0_899, -C_0_899),
    ];
    outputs::<L, BITS>(lanes, even, odd)
}

/// Transforms the upper left 4x4 coefficients, by rows; all others are 0.
#[inline(always)]
fn corner<L: Lanes>(lanes: L, c: [L::V; 4]) -> [L::V; 4] {
    // Lower halves only. Columns 1 and 2 are swapped, so that neighbors are the pairs of pass 2.
    let c20 = lanes.swap_middle_32(lanes.zip_low_16(c[0], c[2]));
    let c31 = lanes.swap_middle_32(lanes.zip_low_16(c[1], c[3]));
    let [r0, r1, r2, r3, r4, r5, r6, r7] = corner_sums::<L, FIRST>(lanes, c20, c31);
    // Rows y and y + 4 in a group.
    let rows = [
        lanes.narrow_32(r0, r4),
        lanes.narrow_32(r1, r5),
        lanes.narrow_32(r2, r6),
        lanes.narrow_32(r3, r7),
    ];
    let low = [lanes.zip_low_32(rows[0], rows[1]), lanes.zip_low_32(rows[2], rows[3])];
    let high = [lanes.zip_high_32(rows[0], rows[1]), lanes.zip_high_32(rows[2], rows[3])];
    let c20 = [lanes.zip_low_64(low[0], low[1]), lanes.zip_low_64(high[0], high[1])];
    let c31 = [lanes.zip_high_64(low[0], low[1]), lanes.zip_high_64(high[0], high[1])];
    let upper = corner_sums::<L, SECOND>(lanes, c20[0], c31[0]);
    let lower = corner_sums::<L, SECOND>(lanes, c20[1], c31[1]);
    samples(
        lanes,
        [
            lanes.narrow_32(upper[0], lower[0]),
            lanes.narrow_32(upper[1], lower[1]),
            lanes.narrow_32(upper[2], lower[2]),
            lanes.narrow_32(upper[3], lower[3]),
            lanes.narrow_32(upper[4], lower[4]),
            lanes.narrow_32(upper[5], lower[5]),
            lanes.narrow_32(upper[6], lower[6]),
            lanes.narrow_32(upper[7], lower[7]),
        ],
    )
}

/// Computes outputs 0 to 7 of lines that have only coefficients 0 to 3, shifted right by `BITS`.
#[inline(always)]
fn corner_sums<L: Lanes, const BITS: i32>(lanes: L, c20: L::V, c31: L::V) -> [L::V; 8] {
    let half = lanes.all_32(1 << (BITS - 1));
    let (e0, o0) = corner_halves(lanes, c20, c31, half, 0);
    let (e1, o1) = corner_halves(lanes, c20, c31, half, 1);
    let (e2, o2) = corner_halves(lanes, c20, c31, half, 2);
    let (e3, o3) = corner_halves(lanes, c20, c31, half, 3);
    [
        lanes.right_32::<BITS>(lanes.add_32(e0, o0)),
        lanes.right_32::<BITS>(lanes.add_32(e1, o1)),
        lanes.right_32::<BITS>(lanes.add_32(e2, o2)),
        lanes.right_32::<BITS>(lanes.add_32(e3, o3)),
        lanes.right_32::<BITS>(lanes.sub_32(e3, o3)),
        lanes.right_32::<BITS>(lanes.sub_32(e2, o2)),
        lanes.right_32::<BITS>(lanes.sub_32(e1, o1)),
        lanes.right_32::<BITS>(lanes.sub_32(e0, o0)),
    ]
}

#[inline(always)]
fn corner_halves<L: Lanes>(
    lanes: L,
    c20: L::V,
    c31: L::V,
    half: L::V,
    output: usize,
) -> (L::V, L::V) {
    let [a, b] = CORNER_EVEN[output];
    let [c, d] = CORNER_ODD[output];
    (lanes.dot_add(half, c20, lanes.pair_16(a, b)), dot(lanes, c31, c, d))
}

/// Factors of coefficients 0 and 2 in the even halves of outputs 0 to 3, if 4 and 6 are 0.
const CORNER_EVEN: [[i16; 2]; 4] = [
    [1 << FACTOR_BITS, C_0_541 + C_0_765],
    [1 << FACTOR_BITS, C_0_541],
    [1 << FACTOR_BITS, -C_0_541],
    [1 << FACTOR_BITS, -C_0_541 - C_0_765],
];

/// Factors of coefficients 1 and 3 in the odd halves of outputs 0 to 3, if 5 and 7 are 0.
const CORNER_ODD: [[i16; 2]; 4] = [
    [C_1_501 - C_0_899 + C_1_175 - C_0_390, C_1_175],
    [C_1_175, C_3_072 - C_2_562 + C_1_175 - C_1_961],
    [C_1_175 - C_0_390, C_1_175 - C_2_562],
    [C_1_175 - C_0_899, C_1_175 - C_1_961],
];

/// Computes outputs 0 to 7 of lines, shifted right by `BITS`, saturated to 16 bits.
#[inline(always)]
fn outputs<L: Lanes, const BITS: i32>(
    lanes: L,
    even: [Wide<L>; 4],
    odd: [Wide<L>; 4],
) -> [L::V; 8] {
    [
        narrow::<L, BITS>(lanes, adds(lanes, even[0], odd[0])),
        narrow::<L, BITS>(lanes, adds(lanes, even[1], odd[1])),
        narrow::<L, BITS>(lanes, adds(lanes, even[2], odd[2])),
        narrow::<L, BITS>(lanes, adds(lanes, even[3], odd[3])),
        narrow::<L, BITS>(lanes, subs(lanes, even[3], odd[3])),
        narrow::<L, BITS>(lanes, subs(lanes, even[2], odd[2])),
        narrow::<L, BITS>(lanes, subs(lanes, even[1], odd[1])),
        narrow::<L, BITS>(lanes, subs(lanes, even[0], odd[0])),
    ]
}

#[inline(always)]
fn narrow<L: Lanes, const BITS: i32>(lanes: L, [low, high]: Wide<L>) -> L::V {
    lanes.narrow_32(lanes.right_32::<BITS>(low), lanes.right_32::<BITS>(high))
}

/// Transposes eight rows of 16-bit numbers.
#[inline(always)]
fn transposed<L: Lanes>(lanes: L, v: [L::V; 8]) -> [L::V; 8] {
    let a01 = lanes.zip_low_16(v[0], v[1]);
    let b01 = lanes.zip_high_16(v[0], v[1]);
    let a23 = lanes.zip_low_16(v[2], v[3]);
    let b23 = lanes.zip_high_16(v[2], v[3]);
    let a45 = lanes.zip_low_16(v[4], v[5]);
    let b45 = lanes.zip_high_16(v[4], v[5]);
    let a67 = lanes.zip_low_16(v[6], v[7]);
    let b67 = lanes.zip_high_16(v[6], v[7]);
    let c01 = lanes.zip_low_32(a01, a23);
    let c23 = lanes.zip_high_32(a01, a23);
    let c45 = lanes.zip_low_32(b01, b23);
    let c67 = lanes.zip_high_32(b01, b23);
    let d01 = lanes.zip_low_32(a45, a67);
    let d23 = lanes.zip_high_32(a45, a67);
    let d45 = lanes.zip_low_32(b45, b67);
    let d67 = lanes.zip_high_32(b45, b67);
    [
        lanes.zip_low_64(c01, d01),
        lanes.zip_high_64(c01, d01),
        lanes.zip_low_64(c23, d23),
        lanes.zip_high_64(c23, d23),
        lanes.zip_low_64(c45, d45),
        lanes.zip_high_64(c45, d45),
        lanes.zip_low_64(c67, d67),
        lanes.zip_high_64(c67, d67),
    ]
}

/// Converts columns of eight numbers around 0 to eight rows of samples, two per vector.
#[inline(always)]
fn samples<L: Lanes>(lanes: L, c: [L::V; 8]) -> [L::V; 4] {
    let c04 = lanes.narrow_16(c[0], c[4]);
    let c15 = lanes.narrow_16(c[1], c[5]);
    let c26 = lanes.narrow_16(c[2], c[6]);
    let c37 = lanes.narrow_16(c[3], c[7]);
    let c01 = lanes.zip_low_8(c04, c15);
    let c45 = lanes.zip_high_8(c04, c15);
    let c23 = lanes.zip_low_8(c26, c37);
    let c67 = lanes.zip_high_8(c26, c37);
    let upper = (lanes.zip_low_16(c01, c23), lanes.zip_low_16(c45, c67));
    let lower = (lanes.zip_high_16(c01, c23), lanes.zip_high_16(c45, c67));
    let middle = lanes.bytes(&[0x80; 16]);
    [
        lanes.xor(lanes.zip_low_32(upper.0, upper.1), middle),
        lanes.xor(lanes.zip_high_32(upper.0, upper.1), middle),
        lanes.xor(lanes.zip_low_32(lower.0, lower.1), middle),
        lanes.xor(lanes.zip_high_32(lower.0, lower.1), middle),
    ]
}

/// Returns coefficients with `FACTOR_BITS` fraction bits, plus half of 2^`BITS` for rounding.
#[inline(always)]
fn shifted_up<L: Lanes, const BITS: i32>(lanes: L, c: L::V) -> Wide<L> {
    const DOWN: i32 = 16 - FACTOR_BITS;
    let half = 1 << (BITS - 1);
    // Before pass 2 the half fits below the coefficient, afterwards it does not.
    let below = if half >> FACTOR_BITS == 0 { (half << DOWN) as i16 } else { 0 };
    let [low, high] = pairs(lanes, lanes.all_16(below), c);
    let wide = [lanes.right_32::<DOWN>(low), lanes.right_32::<DOWN>(high)];
    if below == 0 { adds(lanes, wide, [lanes.all_32(half); 2]) } else { wide }
}
