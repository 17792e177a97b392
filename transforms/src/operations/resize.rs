//! Operations that change the size of the whole picture.

mod patch_resize;

use serde::{Deserialize, Serialize};
use tarflume_image::ImageSize;
use tarflume_types::{Error, ErrorKind, Result};

use super::{Draw, Draws, Placing, Shape};
use crate::actions::{self, Action, Pad};
use crate::limits::{check_range_above_zero, check_size};
use crate::settings::{Fill, Interpolation, PaddingMode};

pub use self::patch_resize::{PatchResize, PatchRule};

/// Without a limit on the longer side, a row has room for pictures whose longer side is this many times the shorter one.
const USUAL_RATIO: u64 = 4;

/// To which size a picture is resized.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ResizeSize {
    /// The shorter side has this length; the longer one keeps the aspect ratio, rounded down.
    Shorter(u32),
    /// Height and width.
    Exact([u32; 2]),
}

/// Resizes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resize {
    /// The size of the result.
    pub size: ResizeSize,
    /// The filter.
    #[serde(default)]
    pub interpolation: Interpolation,
    /// The most pixels of the longer side, if `size` is that of the shorter side.
    #[serde(default)]
    pub max_size: Option<u32>,
}

impl Draw for Resize {
    fn draw(&self, on: Shape, _: Draws<'_>, actions: &mut Vec<Action>) -> Result<()> {
        let size = match self.size {
            ResizeSize::Exact([height, width]) => ImageSize::new(width, height),
            ResizeSize::Shorter(side) => shorter_to(on.size, side, self.max_size)?,
        };
        push_resize(size, self.interpolation, actions);
        Ok(())
    }

    fn validate(&self) -> Result<()> {
        match (self.size, self.max_size) {
            (ResizeSize::Exact(size), None) => check_size("Resize", "size", size),
            (ResizeSize::Exact(_), Some(_)) => Err(Error::usage(
                "Resize: max_size limits the longer side, but size has both sides; pass size as one number",
            )),
            (ResizeSize::Shorter(side), most) => {
                check_size("Resize", "size", [side; 2])?;
                check_longest("Resize", side, most)
            }
        }
    }

    fn placing(&self) -> Option<Placing> {
        let least = match (self.size, self.max_size) {
            (ResizeSize::Exact([height, width]), _) => ImageSize::new(width, height),
            (ResizeSize::Shorter(side), None) => side.into(),
            (ResizeSize::Shorter(_), Some(_)) => 1.into(),
        };
        Some(Placing::Resize { interpolation: self.interpolation.into(), least })
    }

    fn fixed_size(&self, _: Option<ImageSize>) -> Option<ImageSize> {
        match self.size {
            ResizeSize::Exact([height, width]) => Some(ImageSize::new(width, height)),
            ResizeSize::Shorter(_) => None,
        }
    }

    fn most_pixels(&self, _: u64) -> u64 {
        match self.size {
            ResizeSize::Exact([height, width]) => ImageSize::new(width, height).pixels(),
            ResizeSize::Shorter(side) => most_of_shorter(side, self.max_size),
        }
    }
}

/// Resizes the longer side to a length and keeps the aspect ratio. With `letterbox`, the result is a square with the
/// picture in its center.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResizeKeepRatio {
    /// The length of the longer side.
    pub size: u32,
    /// Whether the shorter side is filled up.
    #[serde(default)]
    pub letterbox: bool,
    /// What fills it up.
    #[serde(default = "letterbox_gray")]
    pub fill: Fill,
    /// The filter.
    #[serde(default)]
    pub interpolation: Interpolation,
}

/// The gray of YOLO's letterbox.
fn letterbox_gray() -> Fill {
    Fill::from(114)
}

impl Draw for ResizeKeepRatio {
    fn draw(&self, on: Shape, _: Draws<'_>, actions: &mut Vec<Action>) -> Result<()> {
        let longer = on.size.width.max(on.size.height).max(1);
        let factor = f64::from(self.size) / f64::from(longer);
        let size = scaled(on.size, factor, f64::round_ties_even)?;
        push_resize(size, self.interpolation, actions);
        let across = self.size - size.width.min(self.size);
        let down = self.size - size.height.min(self.size);
        if self.letterbox && across + down > 0 {
            let left = across / 2;
            let top = down / 2;
            let padding = [left, top, across - left, down - top];
            let padding_mode = PaddingMode::Constant;
            actions.push(Pad { padding, fill: self.fill, padding_mode }.into());
        }
        Ok(())
    }

