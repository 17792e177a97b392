//! Weighted sums of rows and of pixels: integers, rounded and saturated, so that the order of the
//! additions does not matter.

use crate::simd::taps::{Across, Column, Inputs, LOW_BITS};

/// See [`crate::simd::run::Simd::down`].
pub(in crate::simd) fn down(column: &Column<'_>, out: &mut [u8]) {
    let n = out.len();
    for (part, out) in out.chunks_mut(64).enumerate() {
        let mut sums = [half(column.bits); 64];
        for row in 0..column.rows {
            let weight = weight(column.weights, column.lows, row);
            for (sum, &value) in sums.iter_mut().zip(&column.row(row, n)[64 * part..]) {
                *sum = sum.wrapping_add(weight * i32::from(value));
            }
        }
        for (new, sum) in out.iter_mut().zip(sums) {
            *new = byte(sum, column.bits);
        }
    }
}

/// See [`crate::simd::run::Simd::across_rgb`].
pub(in crate::simd) fn across_rgb(across: &Across<'_>, line: &[u8], out: &mut [u8]) {
    lines::<3>(across, line, out);
}

/// See [`crate::simd::run::Simd::across_gray`].
pub(in crate::simd) fn across_gray(across: &Across<'_>, line: &[u8], out: &mut [u8]) {
    lines::<1>(across, line, out);
}

fn lines<const N: usize>(across: &Across<'_>, line: &[u8], out: &mut [u8]) {
    let each = N * across.taps.starts.len();
    for (n, out) in out[..across.lines * each].chunks_exact_mut(each).enumerate() {
        sums::<N>(across, &line[n * across.stride..], out);
    }
}

fn sums<const N: usize>(across: &Across<'_>, line: &[u8], out: &mut [u8]) {
    let taps = across.taps;
    let line = line.as_chunks::<N>().0;
    let width = taps.starts.len();
    let first = taps.starts[0] as usize;
    for (x, new) in out[..N * width].as_chunks_mut::<N>().0.iter_mut().enumerate() {
        let of = taps.of(if across.flip { width - 1 - x } else { x });
        let Inputs { start, count, weights, lows } = of;
        let mut sums = [half(taps.bits); N];
        for (n, pixel) in line[start - first..][..count].iter().enumerate() {
            let weight = weight(weights, lows, n);
            for (sum, &value) in sums.iter_mut().zip(pixel) {
                *sum = sum.wrapping_add(weight * i32::from(value));
            }
        }
        *new = sums.map(|sum| byte(sum, taps.bits));
    }
}

/// The weight of input `n`; see [`crate::simd::Taps::weights`].
fn weight(weights: &[i16], lows: &[i16], n: usize) -> i32 {
    let weight = i32::from(weights[n]);
    lows.get(n).map_or(weight, |&low| (weight << LOW_BITS) + i32::from(low))
}

fn half(bits: u32) -> i32 {
    1 << (bits - 1)
}

fn byte(sum: i32, bits: u32) -> u8 {
    (sum >> bits).clamp(0, 255) as u8
}
