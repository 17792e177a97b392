//! Inverse DCTs of 8x8 coefficients to 4x4, 2x2 and 1x1 samples, in plain Rust.
//!
//! The 8x8 transform without the outputs and coefficients that are not needed, as in libjpeg's
//! scaled decoding (jidctred.c): each sample is nearly the mean of those of a full decode.

use std::num::Wrapping;

use super::idct::{dequantized, dequantized_at, each, round, sample, saturated};
use crate::simd::cosines::{
    BETWEEN_BITS, C_0_211, C_0_509, C_0_601, C_0_720, C_0_765, C_0_850, C_0_899, C_1_061, C_1_272,
    C_1_451, C_1_847, C_2_172, C_2_562, C_3_624, EIGHTH_BITS, FACTOR_BITS,
};
use crate::simd::run::Blocks;

/// See [`crate::simd::run::Simd::idct`].
pub(in crate::simd) fn to_4x4(blocks: &mut Blocks<'_>) {
    each(blocks, samples_4x4);
}

/// See [`crate::simd::run::Simd::idct`].
pub(super) fn to_2x2(blocks: &mut Blocks<'_>) {
    each(blocks, samples_2x2);
}

/// See [`crate::simd::run::Simd::idct`].
pub(in crate::simd) fn to_1x1(blocks: &mut Blocks<'_>) {
    let quant = i32::from(blocks.quant[0].cast_signed());
    for n in 0..blocks.count {
        let block = &mut blocks.coefficients[n * blocks.step];
        blocks.out[n * blocks.across] = mean(i32::from(block[0]) * quant);
        *block = [0; 64];
    }
}

/// Returns the sample for eight times the mean, as libjpeg computes it: extreme values wrap at 10
/// bits before they saturate.
fn mean(eightfold: i32) -> u8 {
    const SPARE_BITS: u32 = 32 - 10;
    let mean = round(eightfold, EIGHTH_BITS);
    sample(mean << SPARE_BITS >> SPARE_BITS)
}

fn samples_4x4(block: &[i16; 64], quant: &[u16; 64]) -> [[u8; 4]; 4] {
    let mut between = [[0; 8]; 4];
    if (8..64).all(|i| i / 8 == 4 || block[i] == 0) {
        between = [std::array::from_fn(|x| dequantized_at(block, quant, x) << BETWEEN_BITS); 4];
    } else {
        for x in 0..8 {
            let sums = sums_4(std::array::from_fn(|y| dequantized_at(block, quant, 8 * y + x)));
            for (row, sum) in between.iter_mut().zip(sums) {
                row[x] = saturated(round(sum, FACTOR_BITS - BETWEEN_BITS + 1));
            }
        }
    }
    between.map(|row| {
        sums_4(row).map(|sum| sample(round(sum, FACTOR_BITS + BETWEEN_BITS + EIGHTH_BITS + 1)))
    })
}

/// As `sums` of the full size; coefficient 4 has no influence. Extreme coefficients wrap.
fn sums_4(c: [i16; 8]) -> [i32; 4] {
    let even = Wrapping(i32::from(c[0]) << (FACTOR_BITS + 1));
    let turned = times(c[2], C_1_847) - times(c[6], C_0_765);
    let even = (even + turned, even - turned);
    let inner =
        times(c[3], C_0_899) + times(c[1], C_2_562) - times(c[7], C_0_509) - times(c[5], C_0_601);
    let outer =
        times(c[5], C_1_451) + times(c[1], C_1_061) - times(c[7], C_0_211) - times(c[3], C_2_172);
    [even.0 + inner, even.1 + outer, even.1 - outer, even.0 - inner].map(|sum| sum.0)
}

/// Returns the sample of a block of one coefficient.
pub(in crate::simd) fn flat_2x2(coefficient: i16, quant: u16) -> u8 {
    let value = i32::from(dequantized(coefficient, quant)) << BETWEEN_BITS;
    sample(round(value << (FACTOR_BITS + 2), FACTOR_BITS + BETWEEN_BITS + EIGHTH_BITS + 2))
}

fn samples_2x2(block: &[i16; 64], quant: &[u16; 64]) -> [[u8; 2]; 2] {
    const COLUMNS: [usize; 5] = [0, 1, 3, 5, 7];
    let mut between = [[0; 5]; 2];
    for (i, x) in COLUMNS.into_iter().enumerate() {
        let even = i32::from(dequantized_at(block, quant, x)) << (FACTOR_BITS + 2);
        let sums = sums_2(even, [1, 3, 5, 7].map(|y| dequantized_at(block, quant, 8 * y + x)));
        for (row, sum) in between.iter_mut().zip(sums) {
            row[i] = round(sum, FACTOR_BITS - BETWEEN_BITS + 2);
        }
    }
    between.map(|row| {
        let even = row[0] << (FACTOR_BITS + 2);
        let sums = sums_2(even, std::array::from_fn(|i| saturated(row[i + 1])));
        sums.map(|sum| sample(round(sum, FACTOR_BITS + BETWEEN_BITS + EIGHTH_BITS + 2)))
    })
}

/// Computes two outputs from the even part and coefficients 1, 3, 5 and 7. Extreme values wrap.
fn sums_2(even: i32, c: [i16; 4]) -> [i32; 2] {
    let odd =
        times(c[0], C_3_624) - times(c[1], C_1_272) + times(c[2], C_0_850) - times(c[3], C_0_720);
    [(Wrapping(even) + odd).0, (Wrapping(even) - odd).0]
}

fn times(c: i16, factor: i16) -> Wrapping<i32> {
    Wrapping(i32::from(c) * i32::from(factor))
}
