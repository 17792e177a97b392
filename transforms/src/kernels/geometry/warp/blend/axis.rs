//! `Axis`: the taps of a block of pixels on one axis, and their weights.

// Lanes of several arrays are indexed alike; iterators over all of them would hide that.
#![allow(clippy::needless_range_loop)]

use super::super::nearest::WHOLE;

/// Pixels that are blended at once. Rows of points have room for a multiple.
pub(in super::super) const BLOCK: usize = 32;

/// The taps of the pixels of a block on one axis.
pub(super) struct Axis<const TAPS: usize> {
    /// Pixels of the picture.
    pub(super) length: usize,
    /// The pixel of the first tap. The others follow.
    pub(super) first: [u32; BLOCK],
    pub(super) weights: [[f32; BLOCK]; TAPS],
}

impl<const TAPS: usize> Axis<TAPS> {
    #[inline(always)]
    pub(super) fn new(length: usize) -> Axis<TAPS> {
        Axis { length, first: [0; BLOCK], weights: [[0.0; BLOCK]; TAPS] }
    }

    /// Finds the taps of the pixels at these places.
    #[inline(always)]
    pub(super) fn find(&mut self, places: &[f32; BLOCK]) {
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

    /// The sum of each pixel's weights.
    #[inline(always)]
    pub(super) fn sums(&self) -> [f32; BLOCK] {
        let mut sums = [0.0; BLOCK];
        for weights in &self.weights {
            for at in 0..BLOCK {
                sums[at] += weights[at];
            }
        }
        sums
    }

    /// Whether the first tap of each pixel follows that of the pixel before it.
    #[inline(always)]
    pub(super) fn follows(&self) -> bool {
        let mut other = 0;
        for at in 0..BLOCK {
            other |= self.first[at] ^ self.first[0].wrapping_add(at as u32);
        }
        other == 0
    }

    /// Whether all pixels have the same taps.
    #[inline(always)]
    pub(super) fn is_level(&self) -> bool {
        let mut other = 0;
        for at in 0..BLOCK {
            other |= self.first[at] ^ self.first[0];
        }
        other == 0
    }
}

/// The larger number, or `limit` for what is no number.
#[inline(always)]
pub(super) fn larger(place: f32, limit: f32) -> f32 {
    if place > limit { place } else { limit }
}

#[inline(always)]
pub(super) fn smaller(place: f32, limit: f32) -> f32 {
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
