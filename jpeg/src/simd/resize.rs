//! Weighted sums of rows and of pixels in vectors, equal to `portable::resize`.
//!
//! Products have 16 bits by 16 bits and sums 32, so no sum of a picture wraps.

use super::lanes::{Lanes, NONE, starts};
use super::portable;
use super::taps::{Across, Column, Places, Table};

#[inline(always)]
pub(super) fn down<L: Lanes>(lanes: L, column: &Column<'_>, out: &mut [u8]) {
    if out.len() < L::BYTES {
        return (lanes.shorter().down)(column, out);
    }
    match column.weights.len() {
        0..=2 => down_pairs::<L, 1>(lanes, column, out),
        3..=4 => down_pairs::<L, 2>(lanes, column, out),
        5..=6 => down_pairs::<L, 3>(lanes, column, out),
        _ if out.len() < 2 * L::BYTES => down_many::<L, 1>(lanes, column, out),
        _ => down_many::<L, 2>(lanes, column, out),
    }
}

/// Sums of at most `2 PAIRS` rows.
#[inline(always)]
fn down_pairs<L: Lanes, const PAIRS: usize>(lanes: L, column: &Column<'_>, out: &mut [u8]) {
    let n = out.len();
    let mut rows: [[&[u8]; 2]; PAIRS] = [[&[]; 2]; PAIRS];
    let mut factors = [lanes.all_16(0); PAIRS];
    for i in 0..PAIRS {
        rows[i] = [column.row(2 * i, n), column.row(2 * i + 1, n)];
        factors[i] = weights(lanes, column, 2 * i);
    }
    for at in starts(n, L::BYTES) {
        let mut sums = [rounding(lanes, column.bits); 4];
        for i in 0..PAIRS {
            let [upper, lower] = rows[i];
            add_rows(lanes, &mut sums, [&upper[at..], &lower[at..]], factors[i]);
        }
        lanes.store(bytes(lanes, sums, column.bits), &mut out[at..]);
    }
}

/// Sums of any number of rows, for `N` vectors at a time.
#[inline(always)]
fn down_many<L: Lanes, const N: usize>(lanes: L, column: &Column<'_>, out: &mut [u8]) {
    let n = out.len();
    for at in starts(n, N * L::BYTES) {
        let mut sums = [[rounding(lanes, column.bits); 4]; N];
        for i in (0..column.rows).step_by(2) {
            let upper = &column.row(i, n)[at..];
            let lower = &column.row(i + 1, n)[at..];
            let factors = weights(lanes, column, i);
            for v in 0..N {
                let rows = [&upper[v * L::BYTES..], &lower[v * L::BYTES..]];
                add_rows(lanes, &mut sums[v], rows, factors);
            }
        }
        for v in 0..N {
            lanes.store(bytes(lanes, sums[v], column.bits), &mut out[at + v * L::BYTES..]);
        }
    }
}

/// The weights of a row and the next one.
#[inline(always)]
fn weights<L: Lanes>(lanes: L, column: &Column<'_>, row: usize) -> L::V {
    let of = |row: usize| column.weights[..column.rows].get(row).copied().unwrap_or(0);
    lanes.pair_16(of(row), of(row + 1))
}

#[inline(always)]
fn add_rows<L: Lanes>(lanes: L, sums: &mut [L::V; 4], rows: [&[u8]; 2], factors: L::V) {
    let zero = lanes.all_16(0);
    let upper = lanes.load(rows[0]);
    let lower = lanes.load(rows[1]);
    let low = lanes.zip_low_8(upper, lower);
    let high = lanes.zip_high_8(upper, lower);
    sums[0] = lanes.dot_add(sums[0], lanes.zip_low_8(low, zero), factors);
    sums[1] = lanes.dot_add(sums[1], lanes.zip_high_8(low, zero), factors);
    sums[2] = lanes.dot_add(sums[2], lanes.zip_low_8(high, zero), factors);
    sums[3] = lanes.dot_add(sums[3], lanes.zip_high_8(high, zero), factors);
}

