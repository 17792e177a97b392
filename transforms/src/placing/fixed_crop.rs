//! Deterministic transforms: resize, center crop, both (for evaluation), and the whole picture.
//!
//! Pure arithmetic on sizes, with torchvision's rounding (`transforms/functional.py`).

use std::fmt;
use std::str::FromStr;

use tarflume_image::{Area, Cut, Extent, ImageSize, Placement, Random, Transform};
use tarflume_types::{Error, ErrorKind, Result};

use crate::text_form::{Named, text_in_serde};

text_in_serde!(Resize, CenterCrop, ResizeCenterCrop, Whole);

/// Resizes the whole picture.
///
/// ```
/// use tarflume::{Extent, ImageSize, Resize, Transform};
///
/// assert_eq!(Resize::exact((240, 320)).extent(), Extent::Fixed(ImageSize::new(320, 240)));
/// let keeps_shape = Resize::shorter(256); // a variable column
/// assert_eq!("shorter side 256, longest 1024".parse::<Resize>()?, keeps_shape);
/// assert_eq!(Resize::exact((240, 320)).to_string(), "320 x 240"); // width x height
/// # Ok::<(), tarflume::Error>(())
/// ```
///
/// Serde has this text, too.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Resize(ResizeTo);

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum ResizeTo {
    Exactly(ImageSize),
    Shorter { side: u32, longest: u32 },
}

impl Resize {
    /// Resizes to `size`, ignoring the aspect ratio: one number for a square, or `(height, width)`.
    pub fn exact(size: impl Into<ImageSize>) -> Resize {
        Resize(ResizeTo::Exactly(size.into()))
    }

    /// Resizes the shorter side to `side` and keeps the aspect ratio. The longer side is rounded down, as
    /// torchvision does. The column is variable. If the longer side would exceed four times `side`, the
    /// picture is an error; [`Resize::longest`] changes that limit.
    pub fn shorter(side: u32) -> Resize {
        Resize(ResizeTo::Shorter { side, longest: side.saturating_mul(4) })
    }

    /// Sets the maximum pixels of the longer side. Has no effect on [`Resize::exact`].
    #[must_use]
    pub fn longest(mut self, pixels: u32) -> Resize {
        if let ResizeTo::Shorter { longest, .. } = &mut self.0 {
            *longest = pixels;
        }
        self
    }
}

impl fmt::Display for Resize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            ResizeTo::Exactly(size) => write!(f, "{size}"),
            ResizeTo::Shorter { side, longest } => {
                write!(f, "shorter side {side}, longest {longest}")
            }
        }
    }
}

impl FromStr for Resize {
    type Err = Error;

    /// Reads `320 x 240` (width x height), `224` for a square, or `shorter side 256`, with `, longest 1024` for another
    /// limit than four times the shorter side.
    ///
    /// # Errors
    /// Returns an error for any other text.
    fn from_str(text: &str) -> Result<Resize> {
        let parsed = match text.strip_prefix("shorter side ") {
            None => text.parse().ok().map(|size: ImageSize| Resize::exact(size)),
            Some(numbers) => shorter(numbers),
        };
        parsed.ok_or_else(|| {
            Error::usage(format!(
                "'{text}' is no size to resize to; write '320 x 240', or 'shorter side 256, longest 1024'"
            ))
        })
    }
}

/// Reads `256, longest 1024`; the longest side may be left out.
fn shorter(numbers: &str) -> Option<Resize> {
    let (side, mut named) = Named::split(numbers);
    let resize = Resize::shorter(side.parse().ok()?);
    let resize = match named.take("longest") {
        Some(longest) => resize.longest(longest.parse().ok()?),
        None => resize,
    };
    named.is_empty().then_some(resize)
}

impl Transform for Resize {
    fn extent(&self) -> Extent {
        match self.0 {
            ResizeTo::Exactly(size) => Extent::Fixed(size),
            ResizeTo::Shorter { side, longest } => {
                Extent::UpTo(u64::from(side) * u64::from(longest))
            }
        }
    }

    fn place(&self, source: ImageSize, _: &mut Random) -> Result<Placement> {
        let size = match self.0 {
            ResizeTo::Exactly(size) => size,
            ResizeTo::Shorter { side, longest } => shorter_to(source, side, longest)?,
        };
        Ok(Placement::of(Cut::whole(source), size))
    }
}

/// The size of `source` with its shorter side resized to `side`.
fn shorter_to(source: ImageSize, side: u32, longest: u32) -> Result<ImageSize> {
    let short = source.width.min(source.height);
    let long = source.width.max(source.height);
    let scaled = u64::from(side) * u64::from(long) / u64::from(short.max(1));
    let Some(longer) = u32::try_from(scaled).ok().filter(|&longer| longer <= longest) else {
        let text = format!(
            "a picture of {source} with its shorter side at {side} has {scaled} pixels on the \
                 longer side, above the limit of {longest} (`longest`)"
        );
        return Err(Error::new(ErrorKind::Limit, text));
    };
    let wide = source.width >= source.height;
    Ok(if wide { ImageSize::new(longer, side) } else { ImageSize::new(side, longer) })
}

