//! Bilinear and bicubic pixels at the points of a row.
//!
//! Pixels outside the picture are black and have no weight; where weights are missing, the fill has a part. That is
//! torchvision's result, in which a bicubic pixel at the edge is darkened twice.
//!
//! The taps of a pixel are neighbors, moved into the picture at its edges. A tap's weight depends only on its distance
//! from the point, so that what is moved gets none.

// Lanes of several arrays are indexed alike; iterators over all of them would hide that.
#![allow(clippy::needless_range_loop)]

use super::nearest::WHOLE;
use crate::frame::Source;
use crate::kernels::sets::wide;

/// Pixels that are blended at once. Rows of points have room for a multiple.
pub(super) const BLOCK: usize = 32;

/// A value for each pixel of a block.
type Lanes<T> = [T; BLOCK];

wide! {
    /// Writes the bilinear pixels at the points `xs`, `ys`.
    pub(super) fn bilinear(
        source: Source<'_>,
        xs: &[f32],
        ys: &[f32],
        fill: [u8; 3],
        out: &mut [u8],
    ) {
        if source.channels == 3 {
            blend::<3, 2>(source, xs, ys, fill, out);
        } else {
            blend::<1, 2>(source, xs, ys, [fill[0]], out);
        }
    }
}

wide! {
    /// Writes the bicubic pixels at the points `xs`, `ys`.
    pub(super) fn bicubic(
        source: Source<'_>,
        xs: &[f32],
        ys: &[f32],
        fill: [u8; 3],
        out: &mut [u8],
    ) {
        if source.channels == 3 {
            blend::<3, 4>(source, xs, ys, fill, out);
        } else {
            blend::<1, 4>(source, xs, ys, [fill[0]], out);
        }
    }
}

#[inline(always)]
fn blend<const CHANNELS: usize, const TAPS: usize>(
    source: Source<'_>,
    xs: &[f32],
    ys: &[f32],
    fill: [u8; CHANNELS],
    out: &mut [u8],
) {
    let width = source.size.width as usize;
    let height = source.size.height as usize;
    let mut across = Axis::<TAPS>::new(width);
    let mut down = Axis::<TAPS>::new(height);
    let mut pixels = [[0; BLOCK]; TAPS];
    let points = xs.as_chunks().0.iter().zip(ys.as_chunks().0);
    for ((xs, ys), out) in points.zip(out.chunks_mut(BLOCK * CHANNELS)) {
        across.find(xs);
        down.find(ys);
        let mut sums = [[0.0; BLOCK]; CHANNELS];
        for tap in 0..TAPS {
            let row = if tap < height { tap * width } else { 0 };
            gather::<CHANNELS, TAPS>(source, &across, &down, row as u32, &mut pixels);
            add_row(&pixels, &across, &down.weights[tap], &mut sums);
        }
        let mut bytes = [0; BLOCK];
        let known = Known { across: &across, down: &down };
        mix(&sums, &known, fill, &mut bytes);
        for (to, pixel) in out.as_chunks_mut::<CHANNELS>().0.iter_mut().zip(bytes) {
            let pixel: [u8; 4] = u32::to_le_bytes(pixel);
            to.copy_from_slice(&pixel[..CHANNELS]);
        }
    }
}

/// The taps of the pixels of a block on one axis.
struct Axis<const TAPS: usize> {
    /// Pixels of the picture.
    length: usize,
    /// The pixel of the first tap. The others follow.
    first: Lanes<u32>,
    weights: [Lanes<f32>; TAPS],
}

impl<const TAPS: usize> Axis<TAPS> {
    #[inline(always)]
    fn new(length: usize) -> Axis<TAPS> {
        Axis { length, first: [0; BLOCK], weights: [[0.0; BLOCK]; TAPS] }
    }

    /// Finds the taps of the pixels at these places.
    #[inline(always)]
    fn find(&mut self, places: &Lanes<f32>) {
        let reach = (TAPS / 2) as f32;
        let most = self.length as f32 - 1.0 + reach;
        let most_first = self.length.saturating_sub(TAPS) as f32;
        for at in 0..BLOCK {
            let place = smaller(larger(places[at], -reach), most);
            let nearest = place + WHOLE - WHOLE;
            let floor = if nearest > place { nearest - 1.0 } else { nearest };
            let first = smaller(larger(floor + 1.0 - reach, 0.0), most_first);
            self.first[at] = (first + WHOLE).to_bits().wrapping_sub(WHOLE.to_bits());
            for tap in 0..TAPS {
                let distance = (place - (first + tap as f32)).abs();
                self.weights[tap][at] = weight::<TAPS>(distance);
            }
        }
        for missing in self.weights.iter_mut().skip(self.length) {
            missing.fill(0.0);
        }
    }
}