    fn validate(&self) -> Result<()> {
        check_size("ResizeKeepRatio", "size", [self.size; 2])
    }

    fn placing(&self) -> Option<Placing> {
        let least = 1.into();
        (!self.letterbox)
            .then_some(Placing::Resize { interpolation: self.interpolation.into(), least })
    }

    fn fixed_size(&self, _: Option<ImageSize>) -> Option<ImageSize> {
        self.letterbox.then(|| self.size.into())
    }

    fn most_pixels(&self, _: u64) -> u64 {
        ImageSize::from(self.size).pixels()
    }
}

/// Resizes the shorter side to a random length.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RandomResize {
    /// The least length.
    pub min_size: u32,
    /// A length above all that are drawn.
    pub max_size: u32,
    /// The filter.
    #[serde(default)]
    pub interpolation: Interpolation,
}

impl Draw for RandomResize {
    fn draw(&self, on: Shape, draws: Draws<'_>, actions: &mut Vec<Action>) -> Result<()> {
        let lengths = u64::from(self.max_size - self.min_size);
        let side = self.min_size + draws.random().below(lengths) as u32;
        push_resize(shorter_to(on.size, side, None)?, self.interpolation, actions);
        Ok(())
    }

    fn validate(&self) -> Result<()> {
        check_size("RandomResize", "min_size", [self.min_size; 2])?;
        if self.min_size < self.max_size {
            return Ok(());
        }
        Err(Error::usage(format!(
            "RandomResize: min_size is {} and max_size {}; lengths of min_size to max_size - 1 are drawn, so max_size is \
             larger",
            self.min_size, self.max_size
        )))
    }

    fn placing(&self) -> Option<Placing> {
        let least = self.min_size.into();
        Some(Placing::Resize { interpolation: self.interpolation.into(), least })
    }

    fn fixed_size(&self, _: Option<ImageSize>) -> Option<ImageSize> {
        None
    }

    fn most_pixels(&self, _: u64) -> u64 {
        most_of_shorter(self.max_size.saturating_sub(1), None)
    }
}

/// Resizes the shorter side to a random one of several lengths.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RandomShortestSize {
    /// The lengths.
    pub min_size: Vec<u32>,
    /// The most pixels of the longer side.
    #[serde(default)]
    pub max_size: Option<u32>,
    /// The filter.
    #[serde(default)]
    pub interpolation: Interpolation,
}

impl Draw for RandomShortestSize {
    fn draw(&self, on: Shape, draws: Draws<'_>, actions: &mut Vec<Action>) -> Result<()> {
        let at = draws.random().below(self.min_size.len() as u64);
        let ImageSize { width, height } = on.size;
        let side = f64::from(self.min_size[at as usize]) / f64::from(width.min(height).max(1));
        let factor = self
            .max_size
            .map_or(side, |most| side.min(f64::from(most) / f64::from(width.max(height).max(1))));
        push_resize(scaled(on.size, factor, f64::floor)?, self.interpolation, actions);
        Ok(())
    }

    fn validate(&self) -> Result<()> {
        if self.min_size.is_empty() {
            return Err(Error::usage(
                "RandomShortestSize: min_size is empty; pass one length or more",
            ));
        }
        check_size("RandomShortestSize", "max_size", [self.max_size.unwrap_or(1); 2])?;
        self.min_size
            .iter()
            .try_for_each(|&side| check_size("RandomShortestSize", "min_size", [side; 2]))
    }

    fn placing(&self) -> Option<Placing> {
        Some(Placing::Resize { interpolation: self.interpolation.into(), least: 1.into() })
    }

    fn fixed_size(&self, _: Option<ImageSize>) -> Option<ImageSize> {
        None
    }

    fn most_pixels(&self, _: u64) -> u64 {
        let longest = self.min_size.iter().copied().max().unwrap_or(0);
        most_of_shorter(longest, self.max_size)
    }
}

