//! The field of an elastic transform: uniform noise, smoothed by a Gaussian.

use tarflume_image::{ImageSize, Random};

use crate::kernels::geometry::moves::mirrored;
use crate::kernels::sets::{Set, wide};
use crate::numbers::exact::exp;

/// What a field is made from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Field {
    /// Of the picture.
    pub(crate) size: ImageSize,
    /// Strength across and down in pixels.
    pub(crate) alpha: [f64; 2],
    /// Smoothness across and down in pixels.
    pub(crate) sigma: [f64; 2],
    /// Of the noise.
    pub(crate) seed: u64,
}

impl Field {
    /// The numbers that `fill` needs room for. The first are the field.
    pub(crate) fn room(&self) -> usize {
        let most = Taps::of(self.sigma[0]).count.max(Taps::of(self.sigma[1]).count);
        let lines = most.saturating_mul(3).saturating_add(self.size.width as usize);
        self.pixels().saturating_mul(3).saturating_add(lines)
    }

    /// The pixels of the picture, and of each half of the field.
    pub(crate) fn pixels(&self) -> usize {
        self.size.pixels() as usize
    }

    /// Writes the displacements across of all pixels, then those down, in halves of the picture's side.
    ///
    /// The noise is two numbers of 24 bits from each 64 random bits. That is frozen.
    pub(crate) fn fill(&self, set: Set, room: &mut [f32]) {
        let mut random = Random::new(self.seed);
        let halves = room.split_at_mut(2 * self.pixels());
        let sides = [self.size.width, self.size.height];
        for (axis, half) in halves.0.chunks_exact_mut(self.pixels().max(1)).enumerate() {
            for pair in half.chunks_mut(2) {
                let bits = random.bits();
                for (value, bits) in pair.iter_mut().zip([bits >> 40, bits >> 8 & 0xff_ffff]) {
                    *value = bits as f32 * (1.0 / 8_388_608.0) - 1.0;
                }
            }
            if self.sigma[axis] > 0.0 {
                self.smooth(set, Taps::of(self.sigma[axis]), half, halves.1);
            }
            let alpha = self.alpha[axis] as f32;
            let side = sides[axis] as f32;
            half.iter_mut().for_each(|value| *value = *value * alpha / side);
        }
    }

    /// Smooths with the same number of taps across and down.
    fn smooth(&self, set: Set, taps: Taps, values: &mut [f32], room: &mut [f32]) {
        let width = self.size.width as usize;
        let across = room.split_at_mut(self.pixels());
        let weights = across.1.split_at_mut(taps.count);
        let line = &mut weights.1[..width + taps.count - 1];
        taps.weights(self.sigma[0], weights.0);
        for (from, to) in values.chunks_exact(width).zip(across.0.chunks_exact_mut(width)) {
            for (at, value) in (-(taps.radius() as i64)..).zip(line.iter_mut()) {
                *value = from[mirrored(at, width as i64 - 1) as usize];
            }
            to.fill(0.0);
            for (tap, weight) in weights.0.iter().enumerate() {
                add(set, &line[tap..][..width], *weight, to);
            }
        }
        taps.weights(self.sigma[1], weights.0);
        let last = i64::from(self.size.height) - 1;
        for (row, to) in values.chunks_exact_mut(width).enumerate() {
            to.fill(0.0);
            for (at, weight) in (row as i64 - taps.radius() as i64..).zip(weights.0.iter()) {
                let from = &across.0[mirrored(at, last) as usize * width..][..width];
                add(set, from, *weight, to);
            }
        }
    }
}

wide! {
    fn add(from: &[f32], weight: f32, to: &mut [f32]) {
        for (to, from) in to.iter_mut().zip(from) {
            *to += from * weight;
        }
    }
}

/// The taps of a Gaussian: as many as torchvision has for a standard deviation.
#[derive(Debug, Clone, Copy)]
struct Taps {
    /// Odd.
    count: usize,
}

impl Taps {
    fn of(sigma: f64) -> Taps {
        Taps { count: (8.0 * sigma + 1.0) as usize | 1 }
    }

    fn radius(self) -> usize {
        self.count / 2
    }

    /// Writes the weights of a Gaussian, whose sum is 1.
    fn weights(self, sigma: f64, weights: &mut [f32]) {
        let radius = self.radius();
        let exponent = 0.5 / (sigma * sigma);
        let sum = (0..self.count).map(|at| gauss(exponent, at.abs_diff(radius))).sum::<f64>();
        for (at, weight) in weights.iter_mut().enumerate() {
            *weight = (gauss(exponent, at.abs_diff(radius)) / sum) as f32;
        }
    }
}

fn gauss(exponent: f64, distance: usize) -> f64 {
    exp(-exponent * (distance * distance) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(set: Set, of: &Field) -> Vec<f32> {
        let mut room = vec![f32::NAN; of.room()];
        of.fill(set, &mut room);
        room.truncate(2 * of.pixels());
        room
    }

    #[test]
    fn every_set_has_the_same_field() {
        for [width, height] in [[1, 1], [1, 50], [50, 1], [37, 23], [3, 200]] {
            let size = ImageSize::new(width, height);
            for sigma in [[0.0, 0.0], [0.4, 2.0], [5.0, 5.0]] {
                let of = Field { size, alpha: [50.0, 30.0], sigma, seed: 7 };
                let expected = field(Set::Portable, &of);
                assert!(expected.iter().all(|value| value.is_finite()));
                for set in Set::all() {
                    assert_eq!(field(set, &of), expected, "{set:?} {size:?} {sigma:?}");
                }
            }
        }
    }

    #[test]
    fn smoothing_leaves_the_variance_of_the_gaussian() {
        let size = ImageSize::new(400, 300);
        let of = Field { size, alpha: [400.0, 300.0], sigma: [2.0, 3.0], seed: 3 };
        let values = field(Set::best(), &of);
        for half in values.chunks(of.pixels()) {
            let variance = half.iter().map(|v| f64::from(v * v)).sum::<f64>() / half.len() as f64;
            // Of the noise 1/3; each axis divides by 2 sqrt(pi) sigma.
            let expected = 1.0 / 3.0 / (4.0 * std::f64::consts::PI * 2.0 * 3.0);
            assert!((variance / expected - 1.0).abs() < 0.15, "{variance} {expected}");
        }
    }
}
