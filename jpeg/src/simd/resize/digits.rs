//! Weighted sums with fine weights in three digits: four bytes times four at a time, in one instruction.
//!
//! Sums of digits are joined from the highest digit on: 256 times what there is, plus the next. All wrap as the portable
//! sums do.

// Lanes of several arrays are indexed alike; iterators over all of them would hide that.
#![allow(clippy::needless_range_loop)]

use super::sums::{TRIPLES, bytes};
use crate::simd::lanes::{ByteLanes, MOST_GROUPS, NONE, starts};
use crate::simd::taps::{DIGITS, Digits, FOUR, Lines, MOST_ACROSS, MOST_LINES, Weights};

/// Bytes of four pixels of three.
const QUAD: usize = 3 * FOUR;

/// Four pixels of three bytes as four bytes of each channel.
const CHANNELS: [u8; 16] = [0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11, NONE, NONE, NONE, NONE];

/// Vectors of lines that are computed at once.
const PARTS: usize = 2;

/// Computes lines of pixels of three bytes; see [`crate::simd::run::ByteKernels::across`].
#[inline(always)]
pub(in crate::simd) fn across<L: ByteLanes>(
    lanes: L,
    digits: &Digits,
    woven: &[u8],
    count: usize,
    out: &mut [u8],
) {
    const { assert!(PARTS * L::GROUPS == MOST_LINES) };
    assert!((1..=MOST_LINES).contains(&count));
    assert!((1..=MOST_ACROSS).contains(&digits.units));
    match digits.units {
        1 => quads::<L, 1>(lanes, digits, woven, count, out),
        2 => quads::<L, 2>(lanes, digits, woven, count, out),
        3 => quads::<L, 3>(lanes, digits, woven, count, out),
        4 => quads::<L, 4>(lanes, digits, woven, count, out),
        _ => quads::<L, MOST_ACROSS>(lanes, digits, woven, count, out),
    }
}

/// In place of a number of units: any.
const MANY: usize = 0;

/// Writes each unit of lines as vectors; see [`crate::simd::run::ByteKernels::weave`].
#[inline(always)]
pub(in crate::simd) fn weave<L: ByteLanes>(lanes: L, lines: Lines<'_>, woven: &mut [u8]) {
    for part in 0..PARTS {
        weave_part(lanes, lines, part, woven);
    }
}

/// Writes the units of a vector of lines: a group for each line.
#[inline(always)]
fn weave_part<L: ByteLanes>(lanes: L, lines: Lines<'_>, part: usize, woven: &mut [u8]) {
    let mut places = [0; MOST_GROUPS];
    for group in 0..L::GROUPS {
        places[group] = lines.place(part * L::GROUPS + group);
    }
    let units = lines.length.div_ceil(QUAD);
    let inside = (lines.length + QUAD).saturating_sub(16) / QUAD;
    for (unit, out) in woven.chunks_exact_mut(PARTS * L::BYTES).take(units).enumerate() {
        let pixels = if unit < inside {
            lanes.load_each(lines.bytes, places, QUAD * unit)
        } else {
            let mut ends = [[0; 16]; MOST_GROUPS];
            for group in 0..L::GROUPS {
                let end = &lines.line(part * L::GROUPS + group)[QUAD * unit..];
                let end = &end[..end.len().min(16)];
                ends[group][..end.len()].copy_from_slice(end);
            }
            lanes.load(ends.as_flattened())
        };
        lanes.store(lanes.shuffle(pixels, &CHANNELS), &mut out[part * L::BYTES..]);
    }
}

/// Computes four outputs of each line after the other.
#[inline(always)]
fn quads<L: ByteLanes, const UNITS: usize>(
    lanes: L,
    digits: &Digits,
    woven: &[u8],
    count: usize,
    out: &mut [u8],
) {
    let each = out.len() / count;
    for quad in 0..digits.outputs() / FOUR {
        let mut sums = [[lanes.all_32(0); FOUR]; PARTS];
        for pixel in 0..FOUR {
            let output = FOUR * quad + pixel;
            let weights = digits.weights(output);
            let these = &woven[digits.start(output) * PARTS * L::BYTES..];
            let found = output_of::<L, UNITS>(lanes, these, weights, digits);
            for part in 0..PARTS {
                sums[part][pixel] = found[part];
            }
        }
        let mut pixels = [lanes.all_32(0); PARTS];
        for part in 0..PARTS {
            pixels[part] = lanes.shuffle(bytes(lanes, sums[part], digits.bits), &TRIPLES);
        }
        let at = QUAD * quad;
        if count == MOST_LINES && at + 16 <= each {
            // Four bytes more, which the next quad overwrites.
            lanes.store_each(pixels, &mut out[at..], each);
        } else {
            for (part, out) in out.chunks_mut(L::GROUPS * each).enumerate() {
                store_ends(lanes, pixels[part], out, each, at);
            }
        }
    }
}

