//! Blends a block whose taps are neighbors in the same rows, with AVX2: the lanes are bytes in the order of the picture.
//!
//! The order of the sums is that of `lanes`, so the bytes are the same. The compiler does not compile closures for
//! AVX2, so this file has no closures.
#![allow(unsafe_code)]
// Lanes and taps of several arrays are indexed alike.
#![allow(clippy::needless_range_loop)]

use std::arch::x86_64::{
    __m256, __m256i, _mm_cvtsi64_si128, _mm256_add_ps, _mm256_and_si256, _mm256_castps_si256,
    _mm256_cvtepi32_ps, _mm256_cvtepu8_epi32, _mm256_extract_epi64, _mm256_max_ps, _mm256_min_ps,
    _mm256_mul_ps, _mm256_packus_epi16, _mm256_packus_epi32, _mm256_permutevar8x32_epi32,
    _mm256_permutevar8x32_ps, _mm256_set1_epi32, _mm256_set1_ps, _mm256_setr_epi32, _mm256_setr_ps,
    _mm256_setzero_ps, _mm256_sub_ps,
};

use super::super::nearest::WHOLE;
use super::taps::{BLOCK, Lanes, Taps};
use crate::frame::Source;
use crate::kernels::sets::Set;

const CHANNELS: usize = 3;
/// Numbers of a vector.
const LANES: usize = 8;
/// Vectors of the values of a block.
const VECTORS: usize = BLOCK * CHANNELS / LANES;
/// Bytes of a row of taps: those of a block, and of three pixels more, in whole vectors.
const BYTES: usize = (VECTORS + 2) * LANES;

/// A number for each byte of a block.
type Values = [__m256; VECTORS];

/// Writes the pixels of a block. `false`, and nothing, if the set has no AVX2, if the taps are elsewhere, or if a row of
/// them ends with the picture.
#[inline(always)]
pub(super) fn block<const TAPS: usize>(
    set: Set,
    source: Source<'_>,
    taps: &Taps<TAPS>,
    fill: [u8; CHANNELS],
    out: &mut [u8],
) -> bool {
    if set < Set::Avx2 || !taps.are_in_line() {
        return false;
    }
    let width = source.size.width as usize;
    let first = taps.first(0, source.size.width);
    let mut rows = [&[0; BYTES]; TAPS];
    for tap in 0..TAPS {
        let start = (first + taps.rows_to(tap) * width) * CHANNELS;
        let bytes = source.bytes.get(start..).and_then(<[u8]>::first_chunk);
        let Some(bytes) = bytes else { return false };
        rows[tap] = bytes;
    }
    // SAFETY: `Set::all` lists a set only if the processor has its instructions, and those from `Avx2` on have AVX2.
    unsafe { blend::<TAPS>(&rows, taps, fill, out) };
    true
}

#[target_feature(enable = "avx2")]
fn blend<const TAPS: usize>(
    rows: &[&[u8; BYTES]; TAPS],
    taps: &Taps<TAPS>,
    fill: [u8; CHANNELS],
    out: &mut [u8],
) {
    let mut across = [[_mm256_setzero_ps(); VECTORS]; TAPS];
    for tap in 0..TAPS {
        across[tap] = spread(&taps.across.weights[tap]);
    }
    let mut sums = [_mm256_setzero_ps(); VECTORS];
    for tap in 0..TAPS {
        let down = spread(&taps.down.weights[tap]);
        add_row(rows[tap], &across, &down, &mut sums);
    }
    let bytes = mixed(&sums, &spread(&taps.known), fill);
    let length = out.len().min(bytes.len());
    out[..length].copy_from_slice(&bytes[..length]);
}

/// Adds one row of taps to the sums, in torch's order.
#[target_feature(enable = "avx2")]
#[inline]
fn add_row<const TAPS: usize>(
    bytes: &[u8; BYTES],
    across: &[Values; TAPS],
    down: &Values,
    sums: &mut Values,
) {
    for at in 0..VECTORS {
        let mut row = _mm256_setzero_ps();
        for tap in 0..TAPS {
            let values = numbers(bytes, at * LANES + tap * CHANNELS);
            if TAPS == 2 {
                let weights = _mm256_mul_ps(across[tap][at], down[at]);
                sums[at] = _mm256_add_ps(sums[at], _mm256_mul_ps(values, weights));
            } else {
                row = _mm256_add_ps(row, _mm256_mul_ps(values, across[tap][at]));
            }
        }
        if TAPS != 2 {
            sums[at] = _mm256_add_ps(sums[at], _mm256_mul_ps(row, down[at]));
        }
    }
}