/// The larger number, or `limit` for what is no number.
#[inline(always)]
fn larger(place: f32, limit: f32) -> f32 {
    if place > limit { place } else { limit }
}

#[inline(always)]
fn smaller(place: f32, limit: f32) -> f32 {
    if place < limit { place } else { limit }
}

/// The weight of a tap at this distance: a tent, or cubic convolution with a = -0.75.
#[inline(always)]
fn weight<const TAPS: usize>(distance: f32) -> f32 {
    const A: f32 = -0.75;
    if TAPS == 2 {
        return larger(1.0 - distance, 0.0);
    }
    let near = ((A + 2.0) * distance - (A + 3.0)) * distance * distance + 1.0;
    let far = ((A * distance - 5.0 * A) * distance + 8.0 * A) * distance - 4.0 * A;
    let far = if distance < 2.0 { far } else { 0.0 };
    if distance <= 1.0 { near } else { far }
}

/// Loads the taps of one row for each pixel of the block: the channels are the lower bytes.
///
/// `row` is the number of pixels between the first row of taps and this one.
#[inline(always)]
fn gather<const CHANNELS: usize, const TAPS: usize>(
    source: Source<'_>,
    across: &Axis<TAPS>,
    down: &Axis<TAPS>,
    row: u32,
    pixels: &mut [Lanes<u32>; TAPS],
) {
    let mut places = [0; BLOCK];
    for at in 0..BLOCK {
        let line = down.first[at].wrapping_mul(source.size.width).wrapping_add(row);
        places[at] = line.wrapping_add(across.first[at]);
    }
    for at in 0..BLOCK {
        // A number of 32 bits times 3 does not wrap, which saves a comparison for each slice.
        let first = places[at] as usize * CHANNELS;
        if CHANNELS == 3 {
            for pair in 0..TAPS / 2 {
                let two = eight(source.bytes, first + pair * 2 * CHANNELS);
                pixels[2 * pair][at] = two as u32;
                pixels[2 * pair + 1][at] = (two >> 24) as u32;
            }
        } else {
            for (tap, pixels) in pixels.iter_mut().enumerate() {
                let byte = source.bytes.get(first + tap).copied().unwrap_or(0);
                pixels[at] = u32::from(byte);
            }
        }
    }
}

/// Eight bytes from `at` on. What is after the picture is 0.
#[inline(always)]
fn eight(bytes: &[u8], at: usize) -> u64 {
    match bytes.get(at..at + 8) {
        Some(eight) => u64::from_le_bytes(*eight.first_chunk().expect("eight bytes")),
        None => last(bytes, at),
    }
}

#[cold]
#[inline(never)]
fn last(bytes: &[u8], at: usize) -> u64 {
    let bytes = bytes.get(at..).unwrap_or_default();
    bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

/// Adds one row of taps to the sums of each channel, in torch's order.
#[inline(always)]
fn add_row<const CHANNELS: usize, const TAPS: usize>(
    pixels: &[Lanes<u32>; TAPS],
    across: &Axis<TAPS>,
    weights: &Lanes<f32>,
    sums: &mut [Lanes<f32>; CHANNELS],
) {
    for at in 0..BLOCK {
        for (channel, sums) in sums.iter_mut().enumerate() {
            let mut row = 0.0;
            for tap in 0..TAPS {
                let byte = (pixels[tap][at] >> (8 * channel) & 0xff) as i32 as f32;
                let weight = across.weights[tap][at];
                if TAPS == 2 {
                    sums[at] += byte * (weight * weights[at]);
                } else {
                    row += byte * weight;
                }
            }
            if TAPS != 2 {
                sums[at] += row * weights[at];
            }
        }
    }
}

/// The taps that are in the picture.
struct Known<'a, const TAPS: usize> {
    across: &'a Axis<TAPS>,
    down: &'a Axis<TAPS>,
}

/// Adds the fill where weights are missing, rounds, and packs the channels of each pixel.
#[inline(always)]
fn mix<const CHANNELS: usize, const TAPS: usize>(
    sums: &[Lanes<f32>; CHANNELS],
    known: &Known<'_, TAPS>,
    fill: [u8; CHANNELS],
    bytes: &mut Lanes<u32>,
) {
    for at in 0..BLOCK {
        let mut parts = [0.0; 2];
        for tap in 0..TAPS {
            parts[0] += known.across.weights[tap][at];
            parts[1] += known.down.weights[tap][at];
        }
        let part = parts[0] * parts[1];
        for channel in 0..CHANNELS {
            let fill = f32::from(fill[channel]);
            let value = (sums[channel][at] - fill) * part + fill;
            let value = smaller(larger(value, 0.0), 255.0);
            let byte = (value + WHOLE).to_bits() & 0xff;
            bytes[at] |= byte << (8 * channel);
        }
    }
}
