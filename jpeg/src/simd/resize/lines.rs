//! Weighted sums of pixels of several lines at once, with fine weights.

use super::sums::{PAIRS, Step, TRIPLES, bytes, joined, sums_at_start};
use crate::simd::lanes::Lanes;
use crate::simd::taps::{Places, Table};

/// Lines that are computed at once, so that weights are loaded once for all.
pub(crate) const LINES: usize = 2;

/// Computes all steps of [`LINES`] lines of pixels of three bytes with fine weights.
#[inline(always)]
pub(super) fn steps_of_lines<L: Lanes>(
    lanes: L,
    table: &Table,
    lines: [&[u8]; LINES],
    out: &mut [u8],
) {
    let length = 12 * L::GROUPS;
    let each = out.len() / LINES;
    let shared = lines[0].len().min(lines[1].len());
    let lines = [&lines[0][..shared], &lines[1][..shared]];
    for (n, (places, weights)) in table.steps(L::GROUPS).enumerate() {
        let step = Step { places, weights };
        let found = rgb_lines(lanes, table, step, lines);
        for line in 0..LINES {
            let out = &mut out[line * each..][..each][n * length..];
            if out.len() >= length {
                lanes.store_twelves(found[line], out);
                continue;
            }
            let groups = lanes.groups(found[line]);
            for (rest, group) in out.chunks_mut(12).zip(groups) {
                rest.copy_from_slice(&group[..rest.len()]);
            }
        }
    }
}

/// As `rgb_many`, of several lines.
#[inline(always)]
fn rgb_lines<L: Lanes>(
    lanes: L,
    table: &Table,
    step: Step<'_>,
    lines: [&[u8]; LINES],
) -> [L::V; LINES] {
    let Step { places, weights } = step;
    let mut sums = [[lanes.all_16(0); 4]; LINES];
    // The compiler does not know that there are four: unrolled, the sums would not fit registers.
    let vectors = weights.chunks_exact(table.units * 2 * L::GROUPS);
    for (i, weights) in vectors.enumerate() {
        let mut these = [sums_at_start::<L, 2>(lanes, table.bits); LINES];
        let mut twos = weights.chunks_exact(4 * L::GROUPS);
        let mut more = 0;
        for two in &mut twos {
            let pixels = windows(lanes, lines, places, [i * L::GROUPS, more]);
            add_to_lines(lanes, &mut these, pixels, &PAIRS[0], &two[..2 * L::GROUPS]);
            add_to_lines(lanes, &mut these, pixels, &PAIRS[1], &two[2 * L::GROUPS..]);
            more += 12;
        }
        let one = twos.remainder();
        if !one.is_empty() {
            let pixels = windows(lanes, lines, places, [i * L::GROUPS, more]);
            add_to_lines(lanes, &mut these, pixels, &PAIRS[0], one);
        }
        for line in 0..LINES {
            sums[line][i % 4] = joined(lanes, these[line][0], these[line][1]);
        }
    }
    let mut found = [lanes.all_16(0); LINES];
    for line in 0..LINES {
        found[line] = lanes.shuffle(bytes(lanes, sums[line], table.bits), &TRIPLES);
    }
    found
}

/// The bytes of each line: `at` is the number of the first place, and what is added to each.
#[inline(always)]
fn windows<L: Lanes>(
    lanes: L,
    lines: [&[u8]; LINES],
    places: Places<'_>,
    at: [usize; 2],
) -> [L::V; LINES] {
    let [first, more] = at;
    [
        lanes.load_groups(lines[0], places, first, more),
        lanes.load_groups(lines[1], places, first, more),
    ]
}

/// Adds two pixels of each line times their weights.
#[inline(always)]
fn add_to_lines<L: Lanes>(
    lanes: L,
    sums: &mut [[L::V; 2]; LINES],
    pixels: [L::V; LINES],
    pair: &[u8; 16],
    factors: &[[u8; 16]],
) {
    let upper = lanes.load(factors[..L::GROUPS].as_flattened());
    let lower = lanes.load(factors[L::GROUPS..].as_flattened());
    for line in 0..LINES {
        let values = lanes.shuffle(pixels[line], pair);
        sums[line][0] = lanes.dot_add(sums[line][0], values, upper);
        sums[line][1] = lanes.dot_add(sums[line][1], values, lower);
    }
}
