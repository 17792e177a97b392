//! Blocks of 8 x 8: transformed to frequencies, rounded to multiples, and transformed back.
//!
//! The transforms are those of C. Loeffler, A. Ligtenberg and G. Moschytz (1989) in integers, as libjpeg-turbo rounds
//! them: after the rows and after the columns. Between, each result is a sum of integers, in any order.

use crate::kernels::sets::wide;

/// Pixels along the side of a block.
pub(super) const SIDE: usize = 8;

/// A value of each column.
type Lanes = [i32; SIDE];

/// The steps of luma at quality 50, by rising frequency across and down (Annex K of ITU-T T.81).
#[rustfmt::skip]
pub(super) const LUMA: [u16; 64] = [
    16, 11, 10, 16, 24, 40, 51, 61,
    12, 12, 14, 19, 26, 58, 60, 55,
    14, 13, 16, 24, 40, 57, 69, 56,
    14, 17, 22, 29, 51, 87, 80, 62,
    18, 22, 37, 56, 68, 109, 103, 77,
    24, 35, 55, 64, 81, 104, 113, 92,
    49, 64, 78, 87, 103, 121, 120, 101,
    72, 92, 95, 98, 112, 100, 103, 99,
];

/// The steps of color at quality 50.
#[rustfmt::skip]
pub(super) const CHROMA: [u16; 64] = [
    17, 18, 24, 47, 99, 99, 99, 99,
    18, 21, 26, 66, 99, 99, 99, 99,
    24, 26, 56, 99, 99, 99, 99, 99,
    47, 66, 99, 99, 99, 99, 99, 99,
    99, 99, 99, 99, 99, 99, 99, 99,
    99, 99, 99, 99, 99, 99, 99, 99,
    99, 99, 99, 99, 99, 99, 99, 99,
    99, 99, 99, 99, 99, 99, 99, 99,
];

/// The steps to whose multiples coefficients are rounded.
#[derive(Debug, Clone)]
pub(super) struct Steps {
    steps: [Lanes; SIDE],
    /// 1 over eight times the step: the transform multiplies by eight.
    inverse: [[f32; SIDE]; SIDE],
}

impl Steps {
    /// The steps of a table at a quality from 1 to 100.
    pub(super) fn new(table: &[u16; 64], quality: u8) -> Steps {
        let quality = i32::from(quality.clamp(1, 100));
        let percent = if quality < 50 { 5000 / quality } else { 200 - 2 * quality };
        let mut steps = Steps { steps: [[0; SIDE]; SIDE], inverse: [[0.0; SIDE]; SIDE] };
        for (at, step) in table.iter().enumerate() {
            let step = ((i32::from(*step) * percent + 50) / 100).clamp(1, 255);
            steps.steps[at / SIDE][at % SIDE] = step;
            steps.inverse[at / SIDE][at % SIDE] = 1.0 / (8 * step) as f32;
        }
        steps
    }
}

wide! {
    /// Replaces each block of a plane by what remains of it.
    pub(super) fn round_trip(plane: &mut [u8], stride: usize, steps: &Steps) {
        for band in plane.chunks_exact_mut(SIDE * stride) {
            for x in (0..stride).step_by(SIDE) {
                let mut block = load(band, stride, x);
                // Rows first: the transforms are of columns, so the block is turned before and after.
                block = transposed(&rounded::<11>(&forward(&transposed(&block))));
                block = rounded::<15>(&forward(&block));
                quantize(&mut block, steps);
                block = transposed(&rounded::<11>(&inverse(&block)));
                block = transposed(&rounded::<18>(&inverse(&block)));
                store(&block, band, stride, x);
            }
        }
    }
}

#[inline(always)]
fn load(band: &[u8], stride: usize, x: usize) -> [Lanes; SIDE] {
    let mut block = [[0; SIDE]; SIDE];
    for (y, row) in block.iter_mut().enumerate() {
        let bytes = &band[y * stride + x..][..SIDE];
        for lane in 0..SIDE {
            row[lane] = i32::from(bytes[lane]) - 128;
        }
    }
    block
}

#[inline(always)]
fn store(block: &[Lanes; SIDE], band: &mut [u8], stride: usize, x: usize) {
    for (y, row) in block.iter().enumerate() {
        let bytes = &mut band[y * stride + x..][..SIDE];
        for lane in 0..SIDE {
            bytes[lane] = (row[lane] + 128).clamp(0, 255) as u8;
        }
    }
}

