//! `RandomResizedCrop`, as torchvision defines it.
//!
//! Pure arithmetic on sizes. The same seed must give the same box on every machine, so it calls no
//! function whose last digit may differ between systems.

use std::ops::RangeInclusive;

use crate::error::{Error, Result};
use crate::picture::geometry::{Cut, Extent, ImageSize, Placement, Transform};
use crate::picture::random::Random;

/// A crop of random area and shape at a random place, resized, perhaps mirrored.
///
/// The algorithm is that of torchvision's `RandomResizedCrop.get_params`: up to ten times, area
/// uniform in `scale`, logarithm of width over height uniform in `ratio`, place uniform; if none
/// fits, the largest centered crop whose shape is within `ratio`.
///
/// ```
/// use tarflume::{Image, RandomResizedCrop};
///
/// let crop = RandomResizedCrop::new(224).scale(0.2..=1.0).flip(0.5);
/// let pictures = Image::new("jpg", crop);
/// ```
#[derive(Debug, Clone)]
pub struct RandomResizedCrop {
    size: ImageSize,
    scale: RangeInclusive<f64>,
    ratio: RangeInclusive<f64>,
    flip: f64,
    log_span: f64,
}

impl RandomResizedCrop {
    /// Crops of `size`: one number for a square, or `(height, width)`; 8 to 100 % of the area,
    /// shapes from 3:4 to 4:3, never mirrored.
    pub fn new(size: impl Into<ImageSize>) -> RandomResizedCrop {
        let crop = RandomResizedCrop {
            size: size.into(),
            scale: 0.08..=1.0,
            ratio: 1.0..=1.0,
            flip: 0.0,
            log_span: 0.0,
        };
        crop.ratio(3.0 / 4.0..=4.0 / 3.0)
    }

    /// The part of the picture's area that a crop has.
    #[must_use]
    pub fn scale(mut self, scale: RangeInclusive<f64>) -> Self {
        self.scale = scale;
        self
    }

    /// Width over height of a crop.
    #[must_use]
    pub fn ratio(mut self, ratio: RangeInclusive<f64>) -> Self {
        self.log_span = ln(ratio.end() / ratio.start());
        self.ratio = ratio;
        self
    }

    /// The probability of mirroring left to right.
    #[must_use]
    pub fn flip(mut self, probability: f64) -> Self {
        self.flip = probability;
        self
    }

    fn cut(&self, source: ImageSize, random: &mut Random) -> Cut {
        for _ in 0..10 {
            let area =
                source.pixels() as f64 * random.between(*self.scale.start(), *self.scale.end());
            let ratio = self.ratio.start() * exp(random.between(0.0, self.log_span));
            let width = (area * ratio).sqrt().round_ties_even();
            let height = (area / ratio).sqrt().round_ties_even();
            let fits = |side: f64, all: u32| 0.0 < side && side <= f64::from(all);
            if fits(width, source.width) && fits(height, source.height) {
                let size = ImageSize::new(width as u32, height as u32);
                let top = random.below(u64::from(source.height - size.height) + 1) as u32;
                let left = random.below(u64::from(source.width - size.width) + 1) as u32;
                return Cut { left, top, size };
            }
        }
        self.centered(source)
    }

    /// What is taken where no random crop fits.
    fn centered(&self, source: ImageSize) -> Cut {
        let (width, height) = (f64::from(source.width), f64::from(source.height));
        let ratio = width / height;
        let side = |length: f64, all: u32| (length.round_ties_even() as u32).clamp(1, all);
        let size = if ratio < *self.ratio.start() {
            ImageSize::new(source.width, side(width / self.ratio.start(), source.height))
        } else if ratio > *self.ratio.end() {
            ImageSize::new(side(height * self.ratio.end(), source.width), source.height)
        } else {
            source
        };
        let (left, top) = ((source.width - size.width) / 2, (source.height - size.height) / 2);
        Cut { left, top, size }
    }
}

impl Transform for RandomResizedCrop {
    fn extent(&self) -> Extent {
        Extent::Fixed(self.size)
    }

    fn place(&self, source: ImageSize, random: &mut Random) -> Result<Placement> {
        let mut placement = Placement::of(self.cut(source, random), self.size);
        placement.flip = random.chance(self.flip);
        Ok(placement)
    }

    fn validate(&self) -> Result<()> {
        let (scale, ratio) = (&self.scale, &self.ratio);
        let range = |r: &RangeInclusive<f64>| 0.0 < *r.start() && r.start() <= r.end();
        if !range(scale) || *scale.end() > 1.0 {
            let text = format!("scale {scale:?}: it must lie within 0..=1, low end first");
            return Err(Error::usage(text));
        }
        if !range(ratio) || !ratio.end().is_finite() {
            let text = format!("ratio {ratio:?}: it must be above 0, low end first");
            return Err(Error::usage(text));
        }
        if !(0.0..=1.0).contains(&self.flip) {
            return Err(Error::usage(format!("flip {}: a probability is 0 to 1", self.flip)));
        }
        match self.size.pixels() {
            0 => Err(Error::usage(format!("crops of {} pixels are asked for", self.size))),
            _ => Ok(()),
        }
    }
}

/// e to the power of `x`, by basic operations alone, which are the same on every machine; the C
/// library's last digit is not. Relative error below 1e-14 for |x| < 20.
fn exp(x: f64) -> f64 {
    let halvings = 8;
    let small = x / f64::from(1 << halvings);
    let mut sum = 1.0;
    for n in (1..=10).rev() {
        sum = 1.0 + sum * small / f64::from(n);
    }
    (0..halvings).fold(sum, |power, _| power * power)
}

/// The natural logarithm of `x` > 0, by basic operations alone: Newton's method on [`exp`].
fn ln(x: f64) -> f64 {
    if !(x.is_finite() && x > 0.0) {
        return 0.0; // refused by `validate`
    }
    let mut log = 0.0;
    for _ in 0..200 {
        let power = exp(log);
        log += 2.0 * (x - power) / (x + power);
    }
    log
}

#[cfg(test)]
mod tests;
