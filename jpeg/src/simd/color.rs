//! Color conversion in vectors, for every color equal to `portable::lines`.
//!
//! Lines shorter than a vector use the set with shorter ones; the last vector of a line overlaps
//! the one before it.

use super::lanes::{Lanes, NONE, starts};
use super::portable;

/// Fixed-point factors of 16 bits: 1.402 - 1, in 2^-15. The rounding of its last bit changes
/// nothing for chroma of 8 bits (a test checks all values).
const RED_CR: i16 = 13173;
/// 1.772 - 2, in 2^-15.
const BLUE_CB: i16 = -7471;
/// -0.34414, in 2^-16.
const GREEN_CB: i16 = -22554;
/// 1 - 0.71414, in 2^-16.
const GREEN_CR: i16 = (65536 - 46802) as i16;

/// Red, green and blue of half a group each, before saturation, in 16 bits.
type Rgb<L> = [<L as Lanes>::V; 3];

#[inline(always)]
pub(super) fn ycc_rgb<L: Lanes>(lanes: L, y: &[u8], cb: &[u8], cr: &[u8], out: &mut [u8]) {
    let n = y.len();
    if n < L::BYTES {
        return (lanes.shorter().ycc_rgb)(y, cb, cr, out);
    }
    let cb = &cb[..n];
    let cr = &cr[..n];
    let out = &mut out[..3 * n];
    let zero = lanes.all_16(0);
    for at in starts(n, L::BYTES) {
        let y = lanes.load(&y[at..]);
        let cb = lanes.load(&cb[at..]);
        let cr = lanes.load(&cr[at..]);
        let low = rgb(
            lanes,
            lanes.zip_low_8(y, zero),
            lanes.zip_low_8(cb, zero),
            lanes.zip_low_8(cr, zero),
        );
        let high = rgb(
            lanes,
            lanes.zip_high_8(y, zero),
            lanes.zip_high_8(cb, zero),
            lanes.zip_high_8(cr, zero),
        );
        lanes.store_three(triples(lanes, low, high), &mut out[3 * at..][..3 * L::BYTES]);
    }
}

#[inline(always)]
fn rgb<L: Lanes>(lanes: L, y: L::V, cb: L::V, cr: L::V) -> Rgb<L> {
    let middle = lanes.all_16(128);
    let cb = lanes.sub_16(cb, middle);
    let cr = lanes.sub_16(cr, middle);
    let red = lanes.add_16(cr, lanes.mul_round_16(cr, lanes.all_16(RED_CR)));
    let blue = lanes.add_16(lanes.add_16(cb, cb), lanes.mul_round_16(cb, lanes.all_16(BLUE_CB)));
    let low = green(lanes, lanes.zip_low_16(cb, cr));
    let high = green(lanes, lanes.zip_high_16(cb, cr));
    let green = lanes.sub_16(lanes.narrow_32(low, high), cr);
    [lanes.add_16(y, red), lanes.add_16(y, green), lanes.add_16(y, blue)]
}

/// Returns the chroma part of green, but for -1 times the second.
#[inline(always)]
fn green<L: Lanes>(lanes: L, chroma: L::V) -> L::V {
    let sum = lanes.dot(chroma, lanes.pair_16(GREEN_CB, GREEN_CR));
    lanes.right_32::<16>(lanes.add_32(sum, lanes.all_32(1 << 15)))
}

/// Interleaves bytes: each group's 16 pixels, 16 bytes per vector.
#[inline(always)]
fn triples<L: Lanes>(lanes: L, low: Rgb<L>, high: Rgb<L>) -> [L::V; 3] {
    // Groups of 8 red and 8 green; the middle one of pixels 8-11 and 4-7.
    let first = lanes.narrow_to_unsigned(low[0], low[1]);
    let third = lanes.narrow_to_unsigned(high[0], high[1]);
    let second = lanes.blend_32(first, third);
    let blue = lanes.narrow_to_unsigned(low[2], high[2]);
    [
        lanes.or(lanes.shuffle(first, &FIRST[0]), lanes.shuffle(blue, &FIRST[1])),
        lanes.or(lanes.shuffle(second, &SECOND[0]), lanes.shuffle(blue, &SECOND[1])),
        lanes.or(lanes.shuffle(third, &THIRD[0]), lanes.shuffle(blue, &THIRD[1])),
    ]
}

