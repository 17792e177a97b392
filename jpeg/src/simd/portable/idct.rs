//! The accurate inverse DCT of 8x8 coefficients by Loeffler, Ligtenberg and Moschytz (1989), equal
//! to `jpeg_idct_islow` of libjpeg-turbo, in plain Rust; and the walk over blocks that the reduced
//! sizes share.
//!
//! Columns first, then rows. Sums of two coefficients wrap at 16 bits; values between the passes
//! and results saturate at 16 bits: vector instructions of 16 bits treat every coefficient, however
//! extreme, in the same way.

use crate::simd::cosines::{
    BETWEEN_BITS, C_0_298, C_0_390, C_0_541, C_0_765, C_0_899, C_1_175, C_1_501, C_1_847, C_1_961,
    C_2_053, C_2_562, C_3_072, EIGHTH_BITS, FACTOR_BITS,
};
use crate::simd::run::Blocks;

/// See [`crate::simd::run::Simd::idct`].
pub(in crate::simd) fn to_8x8(blocks: &mut Blocks<'_>) {
    each(blocks, samples);
}

/// Writes the `samples` of each block, row by row, and sets the block to zeros.
pub(super) fn each<const N: usize>(
    blocks: &mut Blocks<'_>,
    samples: fn(&[i16; 64], &[u16; 64]) -> [[u8; N]; N],
) {
    for n in 0..blocks.count {
        let block = &mut blocks.coefficients[n * blocks.step];
        let rows = samples(block, blocks.quant);
        *block = [0; 64];
        for (y, row) in rows.iter().enumerate() {
            blocks.out[n * blocks.across + y * blocks.stride..][..N].copy_from_slice(row);
        }
    }
}

fn samples(block: &[i16; 64], quant: &[u16; 64]) -> [[u8; 8]; 8] {
    if block[1..].iter().all(|&c| c == 0) {
        return [[flat(block[0], quant[0]); 8]; 8];
    }
    let between = columns(block, quant);
    let mut out = [[0; 8]; 8];
    for (out, row) in out.iter_mut().zip(&between) {
        let sums = sums(*row);
        *out = sums.map(|sum| sample(round(sum, FACTOR_BITS + BETWEEN_BITS + EIGHTH_BITS)));
    }
    out
}

/// Returns the sample of a block of one coefficient.
pub(in crate::simd) fn flat(coefficient: i16, quant: u16) -> u8 {
    let value = dequantized(coefficient, quant) << BETWEEN_BITS;
    sample(round(value.into(), BETWEEN_BITS + EIGHTH_BITS))
}

fn columns(block: &[i16; 64], quant: &[u16; 64]) -> [[i16; 8]; 8] {
    if block[8..].iter().all(|&c| c == 0) {
        // Equals the sums below except for extreme values, which wrap here.
        return [std::array::from_fn(|x| dequantized_at(block, quant, x) << BETWEEN_BITS); 8];
    }
    let mut between = [[0; 8]; 8];
    for x in 0..8 {
        let sums = sums(std::array::from_fn(|y| dequantized_at(block, quant, 8 * y + x)));
        for (row, sum) in between.iter_mut().zip(sums) {
            row[x] = saturated(round(sum, FACTOR_BITS - BETWEEN_BITS));
        }
    }
    between
}

/// Transforms eight coefficients of one line to its eight values, with `FACTOR_BITS` fraction bits.
/// No sum exceeds 32 bits, whatever the coefficients.
fn sums(c: [i16; 8]) -> [i32; 8] {
    #[inline(always)]
    fn times(c: i16, factor: i16) -> i32 {
        i32::from(c) * i32::from(factor)
    }
    let even = (c[0].wrapping_add(c[4]), c[0].wrapping_sub(c[4]));
    let even = (i32::from(even.0) << FACTOR_BITS, i32::from(even.1) << FACTOR_BITS);
    let shared = times(c[2], C_0_541) + times(c[6], C_0_541);
    let turned = (shared + times(c[2], C_0_765), shared - times(c[6], C_1_847));
    let even = [even.0 + turned.0, even.1 + turned.1, even.1 - turned.1, even.0 - turned.0];

    let c73 = c[7].wrapping_add(c[3]);
    let c51 = c[5].wrapping_add(c[1]);
    let shared = times(c73, C_1_175) + times(c51, C_1_175);
    let c73 = shared - times(c73, C_1_961);
    let c51 = shared - times(c51, C_0_390);
    let c71 = -times(c[7], C_0_899) - times(c[1], C_0_899);
    let c53 = -times(c[5], C_2_562) - times(c[3], C_2_562);
    let odd = [
        times(c[1], C_1_501) + c71 + c51,
        times(c[3], C_3_072) + c53 + c73,
        times(c[5], C_2_053) + c53 + c51,
        times(c[7], C_0_298) + c71 + c73,
    ];
    let mut out = [0; 8];
    for i in 0..4 {
        out[i] = even[i] + odd[i];
        out[7 - i] = even[i] - odd[i];
    }
    out
}

pub(super) fn dequantized(coefficient: i16, quant: u16) -> i16 {
    coefficient.wrapping_mul(quant.cast_signed())
}

/// Coefficient `i` of a block, multiplied by its quantizer.
#[inline(always)]
pub(super) fn dequantized_at(block: &[i16; 64], quant: &[u16; 64], i: usize) -> i16 {
    dequantized(block[i], quant[i])
}

/// Shifts right by `bits`, rounding to the nearest; halves round up.
pub(super) fn round(value: i32, bits: i32) -> i32 {
    value.wrapping_add(1 << (bits - 1)) >> bits
}

pub(super) fn saturated(value: i32) -> i16 {
    value.clamp(i16::MIN.into(), i16::MAX.into()) as i16
}

pub(super) fn sample(value: i32) -> u8 {
    (value.clamp(-128, 127) + 128) as u8
}