/// Crops the center of the picture, without resizing.
///
/// ```
/// use tarflume::{CenterCrop, Image};
///
/// let middle = Image::new("png", CenterCrop::new(32));
/// assert_eq!("32 x 32".parse::<CenterCrop>()?, CenterCrop::new(32)); // width x height
/// # Ok::<(), tarflume::Error>(())
/// ```
///
/// Serde has this text, too.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CenterCrop(ImageSize);

impl CenterCrop {
    /// Crops the center to `size`: one number for a square, or `(height, width)`. A smaller picture is an
    /// error; [`ResizeCenterCrop`] accepts any size.
    pub fn new(size: impl Into<ImageSize>) -> CenterCrop {
        CenterCrop(size.into())
    }
}

impl fmt::Display for CenterCrop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl FromStr for CenterCrop {
    type Err = Error;

    /// Reads the size of the crop: `224 x 224` (width x height), or `224` for a square.
    ///
    /// # Errors
    /// Returns an error for any other text.
    fn from_str(text: &str) -> Result<CenterCrop> {
        Ok(CenterCrop(text.parse()?))
    }
}

impl Transform for CenterCrop {
    fn extent(&self) -> Extent {
        Extent::Fixed(self.0)
    }

    fn place(&self, source: ImageSize, _: &mut Random) -> Result<Placement> {
        if source.width < self.0.width || source.height < self.0.height {
            let text = format!(
                "a picture of {source} is smaller than the center crop of {}; ResizeCenterCrop accepts any size",
                self.0
            );
            return Err(Error::new(ErrorKind::Decode, text));
        }
        let left = middle(source.width, self.0.width);
        let top = middle(source.height, self.0.height);
        Ok(Placement::of(Cut { left, top, size: self.0 }, self.0))
    }
}

/// Half of the difference, with ties to even like Python's `round`, which torchvision's `center_crop` uses.
fn middle(all: u32, part: u32) -> u32 {
    (f64::from(all - part) / 2.0).round_ties_even() as u32
}

/// The usual transform for evaluation: resizes the shorter side, then crops the center. One resampling with
/// the result of the two steps.
///
/// ```
/// use tarflume::{Image, ResizeCenterCrop};
///
/// let evaluation = Image::new("jpg", ResizeCenterCrop::new(256, 224));
/// let text = "shorter side 256, crop 224 x 224"; // width x height
/// assert_eq!(text.parse::<ResizeCenterCrop>()?, ResizeCenterCrop::new(256, 224));
/// # Ok::<(), tarflume::Error>(())
/// ```
///
/// Serde has this text, too.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ResizeCenterCrop {
    side: u32,
    crop: ImageSize,
}

impl ResizeCenterCrop {
    /// Resizes the shorter side to `side`, then crops the center to `crop`: `new(256, 224)`.
    pub fn new(side: u32, crop: impl Into<ImageSize>) -> ResizeCenterCrop {
        ResizeCenterCrop { side, crop: crop.into() }
    }
}

impl fmt::Display for ResizeCenterCrop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "shorter side {}, crop {}", self.side, self.crop)
    }
}

impl FromStr for ResizeCenterCrop {
    type Err = Error;

    /// Reads `shorter side 256, crop 224 x 224` (width x height).
    ///
    /// # Errors
    /// Returns an error for any other text, or if the crop does not fit the side.
    fn from_str(text: &str) -> Result<ResizeCenterCrop> {
        let numbers =
            text.strip_prefix("shorter side ").and_then(|rest| rest.split_once(", crop "));
        let parsed = numbers.and_then(|(side, crop)| {
            Some(ResizeCenterCrop { side: side.parse().ok()?, crop: crop.parse().ok()? })
        });
        let parsed = parsed.ok_or_else(|| {
            Error::usage(format!(
                "'{text}' is no resize with a center crop; write 'shorter side 256, crop 224 x 224'"
            ))
        })?;
        parsed.validate()?;
        Ok(parsed)
    }
}

impl Transform for ResizeCenterCrop {
    fn extent(&self) -> Extent {
        Extent::Fixed(self.crop)
    }

    fn place(&self, source: ImageSize, _: &mut Random) -> Result<Placement> {
        let resized = shorter_to(source, self.side, u32::MAX)?;
        let left = middle(resized.width, self.crop.width);
        let top = middle(resized.height, self.crop.height);
        // Maps the crop of the resized picture back to the source; both axes have their own factor because
        // the longer side was rounded.
        let across = f64::from(source.width) / f64::from(resized.width);
        let down = f64::from(source.height) / f64::from(resized.height);
        let area = Area {
            left: f64::from(left) * across,
            top: f64::from(top) * down,
            width: f64::from(self.crop.width) * across,
            height: f64::from(self.crop.height) * down,
        };
        Ok(Placement { cut: Cut::whole(source), area, size: self.crop, flip: false })
    }

