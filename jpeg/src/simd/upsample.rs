//! Upsampling in vectors, equal to `portable::lines`; see there for the filter.
//!
//! Lines shorter than a vector use the set with shorter ones; the last vector of a line overlaps
//! the one before it.

use super::lanes::{Lanes, starts};

#[inline(always)]
pub(super) fn h2v1<L: Lanes>(lanes: L, line: &[u8], out: &mut [u8]) {
    let n = line.len().saturating_sub(2);
    if n < L::BYTES {
        return (lanes.shorter().h2v1)(line, out);
    }
    let out = &mut out[..2 * n];
    for at in starts(n, L::BYTES) {
        let line = &line[at..][..L::BYTES + 2];
        let [left, middle, right] = [&line[0..], &line[1..], &line[2..]];
        let [left, middle, right] = [lanes.load(left), lanes.load(middle), lanes.load(right)];
        let even = lanes.mean_down(middle, lanes.mean_up(middle, left));
        let odd = lanes.mean_up(middle, lanes.mean_down(middle, right));
        let low = lanes.zip_low_8(even, odd);
        let high = lanes.zip_high_8(even, odd);
        lanes.store_zipped(low, high, &mut out[2 * at..][..2 * L::BYTES]);
    }
}

#[inline(always)]
pub(super) fn h2v2<L: Lanes>(lanes: L, near: &[u8], far: &[u8], out: &mut [u8]) {
    let n = near.len().saturating_sub(2);
    if n < L::BYTES {
        return (lanes.shorter().h2v2)(near, far, out);
    }
    let far = &far[..n + 2];
    let out = &mut out[..2 * n];
    for at in starts(n, L::BYTES) {
        let near = &near[at..][..L::BYTES + 2];
        let far = &far[at..][..L::BYTES + 2];
        let left = column(lanes, near, far);
        let middle = column(lanes, &near[1..], &far[1..]);
        let right = column(lanes, &near[2..], &far[2..]);
        let low = mixed(lanes, left[0], middle[0], right[0]);
        let high = mixed(lanes, left[1], middle[1], right[1]);
        lanes.store_zipped(low, high, &mut out[2 * at..][..2 * L::BYTES]);
    }
}

/// Computes three times the near plus the far: lower and upper halves of groups, in 16 bits.
#[inline(always)]
fn column<L: Lanes>(lanes: L, near: &[u8], far: &[u8]) -> [L::V; 2] {
    let near = lanes.load(near);
    let far = lanes.load(far);
    let weights = lanes.all_16(i16::from_le_bytes([3, 1]));
    let low = lanes.dot_8(lanes.zip_low_8(near, far), weights);
    [low, lanes.dot_8(lanes.zip_high_8(near, far), weights)]
}

/// Interleaves the even and the odd samples.
#[inline(always)]
fn mixed<L: Lanes>(lanes: L, left: L::V, middle: L::V, right: L::V) -> L::V {
    let thrice = lanes.add_16(lanes.add_16(middle, middle), middle);
    let even = lanes.add_16(lanes.add_16(thrice, lanes.all_16(8)), left);
    let odd = lanes.add_16(lanes.add_16(thrice, lanes.all_16(7)), right);
    let even = lanes.right_16::<4>(even);
    let odd = lanes.and(lanes.left_16::<4>(odd), lanes.all_16(0xff00u16.cast_signed()));
    lanes.or(even, odd)
}

#[inline(always)]
pub(super) fn h1v2<L: Lanes>(lanes: L, near: &[u8], far: &[u8], bias: u8, out: &mut [u8]) {
    let n = near.len();
    if n < L::BYTES || !(1..=2).contains(&bias) {
        return (lanes.shorter().h1v2)(near, far, bias, out);
    }
    let far = &far[..n];
    let out = &mut out[..n];
    for at in starts(n, L::BYTES) {
        let near = lanes.load(&near[at..]);
        let far = lanes.load(&far[at..]);
        let mean = if bias == 1 {
            lanes.mean_down(near, lanes.mean_up(near, far))
        } else {
            lanes.mean_up(near, lanes.mean_down(near, far))
        };
        lanes.store(mean, &mut out[at..]);
    }
}
