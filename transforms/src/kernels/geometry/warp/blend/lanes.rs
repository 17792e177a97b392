//! Blends a block with one lane for each pixel, in loops that are compiled for each set of instructions.

// Lanes of several arrays are indexed alike; iterators over all of them would hide that.
#![allow(clippy::needless_range_loop)]

use super::super::nearest::WHOLE;
use super::taps::{BLOCK, Lanes, Taps, larger, smaller};
use crate::frame::Source;

/// Writes the pixels of a block.
#[inline(always)]
pub(super) fn block<const CHANNELS: usize, const TAPS: usize>(
    source: Source<'_>,
    taps: &Taps<TAPS>,
    fill: [u8; CHANNELS],
    out: &mut [u8],
) {
    let mut pixels = [[0; BLOCK]; TAPS];
    let mut sums = [[0.0; BLOCK]; CHANNELS];
    for tap in 0..TAPS {
        let row = taps.rows_to(tap) * source.size.width as usize;
        gather::<CHANNELS, TAPS>(source, taps, row as u32, &mut pixels);
        add_row(&pixels, &taps.across.weights, &taps.down.weights[tap], &mut sums);
    }
    let mut bytes = [0; BLOCK];
    mix(&sums, &taps.known, fill, &mut bytes);
    for (to, pixel) in out.as_chunks_mut::<CHANNELS>().0.iter_mut().zip(bytes) {
        let pixel: [u8; 4] = u32::to_le_bytes(pixel);
        to.copy_from_slice(&pixel[..CHANNELS]);
    }
}

/// Loads the taps of one row for each pixel of the block: the channels are the lower bytes.
///
/// `row` is the number of pixels between the first row of taps and this one.
#[inline(always)]
fn gather<const CHANNELS: usize, const TAPS: usize>(
    source: Source<'_>,
    taps: &Taps<TAPS>,
    row: u32,
    pixels: &mut [Lanes<u32>; TAPS],
) {
    let mut places = [0; BLOCK];
    for at in 0..BLOCK {
        places[at] = (taps.first(at, source.size.width) as u32).wrapping_add(row);
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
    across: &[Lanes<f32>; TAPS],
    weights: &Lanes<f32>,
    sums: &mut [Lanes<f32>; CHANNELS],
) {
    for at in 0..BLOCK {
        for (channel, sums) in sums.iter_mut().enumerate() {
            let mut row = 0.0;
            for tap in 0..TAPS {
                let byte = (pixels[tap][at] >> (8 * channel) & 0xff) as i32 as f32;
                let weight = across[tap][at];
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

/// Adds the fill where weights are missing, rounds, and packs the channels of each pixel.
#[inline(always)]
fn mix<const CHANNELS: usize>(
    sums: &[Lanes<f32>; CHANNELS],
    known: &Lanes<f32>,
    fill: [u8; CHANNELS],
    bytes: &mut Lanes<u32>,
) {
    for at in 0..BLOCK {
        for channel in 0..CHANNELS {
            let fill = f32::from(fill[channel]);
            let value = (sums[channel][at] - fill) * known[at] + fill;
            let value = smaller(larger(value, 0.0), 255.0);
            let byte = (value + WHOLE).to_bits() & 0xff;
            bytes[at] |= byte << (8 * channel);
        }
    }
}
