//! The accurate inverse DCT of 8x8 coefficients in vectors, a block a group.
//!
//! As `portable::idct`, with sums of products by pairs; see there for the source and for what wraps
//! where. Blocks that have few coefficients take shorter ways to the same bytes.

use super::cosines::{
    BETWEEN_BITS, C_0_298, C_0_390, C_0_541, C_0_765, C_0_899, C_1_175, C_1_501, C_1_847, C_1_961,
    C_2_053, C_2_562, C_3_072, EIGHTH_BITS, FACTOR_BITS,
};
use super::groups::Handful;
use super::lanes::Lanes;
use super::pairs::{Wide, adds, dequantised, dot, dots, may_wrap, pairs, subs};
use super::portable;
use super::run::Blocks;

/// Shifts behind the two passes.
const FIRST: i32 = FACTOR_BITS - BETWEEN_BITS;
const SECOND: i32 = FACTOR_BITS + BETWEEN_BITS + EIGHTH_BITS;

/// Below this number a coefficient lies in the first four rows and columns.
const CORNER: u8 = 10;

#[inline(always)]
pub(super) fn to_8x8<L: Lanes>(lanes: L, blocks: &mut Blocks<'_>) {
    let mut n = 0;
    while n < blocks.count {
        let first = n * blocks.step;
        if blocks.last[first] == 0 {
            flat(blocks, first, n * blocks.across);
            n += 1;
            continue;
        }
        let handful = Handful::from(lanes, blocks, n);
        n += handful.count;
        let top = dequantised(lanes, blocks, handful, 0);
        if may_wrap(lanes, top) {
            portable::idct::to_8x8(&mut handful.alone(blocks));
            continue;
        }
        let rows = if handful.last < CORNER {
            let rows = [1, 2, 3].map(|row| dequantised(lanes, blocks, handful, row));
            handful.clear(blocks, 32);
            corner(lanes, [top, rows[0], rows[1], rows[2]])
        } else {
            let rows = std::array::from_fn(|row| dequantised(lanes, blocks, handful, row));
            handful.clear(blocks, 64);
            full(lanes, rows)
        };
        lanes.store_8x8(rows, &mut blocks.out[handful.at..], blocks.stride, handful.across);
    }
}

/// A block of one coefficient, which is eight times the mean.
#[inline(always)]
fn flat(blocks: &mut Blocks<'_>, block: usize, at: usize) {
    let coefficient = &mut blocks.coefficients[block][0];
    let sample = portable::idct::flat(*coefficient, blocks.quant[0]);
    *coefficient = 0;
    let out = &mut blocks.out[at..];
    for y in 0..8 {
        out[y * blocks.stride..][..8].copy_from_slice(&[sample; 8]);
    }
}

#[inline(always)]
fn full<L: Lanes>(lanes: L, rows: [L::V; 8]) -> [L::V; 4] {
    let between = pass::<L, FIRST>(lanes, rows);
    samples(lanes, pass::<L, SECOND>(lanes, transposed(lanes, between)))
}