/// The numbers of eight bytes from `at` on. A buffer of numbers would be slower: the processor waits where a load covers
/// parts of two stores.
#[target_feature(enable = "avx2")]
#[inline]
fn numbers(bytes: &[u8; BYTES], at: usize) -> __m256 {
    let eight = bytes[at..].first_chunk().expect("the last tap ends in the bytes");
    let eight = _mm_cvtsi64_si128(i64::from_le_bytes(*eight));
    _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(eight))
}

#[target_feature(enable = "avx2")]
#[inline]
fn load(numbers: &Lanes<f32>, at: usize) -> __m256 {
    let n = &numbers[at..at + LANES];
    _mm256_setr_ps(n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7])
}

/// The number of each pixel for each of its three bytes.
#[target_feature(enable = "avx2")]
#[inline]
fn spread(numbers: &Lanes<f32>) -> Values {
    let first = _mm256_setr_epi32(0, 0, 0, 1, 1, 1, 2, 2);
    let second = _mm256_setr_epi32(2, 3, 3, 3, 4, 4, 4, 5);
    let third = _mm256_setr_epi32(5, 5, 6, 6, 6, 7, 7, 7);
    let mut values = [_mm256_setzero_ps(); VECTORS];
    for at in 0..BLOCK / LANES {
        let eight = load(numbers, at * LANES);
        values[3 * at] = _mm256_permutevar8x32_ps(eight, first);
        values[3 * at + 1] = _mm256_permutevar8x32_ps(eight, second);
        values[3 * at + 2] = _mm256_permutevar8x32_ps(eight, third);
    }
    values
}

/// Adds the fill where weights are missing, and rounds.
#[target_feature(enable = "avx2")]
#[inline]
fn mixed(sums: &Values, known: &Values, fill: [u8; CHANNELS]) -> [u8; BLOCK * CHANNELS] {
    let red = f32::from(fill[0]);
    let green = f32::from(fill[1]);
    let blue = f32::from(fill[2]);
    let fills = [
        _mm256_setr_ps(red, green, blue, red, green, blue, red, green),
        _mm256_setr_ps(blue, red, green, blue, red, green, blue, red),
        _mm256_setr_ps(green, blue, red, green, blue, red, green, blue),
    ];
    let mut rounded = [_mm256_castps_si256(_mm256_setzero_ps()); VECTORS];
    for at in 0..VECTORS {
        let fill = fills[at % 3];
        let value = _mm256_add_ps(_mm256_mul_ps(_mm256_sub_ps(sums[at], fill), known[at]), fill);
        // What is no number becomes the second operand.
        let value = _mm256_max_ps(value, _mm256_setzero_ps());
        let value = _mm256_min_ps(value, _mm256_set1_ps(255.0));
        let whole = _mm256_castps_si256(_mm256_add_ps(value, _mm256_set1_ps(WHOLE)));
        rounded[at] = _mm256_and_si256(whole, _mm256_set1_epi32(0xff));
    }
    let mut bytes = [0; BLOCK * CHANNELS];
    for (at, to) in bytes.as_chunks_mut::<32>().0.iter_mut().enumerate() {
        *to =
            packed(rounded[4 * at], rounded[4 * at + 1], rounded[4 * at + 2], rounded[4 * at + 3]);
    }
    bytes
}

/// The bytes of four vectors of 32-bit numbers.
#[target_feature(enable = "avx2")]
#[inline]
fn packed(a: __m256i, b: __m256i, c: __m256i, d: __m256i) -> [u8; 32] {
    let halves = _mm256_packus_epi16(_mm256_packus_epi32(a, b), _mm256_packus_epi32(c, d));
    // Each half of the vector was packed for itself.
    let in_order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    let vector = _mm256_permutevar8x32_epi32(halves, in_order);
    let mut bytes = [0; 32];
    let eights = bytes.as_chunks_mut::<8>().0;
    eights[0] = _mm256_extract_epi64::<0>(vector).to_le_bytes();
    eights[1] = _mm256_extract_epi64::<1>(vector).to_le_bytes();
    eights[2] = _mm256_extract_epi64::<2>(vector).to_le_bytes();
    eights[3] = _mm256_extract_epi64::<3>(vector).to_le_bytes();
    bytes
}