    fn validate(&self) -> Result<()> {
        let side = self.side;
        let crop = self.crop;
        if crop.pixels() == 0 || crop.width > side || crop.height > side {
            let text = format!("a crop of {crop} does not fit a shorter side of {side} pixels");
            return Err(Error::usage(text));
        }
        Ok(())
    }
}

/// The whole picture, not resized. The column is variable and each row has its own shape, see
/// `Column::picture`.
///
/// ```
/// use tarflume::{Image, Whole};
///
/// let pictures = Image::new("jpg", Whole::up_to(4096 * 4096));
/// assert_eq!("16777216 pixels".parse::<Whole>()?, Whole::up_to(4096 * 4096));
/// # Ok::<(), tarflume::Error>(())
/// ```
///
/// Serde has this text, too.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Whole(u64);

impl Whole {
    /// Accepts pictures of up to `pixels` pixels. A larger picture is an error.
    pub fn up_to(pixels: u64) -> Whole {
        Whole(pixels)
    }
}

impl fmt::Display for Whole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} pixels", self.0)
    }
}

impl FromStr for Whole {
    type Err = Error;

    /// Reads `16777216 pixels`: the most that a picture may have.
    ///
    /// # Errors
    /// Returns an error for any other text.
    fn from_str(text: &str) -> Result<Whole> {
        let pixels = text.strip_suffix(" pixels").and_then(|pixels| pixels.parse().ok());
        pixels.map(Whole).ok_or_else(|| {
            Error::usage(format!("'{text}' is no limit on a picture; write '16777216 pixels'"))
        })
    }
}

impl Transform for Whole {
    fn extent(&self) -> Extent {
        Extent::UpTo(self.0)
    }

    fn place(&self, source: ImageSize, _: &mut Random) -> Result<Placement> {
        if source.pixels() > self.0 {
            let text =
                format!("a picture of {source} exceeds the limit of {} pixels of `Whole`", self.0);
            return Err(Error::new(ErrorKind::Limit, text));
        }
        Ok(Placement::of(Cut::whole(source), source))
    }

    fn most(&self, pixels: u64) -> u64 {
        pixels.min(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(transform: &impl Transform, width: u32, height: u32) -> Placement {
        let source = ImageSize::new(width, height);
        let placement = transform.place(source, &mut Random::new(0)).unwrap();
        placement.check(source).unwrap();
        placement
    }

    #[test]
    fn the_shorter_side_has_the_requested_length_and_the_longer_is_rounded_down() {
        let resize = Resize::shorter(256);
        assert_eq!(place(&resize, 500, 375).size, ImageSize::new(341, 256));
        assert_eq!(place(&resize, 375, 500).size, ImageSize::new(256, 341));
        assert_eq!(place(&resize, 100, 100).size, ImageSize::new(256, 256));
        let narrow = ImageSize::new(10_000, 100);
        assert!(resize.place(narrow, &mut Random::new(0)).unwrap_err().text().contains("longest"));
        let wider = resize.longest(30_000);
        assert_eq!(place(&wider, 10_000, 100).size, ImageSize::new(25_600, 256));
        assert_eq!(place(&Resize::exact((10, 20)), 7, 9).size, ImageSize::new(20, 10));
    }

    #[test]
    fn the_center_is_rounded_as_python_rounds() {
        fn at(all: u32) -> u32 {
            place(&CenterCrop::new(224), all, 224).cut.left
        }

        assert_eq!((at(224), at(225), at(227), at(229)), (0, 0, 2, 2));
        assert!(CenterCrop::new(224).place(ImageSize::new(300, 200), &mut Random::new(0)).is_err());
    }

    #[test]
    fn resize_and_center_crop_take_the_same_pixels_as_the_two_steps() {
        let placed = place(&ResizeCenterCrop::new(256, 224), 500, 375);
        // 500 x 375 becomes 341 x 256; the crop begins at (58, 16) of it.
        assert_eq!(placed.cut, Cut::whole(ImageSize::new(500, 375)));
        assert!((placed.area.left - 58.0 * 500.0 / 341.0).abs() < 1e-9);
        assert!((placed.area.top - 16.0 * 375.0 / 256.0).abs() < 1e-9);
        assert!((placed.area.width - 224.0 * 500.0 / 341.0).abs() < 1e-9);
        for (width, height) in [(1, 1), (3, 5000), (224, 224), (257, 256), (65_535, 65_535)] {
            place(&ResizeCenterCrop::new(224, 224), width, height);
        }
        assert!(ResizeCenterCrop::new(200, 224).validate().is_err());
    }

    #[test]
    fn whole_pictures_have_a_limit() {
        assert_eq!(place(&Whole::up_to(12), 3, 4).size, ImageSize::new(3, 4));
        assert!(Whole::up_to(11).place(ImageSize::new(3, 4), &mut Random::new(0)).is_err());
    }
}
