//! Weighted sums of rows and of pixels in vectors, equal to `portable::resize`.
//!
//! Products have 16 bits by 16 bits and sums 32, so no sum of a picture wraps. Fine weights are two
//! numbers of 16 bits, and so are their sums until they are joined: the lower one may wrap, the
//! joined one is right.

use super::lanes::{Lanes, starts};
use super::portable;
use super::taps::{Across, Column, Table};

pub(super) use self::digits::{across as across_bytes, down as down_bytes, weave};
pub(crate) use self::lines::LINES;
use self::lines::steps_of_lines;
use self::sums::{PAIRS, Step, TRIPLES, bytes, joined, rounding, sums_at_start};

mod digits;
mod lines;
mod sums;

#[inline(always)]
pub(super) fn down<L: Lanes>(lanes: L, column: &Column<'_>, out: &mut [u8]) {
    if out.len() < L::BYTES {
        return (lanes.shorter().down)(column, out);
    }
    if !column.lows.is_empty() {
        return down_fine(lanes, column, out);
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
        factors[i] = weights(lanes, column.weights, 2 * i);
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
            let factors = weights(lanes, column.weights, i);
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

/// Sums of any number of rows with fine weights.
#[inline(always)]
fn down_fine<L: Lanes>(lanes: L, column: &Column<'_>, out: &mut [u8]) {
    let n = out.len();
    for at in starts(n, L::BYTES) {
        let mut upper = [lanes.all_32(0); 4];
        let mut lower = [rounding(lanes, column.bits); 4];
        for i in (0..column.rows).step_by(2) {
            let rows = [&column.row(i, n)[at..], &column.row(i + 1, n)[at..]];
            let values = zipped(lanes, rows);
            let factors = weights(lanes, column.weights, i);
            let low_factors = weights(lanes, column.lows, i);
            for v in 0..4 {
                upper[v] = lanes.dot_add(upper[v], values[v], factors);
                lower[v] = lanes.dot_add(lower[v], values[v], low_factors);
            }
        }
        let mut sums = lower;
        for v in 0..4 {
            sums[v] = joined(lanes, upper[v], lower[v]);
        }
        lanes.store(bytes(lanes, sums, column.bits), &mut out[at..]);
    }
}

/// The weights of a row and the next one. Those after the last row are 0.
#[inline(always)]
fn weights<L: Lanes>(lanes: L, weights: &[i16], row: usize) -> L::V {
    lanes.pair_16(weights[row], weights[row + 1])
}

#[inline(always)]
fn add_rows<L: Lanes>(lanes: L, sums: &mut [L::V; 4], rows: [&[u8]; 2], factors: L::V) {
    let values = zipped(lanes, rows);
    for v in 0..4 {
        sums[v] = lanes.dot_add(sums[v], values[v], factors);
    }
}

/// The bytes of two rows alternately, as numbers of 16 bits.
#[inline(always)]
fn zipped<L: Lanes>(lanes: L, rows: [&[u8]; 2]) -> [L::V; 4] {
    let zero = lanes.all_16(0);
    let upper = lanes.load(rows[0]);
    let lower = lanes.load(rows[1]);
    let low = lanes.zip_low_8(upper, lower);
    let high = lanes.zip_high_8(upper, lower);
    [
        lanes.zip_low_8(low, zero),
        lanes.zip_high_8(low, zero),
        lanes.zip_low_8(high, zero),
        lanes.zip_high_8(high, zero),
    ]
}

#[inline(always)]
pub(super) fn across_rgb<L: Lanes>(lanes: L, across: &Across<'_>, line: &[u8], out: &mut [u8]) {
    let table = across.table;
    if table.places().is_empty() {
        return portable::resize::across_rgb(across, line, out);
    }
    let each = 3 * across.taps.starts.len();
    let out = &mut out[..across.lines * each];
    if across.lines == LINES && table.parts == 2 {
        return steps_of_lines(lanes, table, [line, &line[across.stride..]], out);
    }
    for (n, out) in out.chunks_exact_mut(each).enumerate() {
        let line = &line[n * across.stride..];
        match (table.parts, table.most) {
            (1, 0..=2) => steps::<L, 12, 1, 1>(lanes, table, line, out),
            (1, 3..=4) => steps::<L, 12, 2, 1>(lanes, table, line, out),
            (1, 5) => steps::<L, 12, 3, 1>(lanes, table, line, out),
            (1, _) => steps::<L, 12, MANY, 1>(lanes, table, line, out),
            _ => steps::<L, 12, MANY, 2>(lanes, table, line, out),
        }
    }
}

#[inline(always)]
pub(super) fn across_gray<L: Lanes>(lanes: L, across: &Across<'_>, line: &[u8], out: &mut [u8]) {
    let table = across.table;
    if table.places().is_empty() {
        return portable::resize::across_gray(across, line, out);
    }
    let each = across.taps.starts.len();
    for (n, out) in out[..across.lines * each].chunks_exact_mut(each).enumerate() {
        let line = &line[n * across.stride..];
        match table.parts {
            1 => steps::<L, 4, MANY, 1>(lanes, table, line, out),
            _ => steps::<L, 4, MANY, 2>(lanes, table, line, out),
        }
    }
}

/// In place of a number of units: any.
const MANY: usize = 0;

/// Computes all steps of a line; stores the first `EACH` bytes of each group of a step. Weights have
/// `PARTS` parts.
#[inline(always)]
fn steps<L: Lanes, const EACH: usize, const UNITS: usize, const PARTS: usize>(
    lanes: L,
    table: &Table,
    line: &[u8],
    out: &mut [u8],
) {
    let mut rows = out.chunks_exact_mut(EACH * L::GROUPS);
    let mut steps = table.steps(L::GROUPS);
    // In this order: no step is taken for the incomplete part.
    for (part, (places, weights)) in (&mut rows).zip(&mut steps) {
        let found = step::<L, EACH, UNITS, PARTS>(lanes, table, Step { places, weights }, line);
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
        let groups = lanes.groups(step::<L, EACH, UNITS, PARTS>(lanes, table, last, line));
        for (rest, group) in rest.chunks_mut(EACH).zip(groups) {
            rest.copy_from_slice(&group[..rest.len()]);
        }
    }
}

/// Computes a step.
#[inline(always)]
fn step<L: Lanes, const EACH: usize, const UNITS: usize, const PARTS: usize>(
    lanes: L,
    table: &Table,
    step: Step<'_>,
    line: &[u8],
) -> L::V {
    match (EACH, UNITS) {
        (4, _) => gray::<L, PARTS>(lanes, table, step, line),
        (_, MANY) => rgb_many::<L, PARTS>(lanes, table, step, line),
        _ => rgb::<L, UNITS, PARTS>(lanes, table, step, line),
    }
}

/// Sums of at most five pixels, which are in one window.
#[inline(always)]
fn rgb<L: Lanes, const UNITS: usize, const PARTS: usize>(
    lanes: L,
    table: &Table,
    step: Step<'_>,
    line: &[u8],
) -> L::V {
    let Step { places, weights } = step;
    let weights = &weights[..4 * UNITS * PARTS * L::GROUPS];
    let mut sums = [sums_at_start::<L, PARTS>(lanes, table.bits); 4];
    for i in 0..4 {
        let pixels = lanes.load_groups(line, places, i * L::GROUPS, 0);
        for unit in 0..UNITS {
            let values = lanes.shuffle(pixels, &PAIRS[unit]);
            let factors = &weights[(i * UNITS + unit) * PARTS * L::GROUPS..];
            add::<L, PARTS>(lanes, &mut sums[i], values, factors);
        }
    }
    lanes.shuffle(bytes(lanes, totals(lanes, sums), table.bits), &TRIPLES)
}

#[inline(always)]
fn rgb_many<L: Lanes, const PARTS: usize>(
    lanes: L,
    table: &Table,
    step: Step<'_>,
    line: &[u8],
) -> L::V {
    let Step { places, weights } = step;
    let mut sums = [sums_at_start::<L, PARTS>(lanes, table.bits); 4];
    let vectors = weights.chunks_exact(table.units * PARTS * L::GROUPS);
    for (i, (sums, weights)) in sums.iter_mut().zip(vectors).enumerate() {
        for (n, two) in weights.chunks(2 * PARTS * L::GROUPS).enumerate() {
            let pixels = lanes.load_groups(line, places, i * L::GROUPS, 12 * n);
            for (factors, table) in two.chunks_exact(PARTS * L::GROUPS).zip(&PAIRS) {
                add::<L, PARTS>(lanes, sums, lanes.shuffle(pixels, table), factors);
            }
        }
    }
    lanes.shuffle(bytes(lanes, totals(lanes, sums), table.bits), &TRIPLES)
}

/// Each group's first four bytes are its pixels.
#[inline(always)]
fn gray<L: Lanes, const PARTS: usize>(
    lanes: L,
    table: &Table,
    step: Step<'_>,
    line: &[u8],
) -> L::V {
    let Step { places, weights } = step;
    let zero = lanes.all_16(0);
    let mut sums = [[zero; PARTS]; 4];
    let vectors = weights.chunks_exact(table.units * PARTS * L::GROUPS);
    for (i, (sums, weights)) in sums.iter_mut().zip(vectors).enumerate() {
        for (n, factors) in weights.chunks_exact(PARTS * L::GROUPS).enumerate() {
            let pixels = lanes.load_groups(line, places, i * L::GROUPS, 8 * n);
            add::<L, PARTS>(lanes, sums, lanes.zip_low_8(pixels, zero), factors);
        }
    }
    let sum = sums_of_groups(lanes, totals(lanes, sums));
    let sum = lanes.add_32(rounding(lanes, table.bits), sum);
    bytes(lanes, [sum, zero, zero, zero], table.bits)
}

/// Adds values times their weights, part by part.
#[inline(always)]
fn add<L: Lanes, const PARTS: usize>(
    lanes: L,
    sums: &mut [L::V; PARTS],
    values: L::V,
    factors: &[[u8; 16]],
) {
    for part in 0..PARTS {
        let factors = &factors[part * L::GROUPS..][..L::GROUPS];
        sums[part] = lanes.dot_add(sums[part], values, lanes.load(factors.as_flattened()));
    }
}

/// Joins the sums of the parts of each vector.
#[inline(always)]
fn totals<L: Lanes, const PARTS: usize>(lanes: L, sums: [[L::V; PARTS]; 4]) -> [L::V; 4] {
    let mut totals = [sums[0][0], sums[1][0], sums[2][0], sums[3][0]];
    if PARTS == 2 {
        for i in 0..4 {
            totals[i] = joined(lanes, sums[i][0], sums[i][1]);
        }
    }
    totals
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