#[inline(always)]
fn transposed(block: &[Lanes; SIDE]) -> [Lanes; SIDE] {
    let mut out = [[0; SIDE]; SIDE];
    for y in 0..SIDE {
        for x in 0..SIDE {
            out[x][y] = block[y][x];
        }
    }
    out
}

/// Divides by 2 to the power of `SHIFT`, rounded.
#[inline(always)]
fn rounded<const SHIFT: i32>(block: &[Lanes; SIDE]) -> [Lanes; SIDE] {
    let mut out = [[0; SIDE]; SIDE];
    for y in 0..SIDE {
        for x in 0..SIDE {
            out[y][x] = (block[y][x] + (1 << (SHIFT - 1))) >> SHIFT;
        }
    }
    out
}

// Factors in units of 2 to the power of -13. Where the published algorithm multiplies twice by rounded numbers and adds
// them, a factor is the sum of these numbers.
const ONE: i32 = 8192;
const EVEN: [[i32; 2]; 2] = [[10703, 4433], [4433, -10704]];
const ODD: [[i32; 4]; 4] = [
    [11363, 9633, 6437, 2260],
    [9633, -2259, -11362, -6436],
    [6437, -11362, 2261, 9633],
    [2260, -6436, 9633, -11363],
];

#[inline(always)]
fn odd(row: usize, values: [i32; 4]) -> i32 {
    let factors = ODD[row];
    values[0] * factors[0]
        + values[1] * factors[1]
        + values[2] * factors[2]
        + values[3] * factors[3]
}

/// The frequencies of each column, times 2 to the power of 13.
#[inline(always)]
fn forward(rows: &[Lanes; SIDE]) -> [Lanes; SIDE] {
    let mut out = [[0; SIDE]; SIDE];
    for x in 0..SIDE {
        let sums = [
            rows[0][x] + rows[7][x],
            rows[1][x] + rows[6][x],
            rows[2][x] + rows[5][x],
            rows[3][x] + rows[4][x],
        ];
        out[0][x] = (sums[0] + sums[1] + sums[2] + sums[3]) * ONE;
        out[4][x] = (sums[0] - sums[1] - sums[2] + sums[3]) * ONE;
        let outer = sums[0] - sums[3];
        let inner = sums[1] - sums[2];
        out[2][x] = outer * EVEN[0][0] + inner * EVEN[0][1];
        out[6][x] = outer * EVEN[1][0] + inner * EVEN[1][1];
        let differences = [
            rows[0][x] - rows[7][x],
            rows[1][x] - rows[6][x],
            rows[2][x] - rows[5][x],
            rows[3][x] - rows[4][x],
        ];
        for row in 0..4 {
            out[2 * row + 1][x] = odd(row, differences);
        }
    }
    out
}

/// The columns of these frequencies, times 2 to the power of 13.
#[inline(always)]
fn inverse(rows: &[Lanes; SIDE]) -> [Lanes; SIDE] {
    let mut out = [[0; SIDE]; SIDE];
    for x in 0..SIDE {
        let sum = (rows[0][x] + rows[4][x]) * ONE;
        let difference = (rows[0][x] - rows[4][x]) * ONE;
        let outer = rows[2][x] * EVEN[0][0] + rows[6][x] * EVEN[0][1];
        let inner = rows[2][x] * EVEN[1][0] + rows[6][x] * EVEN[1][1];
        let even = [sum + outer, difference + inner, difference - inner, sum - outer];
        let values = [rows[1][x], rows[3][x], rows[5][x], rows[7][x]];
        for row in 0..4 {
            let odd = odd(row, values);
            out[row][x] = even[row] + odd;
            out[7 - row][x] = even[row] - odd;
        }
    }
    out
}

/// Rounds coefficients to multiples of the steps, halves away from zero.
#[inline(always)]
fn quantize(block: &mut [Lanes; SIDE], steps: &Steps) {
    for ((values, steps), inverses) in block.iter_mut().zip(&steps.steps).zip(&steps.inverse) {
        for ((value, step), inverse) in values.iter_mut().zip(steps).zip(inverses) {
            // The quotient of two integers below 2^16 plus a half is nearer to no integer than a number of 24 bits can
            // distinguish, so its integer part is exact.
            let numerator = (value.abs() + 4 * step) as f32 + 0.5;
            let count = (numerator * inverse) as i32 * step;
            *value = if *value < 0 { -count } else { count };
        }
    }
}