/// Tables of red with green, and of blue, for one third of the 48 bytes of 16 pixels. The red of
/// pixel p is at p % 8, its green 8 bytes later.
const fn tables(third: usize) -> [[u8; 16]; 2] {
    let mut tables = [[NONE; 16]; 2];
    let mut i = 0;
    while i < 16 {
        let pixel = (16 * third + i) / 3;
        let channel = (16 * third + i) % 3;
        if channel == 2 {
            tables[1][i] = pixel as u8;
        } else {
            tables[0][i] = (pixel % 8 + 8 * channel) as u8;
        }
        i += 1;
    }
    tables
}

const FIRST: [[u8; 16]; 2] = tables(0);
const SECOND: [[u8; 16]; 2] = tables(1);
const THIRD: [[u8; 16]; 2] = tables(2);

#[inline(always)]
pub(super) fn gray_rgb<L: Lanes>(lanes: L, gray: &[u8], out: &mut [u8]) {
    let n = gray.len();
    if n < L::BYTES {
        return (lanes.shorter().gray_rgb)(gray, out);
    }
    let out = &mut out[..3 * n];
    for at in starts(n, L::BYTES) {
        let gray = lanes.load(&gray[at..]);
        let v = [
            lanes.shuffle(gray, &GRAY[0]),
            lanes.shuffle(gray, &GRAY[1]),
            lanes.shuffle(gray, &GRAY[2]),
        ];
        lanes.store_three(v, &mut out[3 * at..][..3 * L::BYTES]);
    }
}

/// Every byte three times.
const GRAY: [[u8; 16]; 3] = {
    let mut tables = [[0; 16]; 3];
    let mut i = 0;
    while i < 48 {
        tables[i / 16][i % 16] = (i / 3) as u8;
        i += 1;
    }
    tables
};

/// Longer vectors would have to be put together from parts of three.
#[inline(always)]
pub(super) fn rgb_planes<L: Lanes>(
    lanes: L,
    rgb: &[u8],
    red: &mut [u8],
    green: &mut [u8],
    blue: &mut [u8],
) {
    let n = red.len();
    if n < L::BYTES || L::BYTES != GROUP {
        return (lanes.shorter().rgb_planes)(rgb, red, green, blue);
    }
    let rgb = &rgb[..3 * n];
    for at in starts(n, GROUP) {
        let thirds = [
            lanes.load(&rgb[3 * at..]),
            lanes.load(&rgb[3 * at + GROUP..]),
            lanes.load(&rgb[3 * at + 2 * GROUP..]),
        ];
        lanes.store(color(lanes, thirds, &COLORS[0]), &mut red[at..n]);
        lanes.store(color(lanes, thirds, &COLORS[1]), &mut green[at..n]);
        lanes.store(color(lanes, thirds, &COLORS[2]), &mut blue[at..n]);
    }
}

#[inline(always)]
fn color<L: Lanes>(lanes: L, thirds: [L::V; 3], tables: &[[u8; GROUP]; 3]) -> L::V {
    let first = lanes.shuffle(thirds[0], &tables[0]);
    let second = lanes.shuffle(thirds[1], &tables[1]);
    lanes.or(lanes.or(first, second), lanes.shuffle(thirds[2], &tables[2]))
}

/// The pixels of a group.
const GROUP: usize = 16;

/// For each color, where the bytes of 16 pixels are in each third of their 48 bytes.
const COLORS: [[[u8; GROUP]; 3]; 3] = {
    let mut tables = [[[NONE; GROUP]; 3]; 3];
    let mut at = 0;
    while at < 3 * GROUP {
        tables[at % 3][at / GROUP][at / 3] = (at % GROUP) as u8;
        at += 1;
    }
    tables
};

/// The plain loop, which becomes vectors of the set.
#[inline(always)]
pub(super) fn floats<L>(_: L, bytes: &[u8], by: [f32; 2], out: &mut [f32]) {
    portable::lines::floats(bytes, by, out);
}