/// One dimension: vectors are coefficients 0 to 7 of eight lines.
#[inline(always)]
fn pass<L: Lanes, const BITS: i32>(lanes: L, c: [L::V; 8]) -> [L::V; 8] {
    let turned = pairs(lanes, c[2], c[6]);
    let turned = [
        dots(lanes, turned, C_0_541 + C_0_765, C_0_541),
        dots(lanes, turned, C_0_541, C_0_541 - C_1_847),
    ];
    let even = [
        rounding::<L, BITS>(lanes, lanes.add_16(c[0], c[4])),
        rounding::<L, BITS>(lanes, lanes.sub_16(c[0], c[4])),
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
    let (c71, c53) = (pairs(lanes, c[7], c[1]), pairs(lanes, c[5], c[3]));
    let odd = [
        adds(lanes, dots(lanes, c71, -C_0_899, C_1_501 - C_0_899), c51),
        adds(lanes, dots(lanes, c53, -C_2_562, C_3_072 - C_2_562), c73),
        adds(lanes, dots(lanes, c53, C_2_053 - C_2_562, -C_2_562), c51),
        adds(lanes, dots(lanes, c71, C_0_298 - C_0_899, -C_0_899), c73),
    ];
    outputs::<L, BITS>(lanes, even, odd)
}

/// Rows of the upper left 4x4 coefficients; all others are 0.
#[inline(always)]
fn corner<L: Lanes>(lanes: L, c: [L::V; 4]) -> [L::V; 4] {
    // Lower halves only. Columns 1 and 2 change places, so that neighbours are the pairs of pass 2.
    let c20 = lanes.swap_middle_32(lanes.zip_low_16(c[0], c[2]));
    let c31 = lanes.swap_middle_32(lanes.zip_low_16(c[1], c[3]));
    let half = lanes.all_32(1 << (FIRST - 1));
    let even = CORNER_EVEN.map(|[a, b]| lanes.add_32(dot(lanes, c20, a, b), half));
    let odd = CORNER_ODD.map(|[a, b]| dot(lanes, c31, a, b));
    // Rows y and y + 4 in a group.
    let sum = |i: usize| lanes.right_32::<FIRST>(lanes.add_32(even[i], odd[i]));
    let difference = |i: usize| lanes.right_32::<FIRST>(lanes.sub_32(even[i], odd[i]));
    let rows = [
        lanes.narrow_32(sum(0), difference(3)),
        lanes.narrow_32(sum(1), difference(2)),
        lanes.narrow_32(sum(2), difference(1)),
        lanes.narrow_32(sum(3), difference(0)),
    ];
    let low = [lanes.zip_low_32(rows[0], rows[1]), lanes.zip_low_32(rows[2], rows[3])];
    let high = [lanes.zip_high_32(rows[0], rows[1]), lanes.zip_high_32(rows[2], rows[3])];
    let c20 = [lanes.zip_low_64(low[0], low[1]), lanes.zip_low_64(high[0], high[1])];
    let c31 = [lanes.zip_high_64(low[0], low[1]), lanes.zip_high_64(high[0], high[1])];
    let half = lanes.all_32(1 << (SECOND - 1));
    let even = CORNER_EVEN.map(|[a, b]| adds(lanes, dots(lanes, c20, a, b), [half; 2]));
    let odd = CORNER_ODD.map(|[a, b]| dots(lanes, c31, a, b));
    samples(lanes, outputs::<L, SECOND>(lanes, even, odd))
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

/// Outputs 0 to 7 of lines, without `BITS` bits, saturated to 16.
#[inline(always)]
fn outputs<L: Lanes, const BITS: i32>(
    lanes: L,
    even: [Wide<L>; 4],
    odd: [Wide<L>; 4],
) -> [L::V; 8] {
    let narrow = |[low, high]: Wide<L>| {
        lanes.narrow_32(lanes.right_32::<BITS>(low), lanes.right_32::<BITS>(high))
    };
    let sum = |i: usize| narrow(adds(lanes, even[i], odd[i]));
    let difference = |i: usize| narrow(subs(lanes, even[i], odd[i]));
    let (first, second) = ([0, 1, 2, 3].map(sum), [3, 2, 1, 0].map(difference));
    std::array::from_fn(|i| if i < 4 { first[i] } else { second[i - 4] })
}

/// Rows of eight numbers of 16 bits to columns.
#[inline(always)]
fn transposed<L: Lanes>(lanes: L, v: [L::V; 8]) -> [L::V; 8] {
    let zip_16 = |a, b| [lanes.zip_low_16(a, b), lanes.zip_high_16(a, b)];
    let zip_32 = |a, b| [lanes.zip_low_32(a, b), lanes.zip_high_32(a, b)];
    let zip_64 = |a, b| [lanes.zip_low_64(a, b), lanes.zip_high_64(a, b)];
    let (v01, v23) = (zip_16(v[0], v[1]), zip_16(v[2], v[3]));
    let (v45, v67) = (zip_16(v[4], v[5]), zip_16(v[6], v[7]));
    let (low, high) = (zip_32(v01[0], v23[0]), zip_32(v01[1], v23[1]));
    let (low_2, high_2) = (zip_32(v45[0], v67[0]), zip_32(v45[1], v67[1]));
    let (c01, c23) = (zip_64(low[0], low_2[0]), zip_64(low[1], low_2[1]));
    let (c45, c67) = (zip_64(high[0], high_2[0]), zip_64(high[1], high_2[1]));
    [c01[0], c01[1], c23[0], c23[1], c45[0], c45[1], c67[0], c67[1]]
}

/// Columns of eight numbers around 0 to eight rows of samples, two a vector.
#[inline(always)]
fn samples<L: Lanes>(lanes: L, c: [L::V; 8]) -> [L::V; 4] {
    let columns = |i: usize| lanes.narrow_16(c[i], c[i + 4]);
    let (c04, c15, c26, c37) = (columns(0), columns(1), columns(2), columns(3));
    let (c01, c45) = (lanes.zip_low_8(c04, c15), lanes.zip_high_8(c04, c15));
    let (c23, c67) = (lanes.zip_low_8(c26, c37), lanes.zip_high_8(c26, c37));
    let upper = (lanes.zip_low_16(c01, c23), lanes.zip_low_16(c45, c67));
    let lower = (lanes.zip_high_16(c01, c23), lanes.zip_high_16(c45, c67));
    let rows = [
        lanes.zip_low_32(upper.0, upper.1),
        lanes.zip_high_32(upper.0, upper.1),
        lanes.zip_low_32(lower.0, lower.1),
        lanes.zip_high_32(lower.0, lower.1),
    ];
    rows.map(|row| lanes.xor(row, lanes.bytes(&[0x80; 16])))
}

/// Coefficients with `FACTOR_BITS` behind the point, and half of what `BITS` bits can hold.
#[inline(always)]
fn rounding<L: Lanes, const BITS: i32>(lanes: L, c: L::V) -> Wide<L> {
    let (zero, half) = (lanes.all_16(0), lanes.all_32(1 << (BITS - 1)));
    pairs(lanes, zero, c)
        .map(|wide| lanes.add_32(lanes.right_32::<{ 16 - FACTOR_BITS }>(wide), half))
}