#[inline(always)]
fn rounding<L: Lanes>(lanes: L, bits: u32) -> L::V {
    lanes.all_32(1 << (bits - 1))
}

/// Divides sums and saturates them: each group's bytes of the four vectors in turn.
#[inline(always)]
fn bytes<L: Lanes>(lanes: L, sums: [L::V; 4], bits: u32) -> L::V {
    let [a, b, c, d] = [
        lanes.right_32_by(sums[0], bits),
        lanes.right_32_by(sums[1], bits),
        lanes.right_32_by(sums[2], bits),
        lanes.right_32_by(sums[3], bits),
    ];
    lanes.narrow_to_unsigned(lanes.narrow_32(a, b), lanes.narrow_32(c, d))
}

#[inline(always)]
pub(super) fn across_rgb<L: Lanes>(lanes: L, across: &Across<'_>, line: &[u8], out: &mut [u8]) {
    let table = across.table;
    let out = &mut out[..3 * across.taps.starts.len()];
    if table.places().is_empty() {
        return portable::resize::across_rgb(across, line, out);
    }
    match table.most {
        0..=2 => steps::<L, 12, 1>(lanes, table, line, out),
        3..=4 => steps::<L, 12, 2>(lanes, table, line, out),
        5 => steps::<L, 12, 3>(lanes, table, line, out),
        _ => steps::<L, 12, MANY>(lanes, table, line, out),
    }
}

#[inline(always)]
pub(super) fn across_gray<L: Lanes>(lanes: L, across: &Across<'_>, line: &[u8], out: &mut [u8]) {
    let table = across.table;
    let out = &mut out[..across.taps.starts.len()];
    if table.places().is_empty() {
        return portable::resize::across_gray(across, line, out);
    }
    steps::<L, 4, MANY>(lanes, table, line, out);
}

/// In place of a number of units: any.
const MANY: usize = 0;

/// Computes all steps of a line; stores the first `EACH` bytes of each group of a step.
#[inline(always)]
fn steps<L: Lanes, const EACH: usize, const UNITS: usize>(
    lanes: L,
    table: &Table,
    line: &[u8],
    out: &mut [u8],
) {
    let mut rows = out.chunks_exact_mut(EACH * L::GROUPS);
    let mut steps = table.steps(L::GROUPS);
    // In this order: no step is taken for the incomplete part.
    for (part, (places, weights)) in (&mut rows).zip(&mut steps) {
        let found = step::<L, EACH, UNITS>(lanes, table, Step { places, weights }, line);
        if EACH == 12 {
            lanes.store_twelves(found, part);
        } else {
            for (part, group) in part.chunks_exact_mut(EACH).zip(lanes.groups(found)) {
                part.copy_from_slice(&group[..EACH]);
            }
        }
    }
    let rest = rows.into_remainder();
    if rest.is_empty() {
        return;
    }
    if let Some((places, weights)) = steps.next() {
        let last = Step { places, weights };
        let groups = lanes.groups(step::<L, EACH, UNITS>(lanes, table, last, line));
        for (rest, group) in rest.chunks_mut(EACH).zip(groups) {
            rest.copy_from_slice(&group[..rest.len()]);
        }
    }
}

/// The starts and the weights of a step.
#[derive(Clone, Copy)]
struct Step<'a> {
    places: Places<'a>,
    weights: &'a [[u8; 16]],
}

/// Computes a step.
#[inline(always)]
fn step<L: Lanes, const EACH: usize, const UNITS: usize>(
    lanes: L,
    table: &Table,
    step: Step<'_>,
    line: &[u8],
) -> L::V {
    match (EACH, UNITS) {
        (4, _) => gray(lanes, table, step, line),
        (_, MANY) => rgb_many(lanes, table, step, line),
        _ => rgb::<L, UNITS>(lanes, table, step, line),
    }
}

