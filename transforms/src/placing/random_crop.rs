//! `RandomResizedCrop`, as torchvision defines it.
//!
//! Pure arithmetic on sizes. The same seed must give the same box on every machine, so this module uses no function of
//! the C library, whose last digit may differ between systems.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use tarflume_image::{Cut, Extent, ImageSize, Placement, Random, Transform};
use tarflume_types::{Error, Result};

use crate::numbers::exact::{exp, ln};
use crate::text_form::{Named, text_in_serde};

text_in_serde!(RandomResizedCrop);

/// A crop of random area and aspect ratio at a random position, resized and optionally mirrored.
///
/// The algorithm is torchvision's `RandomResizedCrop.get_params`. Up to ten times, it draws the area uniformly in
/// `scale` and the logarithm of width over height uniformly in `ratio`. The first box that fits gets a uniform
/// position. If none fits, the largest centered box with an aspect ratio within `ratio` is used.
///
/// ```
/// use tarflume::{Image, RandomResizedCrop};
///
/// let crop = RandomResizedCrop::new(224).scale(0.2..=1.0).flip(0.5);
/// assert_eq!("224, scale 0.2 to 1, flip 0.5".parse::<RandomResizedCrop>()?, crop);
/// let pictures = Image::new("jpg", crop);
/// # Ok::<(), tarflume::Error>(())
/// ```
///
/// Serde has this text, too.
#[derive(Debug, Clone, PartialEq)]
pub struct RandomResizedCrop {
    size: ImageSize,
    scale: RangeInclusive<f64>,
    ratio: RangeInclusive<f64>,
    flip: f64,
    log_span: f64,
}

impl RandomResizedCrop {
    /// Crops resized to `size`: one number for a square, or `(height, width)`. By default 8 to 100 % of the area,
    /// aspect ratios from 3:4 to 4:3, not mirrored.
    pub fn new(size: impl Into<ImageSize>) -> RandomResizedCrop {
        RandomResizedCrop::of(size.into(), [0.08, 1.0], [3.0 / 4.0, 4.0 / 3.0])
    }

    /// Crops of these ranges, resized to `size`, not mirrored.
    pub(crate) fn of(size: ImageSize, scale: [f64; 2], ratio: [f64; 2]) -> RandomResizedCrop {
        RandomResizedCrop {
            size,
            scale: scale[0]..=scale[1],
            ratio: ratio[0]..=ratio[1],
            flip: 0.0,
            log_span: ln(ratio[1] / ratio[0]),
        }
    }

    /// Sets the range of a crop's fraction of the picture's area.
    #[must_use]
    pub fn scale(mut self, scale: RangeInclusive<f64>) -> Self {
        self.scale = scale;
        self
    }

    /// Sets the range of a crop's width over height.
    #[must_use]
    pub fn ratio(mut self, ratio: RangeInclusive<f64>) -> Self {
        self.log_span = ln(ratio.end() / ratio.start());
        self.ratio = ratio;
        self
    }

    /// Sets the probability of mirroring left to right.
    #[must_use]
    pub fn flip(mut self, probability: f64) -> Self {
        self.flip = probability;
        self
    }

    /// Draws a crop of a picture of size `source`.
    pub(crate) fn cut(&self, source: ImageSize, random: &mut Random) -> Cut {
        fn fits(side: f64, all: u32) -> bool {
            0.0 < side && side <= f64::from(all)
        }

        for _ in 0..10 {
            let area =
                source.pixels() as f64 * random.between(*self.scale.start(), *self.scale.end());
            let ratio = self.ratio.start() * exp(random.between(0.0, self.log_span));
            let width = (area * ratio).sqrt().round_ties_even();
            let height = (area / ratio).sqrt().round_ties_even();
            if fits(width, source.width) && fits(height, source.height) {
                let size = ImageSize::new(width as u32, height as u32);
                let top = random.below(u64::from(source.height - size.height) + 1) as u32;
                let left = random.below(u64::from(source.width - size.width) + 1) as u32;
                return Cut { left, top, size };
            }
        }
        self.centered(source)
    }

    /// The crop if no random one fits.
    fn centered(&self, source: ImageSize) -> Cut {
        fn side(length: f64, all: u32) -> u32 {
            (length.round_ties_even() as u32).clamp(1, all)
        }

        let width = f64::from(source.width);
        let height = f64::from(source.height);
        let ratio = width / height;
        let size = if ratio < *self.ratio.start() {
            ImageSize::new(source.width, side(width / self.ratio.start(), source.height))
        } else if ratio > *self.ratio.end() {
            ImageSize::new(side(height * self.ratio.end(), source.width), source.height)
        } else {
            source
        };
        let left = (source.width - size.width) / 2;
        let top = (source.height - size.height) / 2;
        Cut { left, top, size }
    }
}

impl fmt::Display for RandomResizedCrop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RandomResizedCrop { size, scale, ratio, flip, .. } = self;
        let least = ratio.start();
        let most = ratio.end();
        write!(
            f,
            "{size}, scale {} to {}, ratio {least} to {most}, flip {flip}",
            scale.start(),
            scale.end()
        )
    }
}

impl FromStr for RandomResizedCrop {
    type Err = Error;

    /// Reads `224 x 224, scale 0.08 to 1, ratio 0.75 to 1.5, flip 0.5` (width x height); what is left out is as in
    /// [`RandomResizedCrop::new`].
    ///
    /// # Errors
    /// Returns an error for any other text, or if a number is out of its range.
    fn from_str(text: &str) -> Result<RandomResizedCrop> {
        let crop = parsed(text).ok_or_else(|| {
            Error::usage(format!(
                "'{text}' is no random crop; write '224 x 224, scale 0.08 to 1, ratio 0.75 to 1.5, flip 0.5', all but \
                 the size as needed"
            ))
        })?;
        crop.validate()?;
        Ok(crop)
    }
}

fn parsed(text: &str) -> Option<RandomResizedCrop> {
    let (size, mut named) = Named::split(text);
    let mut crop = RandomResizedCrop::new(size.parse::<ImageSize>().ok()?);
    if let Some(scale) = named.take("scale") {
        crop = crop.scale(range(scale)?);
    }
    if let Some(ratio) = named.take("ratio") {
        crop = crop.ratio(range(ratio)?);
    }
    if let Some(flip) = named.take("flip") {
        crop = crop.flip(flip.parse().ok()?);
    }
    named.is_empty().then_some(crop)
}

/// Reads `0.08 to 1`.
fn range(text: &str) -> Option<RangeInclusive<f64>> {
    let (start, end) = text.split_once(" to ")?;
    Some(start.parse().ok()?..=end.parse().ok()?)
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
        fn is_positive_and_ordered(range: &RangeInclusive<f64>) -> bool {
            0.0 < *range.start() && range.start() <= range.end()
        }

        let scale = &self.scale;
        let ratio = &self.ratio;
        if !is_positive_and_ordered(scale) || *scale.end() > 1.0 {
            let text = format!("scale {scale:?}: it must be within 0..=1, low end first");
            return Err(Error::usage(text));
        }
        if !is_positive_and_ordered(ratio) || !ratio.end().is_finite() {
            let text = format!("ratio {ratio:?}: it must be above 0, low end first");
            return Err(Error::usage(text));
        }
        if !(0.0..=1.0).contains(&self.flip) {
            return Err(Error::usage(format!("flip {}: a probability is 0 to 1", self.flip)));
        }
        match self.size.pixels() {
            0 => Err(Error::usage(format!(
                "the crop size {} has no pixels; pass sides of 1 or more",
                self.size
            ))),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