/// The sums of one output.
#[inline(always)]
fn output_of<L: ByteLanes, const UNITS: usize>(
    lanes: L,
    woven: &[u8],
    weights: Weights<'_>,
    digits: &Digits,
) -> [L::V; PARTS] {
    let woven = &woven[..UNITS * PARTS * L::BYTES];
    let mut sums = [lanes.all_32(half(digits.bits)); PARTS];
    for digit in 0..DIGITS {
        if digit > 0 {
            for part in 0..PARTS {
                sums[part] = lanes.left_32::<8>(sums[part]);
            }
        }
        for unit in 0..UNITS {
            let weight = lanes.all_32(weights.get(digit * UNITS + unit));
            for part in 0..PARTS {
                let pixels = lanes.load(&woven[(unit * PARTS + part) * L::BYTES..]);
                sums[part] = lanes.dot_bytes_add(sums[part], pixels, weight);
            }
        }
    }
    sums
}

/// What rounds to the nearest when sums are divided by 2^`bits`, before two digits are appended.
#[inline(always)]
fn half(bits: u32) -> i32 {
    1 << (bits - 1 - 8 * (DIGITS as u32 - 1))
}

/// Stores twelve bytes of each line, or those before its end. `out` has whole lines of `each` bytes.
#[inline(always)]
fn store_ends<L: ByteLanes>(lanes: L, pixels: L::V, out: &mut [u8], each: usize, at: usize) {
    let groups = lanes.groups(pixels);
    for (line, group) in out.chunks_exact_mut(each).zip(groups) {
        let rest = &mut line[at..];
        let length = rest.len().min(QUAD);
        rest[..length].copy_from_slice(&group[..length]);
    }
}

/// Computes weighted sums of rows; see [`crate::simd::run::ByteKernels::down`].
#[inline(always)]
pub(in crate::simd) fn down<L: ByteLanes>(
    lanes: L,
    rows: Lines<'_>,
    digits: &Digits,
    output: usize,
    out: &mut [u8],
) {
    let weights = digits.weights(output);
    match digits.units {
        1 => down_of::<L, 1>(lanes, rows, weights, digits, out),
        2 => down_of::<L, 2>(lanes, rows, weights, digits, out),
        3 => down_of::<L, 3>(lanes, rows, weights, digits, out),
        _ => down_of::<L, MANY>(lanes, rows, weights, digits, out),
    }
}

#[inline(always)]
fn down_of<L: ByteLanes, const UNITS: usize>(
    lanes: L,
    rows: Lines<'_>,
    weights: Weights<'_>,
    digits: &Digits,
    out: &mut [u8],
) {
    for at in starts(out.len(), L::BYTES) {
        let mut sums = [lanes.all_32(half(digits.bits)); 4];
        if UNITS == MANY {
            sums = sums_of_many(lanes, rows, weights, digits, at);
        } else {
            let mut values = [[lanes.all_32(0); 4]; UNITS];
            for unit in 0..UNITS {
                values[unit] = four_rows(lanes, rows, unit, at);
            }
            for digit in 0..DIGITS {
                for v in 0..4 {
                    if digit > 0 {
                        sums[v] = lanes.left_32::<8>(sums[v]);
                    }
                }
                for unit in 0..UNITS {
                    let weight = lanes.all_32(weights.get(digit * UNITS + unit));
                    for v in 0..4 {
                        sums[v] = lanes.dot_bytes_add(sums[v], values[unit][v], weight);
                    }
                }
            }
        }
        lanes.store(bytes(lanes, sums, digits.bits), &mut out[at..]);
    }
}

/// The sums of any number of units: rows are read once, so each digit has its own sums.
#[inline(always)]
fn sums_of_many<L: ByteLanes>(
    lanes: L,
    rows: Lines<'_>,
    weights: Weights<'_>,
    digits: &Digits,
    at: usize,
) -> [L::V; 4] {
    let mut sums = [[lanes.all_32(0); 4]; DIGITS];
    sums[0] = [lanes.all_32(half(digits.bits)); 4];
    for unit in 0..digits.units {
        let values = four_rows(lanes, rows, unit, at);
        for digit in 0..DIGITS {
            let weight = lanes.all_32(weights.get(digit * digits.units + unit));
            for v in 0..4 {
                sums[digit][v] = lanes.dot_bytes_add(sums[digit][v], values[v], weight);
            }
        }
    }
    let mut all = sums[0];
    for digit in 1..DIGITS {
        for v in 0..4 {
            all[v] = lanes.add_32(lanes.left_32::<8>(all[v]), sums[digit][v]);
        }
    }
    all
}

/// The bytes of the four rows of a unit in turn.
#[inline(always)]
fn four_rows<L: ByteLanes>(lanes: L, rows: Lines<'_>, unit: usize, at: usize) -> [L::V; 4] {
    let first = lanes.load(&rows.line(FOUR * unit)[at..]);
    let second = lanes.load(&rows.line(FOUR * unit + 1)[at..]);
    let third = lanes.load(&rows.line(FOUR * unit + 2)[at..]);
    let fourth = lanes.load(&rows.line(FOUR * unit + 3)[at..]);
    let upper = [lanes.zip_low_8(first, second), lanes.zip_high_8(first, second)];
    let lower = [lanes.zip_low_8(third, fourth), lanes.zip_high_8(third, fourth)];
    [
        lanes.zip_low_16(upper[0], lower[0]),
        lanes.zip_high_16(upper[0], lower[0]),
        lanes.zip_low_16(upper[1], lower[1]),
        lanes.zip_high_16(upper[1], lower[1]),
    ]
}