/// The bytes of two pixels of three, from pixel `2 unit` of a group on, as pairs of 16-bit numbers.
const fn pair(unit: usize) -> [u8; 16] {
    let mut table = [NONE; 16];
    let mut i = 0;
    while i < 6 {
        let byte = 6 * unit + i / 2 + 3 * (i % 2);
        if byte < 16 {
            table[2 * i] = byte as u8;
        }
        i += 1;
    }
    table
}

const PAIRS: [[u8; 16]; 3] = [pair(0), pair(1), pair(2)];

/// Drops every fourth byte.
const TRIPLES: [u8; 16] = [0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, NONE, NONE, NONE, NONE];

/// Sums of at most five pixels, which are in one window.
#[inline(always)]
fn rgb<L: Lanes, const UNITS: usize>(lanes: L, table: &Table, step: Step<'_>, line: &[u8]) -> L::V {
    let Step { places, weights } = step;
    let weights = &weights[..4 * UNITS * L::GROUPS];
    let mut sums = [rounding(lanes, table.bits); 4];
    for i in 0..4 {
        let pixels = lanes.load_groups(line, places, i * L::GROUPS, 0);
        for unit in 0..UNITS {
            let factors = &weights[(i * UNITS + unit) * L::GROUPS..][..L::GROUPS];
            let factors = lanes.load(factors.as_flattened());
            sums[i] = lanes.dot_add(sums[i], lanes.shuffle(pixels, &PAIRS[unit]), factors);
        }
    }
    lanes.shuffle(bytes(lanes, sums, table.bits), &TRIPLES)
}

#[inline(always)]
fn rgb_many<L: Lanes>(lanes: L, table: &Table, step: Step<'_>, line: &[u8]) -> L::V {
    let Step { places, weights } = step;
    let mut sums = [rounding(lanes, table.bits); 4];
    let vectors = weights.chunks_exact(table.units * L::GROUPS);
    for (i, (sum, weights)) in sums.iter_mut().zip(vectors).enumerate() {
        for (n, two) in weights.chunks(2 * L::GROUPS).enumerate() {
            let pixels = lanes.load_groups(line, places, i * L::GROUPS, 12 * n);
            for (factors, table) in two.chunks_exact(L::GROUPS).zip(&PAIRS) {
                let factors = lanes.load(factors.as_flattened());
                *sum = lanes.dot_add(*sum, lanes.shuffle(pixels, table), factors);
            }
        }
    }
    lanes.shuffle(bytes(lanes, sums, table.bits), &TRIPLES)
}

/// Each group's first four bytes are its pixels.
#[inline(always)]
fn gray<L: Lanes>(lanes: L, table: &Table, step: Step<'_>, line: &[u8]) -> L::V {
    let Step { places, weights } = step;
    let zero = lanes.all_16(0);
    let mut sums = [zero; 4];
    let vectors = weights.chunks_exact(table.units * L::GROUPS);
    for (i, (sum, weights)) in sums.iter_mut().zip(vectors).enumerate() {
        for (n, factors) in weights.chunks_exact(L::GROUPS).enumerate() {
            let pixels = lanes.load_groups(line, places, i * L::GROUPS, 8 * n);
            let pixels = lanes.zip_low_8(pixels, zero);
            *sum = lanes.dot_add(*sum, pixels, lanes.load(factors.as_flattened()));
        }
    }
    let sum = lanes.add_32(rounding(lanes, table.bits), sums_of_groups(lanes, sums));
    bytes(lanes, [sum, zero, zero, zero], table.bits)
}

/// Adds the four numbers of each group of each vector: a group's sums of the vectors in turn.
#[inline(always)]
fn sums_of_groups<L: Lanes>(lanes: L, v: [L::V; 4]) -> L::V {
    let first = halves(lanes, v[0], v[1]);
    let second = halves(lanes, v[2], v[3]);
    lanes.add_32(lanes.zip_low_64(first, second), lanes.zip_high_64(first, second))
}

#[inline(always)]
fn halves<L: Lanes>(lanes: L, a: L::V, b: L::V) -> L::V {
    lanes.add_32(lanes.zip_low_32(a, b), lanes.zip_high_32(a, b))
}
