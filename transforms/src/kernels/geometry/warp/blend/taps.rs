//! `Taps`: the pixels that are read for those of a block, and their weights.

// Lanes of several arrays are indexed alike; iterators over all of them would hide that.
#![allow(clippy::needless_range_loop)]

use tarflume_image::ImageSize;

use super::super::nearest::WHOLE;

/// Pixels that are blended at once. Rows of points have room for a multiple.
pub(in super::super) const BLOCK: usize = 32;

/// A value for each pixel of a block.
pub(super) type Lanes<T> = [T; BLOCK];

/// The taps of the pixels of a block on both axes.
pub(super) struct Taps<const TAPS: usize> {
    pub(super) across: Axis<TAPS>,
    pub(super) down: Axis<TAPS>,
    /// The sum of the weights: the part of the pixel that is not the fill's.
    pub(super) known: Lanes<f32>,
}

impl<const TAPS: usize> Taps<TAPS> {
    #[inline(always)]
    pub(super) fn new(size: ImageSize) -> Taps<TAPS> {
        let across = Axis::new(size.width as usize);
        let down = Axis::new(size.height as usize);
        Taps { across, down, known: [0.0; BLOCK] }
    }

    /// Finds the taps of the pixels at these points.
    #[inline(always)]
    pub(super) fn find(&mut self, xs: &Lanes<f32>, ys: &Lanes<f32>) {
        self.across.find(xs);
        self.down.find(ys);
        for at in 0..BLOCK {
            self.known[at] = self.across.sum(at) * self.down.sum(at);
        }
    }

    /// The first tap of a pixel, as a number of pixels of a picture of this width.
    #[inline(always)]
    pub(super) fn first(&self, at: usize, width: u32) -> usize {
        self.down.first[at].wrapping_mul(width).wrapping_add(self.across.first[at]) as usize
    }

    /// Whether the first tap of each pixel follows that of the pixel before it, in one row.
    #[inline(always)]
    pub(super) fn are_in_line(&self) -> bool {
        let across = &self.across.first;
        let down = &self.down.first;
        let mut other = 0;
        for at in 0..BLOCK {
            other |= across[at] ^ across[0].wrapping_add(at as u32);
            other |= down[at] ^ down[0];
        }
        other == 0
    }

    /// Whether all pixels are the fill's.
    #[inline(always)]
    pub(super) fn are_outside(&self) -> bool {
        let mut known = 0;
        for at in 0..BLOCK {
            // Without its sign.
            known |= self.known[at].to_bits() << 1;
        }
        known == 0
    }

    /// Rows from the first row of taps to the one with this number: none in a picture that is too low.
    #[inline(always)]
    pub(super) fn rows_to(&self, tap: usize) -> usize {
        if tap < self.down.length { tap } else { 0 }
    }
}

/// The taps of the pixels of a block on one axis.
pub(super) struct Axis<const TAPS: usize> {
    /// Pixels of the picture.
    length: usize,
    /// The pixel of the first tap. The others follow.
    pub(super) first: Lanes<u32>,
    pub(super) weights: [Lanes<f32>; TAPS],
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
        let mut limited = [0.0; BLOCK];
        let mut firsts = [0.0; BLOCK];
        let mut moved = 0;
        for at in 0..BLOCK {
            let place = smaller(larger(places[at], -reach), most);
            let nearest = place + WHOLE - WHOLE;
            let floor = if nearest > place { nearest - 1.0 } else { nearest };
            let first = smaller(larger(floor + 1.0 - reach, 0.0), most_first);
            moved |= first.to_bits() ^ (floor + 1.0 - reach).to_bits();
            self.first[at] = (first + WHOLE).to_bits().wrapping_sub(WHOLE.to_bits());
            limited[at] = place;
            firsts[at] = first;
        }
        for (tap, weights) in self.weights.iter_mut().enumerate() {
            let is_near = tap + 1 == TAPS / 2 || tap == TAPS / 2;
            for at in 0..BLOCK {
                let distance = (limited[at] - (firsts[at] + tap as f32)).abs();
                weights[at] = if TAPS == 2 {
                    larger(1.0 - distance, 0.0)
                } else if moved != 0 {
                    cubic(distance)
                } else if is_near {
                    near(distance)
                } else {
                    far(distance)
                };
            }
        }
        for missing in self.weights.iter_mut().skip(self.length) {
            missing.fill(0.0);
        }
    }

    #[inline(always)]
    fn sum(&self, at: usize) -> f32 {
        let mut sum = 0.0;
        for weights in &self.weights {
            sum += weights[at];
        }
        sum
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

/// The second factor of cubic convolution.
const A: f32 = -0.75;

/// The weight of a tap at this distance, by cubic convolution.
#[inline(always)]
fn cubic(distance: f32) -> f32 {
    let outer = if distance < 2.0 { far(distance) } else { 0.0 };
    if distance <= 1.0 { near(distance) } else { outer }
}

/// [`cubic`] of a distance of 0 to 1.
#[inline(always)]
fn near(distance: f32) -> f32 {
    ((A + 2.0) * distance - (A + 3.0)) * distance * distance + 1.0
}

/// [`cubic`] of a distance of 1 to 2: exactly 0 at both.
#[inline(always)]
fn far(distance: f32) -> f32 {
    ((A * distance - 5.0 * A) * distance + 8.0 * A) * distance - 4.0 * A
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_weights_inside_a_picture_are_those_at_its_edges() {
        for distance in [0.0, 1.0, 2.0] {
            let parts = [near(distance), far(distance)];
            assert!(parts.contains(&cubic(distance)), "{distance}: {parts:?}");
        }
        // The parts meet in 0, so it does not matter which of both computes it.
        assert_eq!([near(1.0), far(1.0), far(2.0)].map(f32::to_bits), [0; 3]);
        let mut inside = Axis::<4>::new(100);
        let mut edge = Axis::<4>::new(100);
        for step in 0..64 {
            let places = std::array::from_fn(|at| 5.0 + at as f32 + step as f32 / 64.0);
            inside.find(&places);
            // One place beyond the picture: the weights of the block are those of moved taps.
            let mut with_edge = places;
            with_edge[31] = -1.0;
            edge.find(&with_edge);
            for at in 0..31 {
                assert_eq!(inside.first[at], edge.first[at]);
                for tap in 0..4 {
                    assert_eq!(inside.weights[tap][at], edge.weights[tap][at], "{step} {at} {tap}");
                }
            }
        }
    }
}