/// Resizes to a random part or multiple of what fits the target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScaleJitter {
    /// Two sides. As torchvision does, the height is compared with the second one and the width with the first.
    pub target_size: [u32; 2],
    /// The least and the largest factor.
    #[serde(default = "usual_jitter")]
    pub scale_range: [f64; 2],
    /// The filter.
    #[serde(default)]
    pub interpolation: Interpolation,
}

fn usual_jitter() -> [f64; 2] {
    [0.1, 2.0]
}

impl Draw for ScaleJitter {
    fn draw(&self, on: Shape, draws: Draws<'_>, actions: &mut Vec<Action>) -> Result<()> {
        let scale = draws.random().between(self.scale_range[0], self.scale_range[1]);
        let [across, down] = self.target_size.map(f64::from);
        let width = f64::from(on.size.width.max(1));
        let height = f64::from(on.size.height.max(1));
        let factor = (down / height).min(across / width) * scale;
        push_resize(scaled(on.size, factor, f64::floor)?, self.interpolation, actions);
        Ok(())
    }

    fn validate(&self) -> Result<()> {
        check_size("ScaleJitter", "target_size", self.target_size)?;
        check_range_above_zero("ScaleJitter", "scale_range", self.scale_range)
    }

    fn placing(&self) -> Option<Placing> {
        Some(Placing::Resize { interpolation: self.interpolation.into(), least: 1.into() })
    }

    fn fixed_size(&self, _: Option<ImageSize>) -> Option<ImageSize> {
        None
    }

    fn most_pixels(&self, _: u64) -> u64 {
        // A side that would have no pixel has one.
        let [across, down] =
            self.target_size.map(|side| (f64::from(side) * self.scale_range[1]).ceil() + 1.0);
        (across * down) as u64
    }
}

fn push_resize(size: ImageSize, interpolation: Interpolation, actions: &mut Vec<Action>) {
    let size = [size.height, size.width];
    actions.push(actions::Resize { size, interpolation }.into());
}

/// The size of a picture with its shorter side resized to `side`, or its longer side to `longest` if it would be longer.
fn shorter_to(from: ImageSize, side: u32, longest: Option<u32>) -> Result<ImageSize> {
    let short = u64::from(from.width.min(from.height).max(1));
    let long = u64::from(from.width.max(from.height));
    let mut shorter = u64::from(side);
    let mut longer = shorter * long / short;
    if let Some(longest) = longest.map(u64::from).filter(|&longest| longer > longest) {
        shorter = longest * shorter / longer;
        longer = longest;
    }
    let shorter = shorter.max(1) as u32;
    let longer = u32::try_from(longer.max(1)).map_err(|_| too_large(from))?;
    let wide = from.width > from.height;
    Ok(if wide { ImageSize::new(longer, shorter) } else { ImageSize::new(shorter, longer) })
}

/// A size times a factor, with sides of 1 or more.
fn scaled(from: ImageSize, factor: f64, round: fn(f64) -> f64) -> Result<ImageSize> {
    let [width, height] =
        [from.width, from.height].map(|side| round(f64::from(side) * factor).max(1.0));
    if width.max(height) > f64::from(u32::MAX) {
        return Err(too_large(from));
    }
    Ok(ImageSize::new(width as u32, height as u32))
}

fn too_large(from: ImageSize) -> Error {
    let text = format!("a picture of {from} becomes too large by a resize of its shorter side");
    Error::new(ErrorKind::Limit, text)
}

/// The most pixels of a picture whose shorter side has `side` pixels, for which rows have room.
fn most_of_shorter(side: u32, longest: Option<u32>) -> u64 {
    let usual = u64::from(side) * USUAL_RATIO;
    u64::from(side).saturating_mul(longest.map_or(usual, u64::from))
}

/// Checks a limit on the longer side.
fn check_longest(operation: &str, side: u32, longest: Option<u32>) -> Result<()> {
    match longest {
        Some(longest) if longest <= side => Err(Error::usage(format!(
            "{operation}: max_size is {longest} and size {side}; the longer side cannot be shorter than the shorter one, \
             so max_size is larger than size"
        ))),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
