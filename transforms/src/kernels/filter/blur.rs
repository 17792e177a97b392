//! Weighted sums of rows or columns, for separable filters.

use crate::kernels::sets::wide;

wide! {
    /// Converts bytes to numbers.
    pub(crate) fn widen(bytes: &[u8], out: &mut [f32]) {
        for (out, byte) in out.iter_mut().zip(bytes) {
            *out = f32::from(*byte);
        }
    }
}

wide! {
    /// Rounds numbers from 0 to 255 to bytes, halves to the even byte.
    pub(crate) fn round(values: &[f32], out: &mut [u8]) {
        for (out, value) in out.iter_mut().zip(values) {
            // The sum has no fraction: it is rounded as every sum is, and its last byte is the integer.
            *out = (value + 12_582_912.0).to_bits() as u8;
        }
    }
}

wide! {
    /// Writes a weighted sum of parts of `source` to `out`.
    ///
    /// The first part starts at `starts[0]` and has the first weight. Two parts have each other weight: the second those at
    /// `starts[1]` and `starts[2]`, and so on.
    pub(crate) fn weighted_sum(
        source: &[f32],
        starts: &[u32],
        weights: &[f32],
        out: &mut [f32],
    ) {
        let mut at = 0;
        while out.len() - at >= WIDE {
            block::<WIDE>(source, starts, weights, at, &mut out[at..]);
            at += WIDE;
        }
        while out.len() - at >= NARROW {
            block::<NARROW>(source, starts, weights, at, &mut out[at..]);
            at += NARROW;
        }
        while at < out.len() {
            block::<1>(source, starts, weights, at, &mut out[at..]);
            at += 1;
        }
    }
}

/// Values that are summed at once; their sums stay in registers.
const WIDE: usize = 32;

/// Values that are summed at once at the end of a row.
const NARROW: usize = 8;

#[inline(always)]
fn block<const N: usize>(
    source: &[f32],
    starts: &[u32],
    weights: &[f32],
    at: usize,
    out: &mut [f32],
) {
    let source = &source[at..];
    let first = part::<N>(source, starts[0]);
    let mut sums = [0.0; N];
    for lane in 0..N {
        sums[lane] = first[lane] * weights[0];
    }
    for (pair, weight) in starts[1..].chunks_exact(2).zip(&weights[1..]) {
        let left = part::<N>(source, pair[0]);
        let right = part::<N>(source, pair[1]);
        for lane in 0..N {
            sums[lane] += (left[lane] + right[lane]) * weight;
        }
    }
    out[..N].copy_from_slice(&sums);
}

#[inline(always)]
fn part<const N: usize>(source: &[f32], start: u32) -> &[f32; N] {
    source[start as usize..].first_chunk().expect("the parts are inside the source")
}
