//! `PatchResize`: sizes that are whole numbers of patches, as vision-language models choose them.

use serde::{Deserialize, Serialize};
use tarflume_image::ImageSize;
use tarflume_types::{Error, ErrorKind, Result};

use super::super::{Draw, Draws, Placing, Shape};
use crate::actions::{Action, Resize};
use crate::limits::check_size;
use crate::settings::Interpolation;

/// How the size of a picture in patches is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PatchRule {
    /// The largest size with at most `max_tokens` patches whose ratio is about that of the picture: SigLIP 2's
    /// (`get_image_size_for_max_num_patches` in transformers), which is that of timm's NaFlex. Small pictures grow.
    #[default]
    Naflex,
    /// The picture's own size to the nearest patch, within `min_tokens` and `max_tokens`: `smart_resize` of Qwen2-VL.
    Qwen2Vl,
    /// The most patches of at most `max_tokens` in the ratio of the picture, rounded down: Pix2Struct's.
    Pix2struct,
}

/// Resizes a picture to a whole number of patches across and down. The ratio of its sides changes by less than a patch.
///
/// ```
/// use tarflume::transforms::operations::resize::PatchResize;
/// use tarflume::ImageSize;
///
/// let resize = PatchResize::new(16, 256);
/// assert_eq!(resize.size_of(ImageSize::new(640, 480))?, ImageSize::new(288, 224)); // width and height: 18 x 14 patches
/// # Ok::<(), tarflume::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PatchResize {
    /// The side of a patch in pixels. Where a model merges patches, the side of the merged ones.
    pub patch: u32,
    /// The most patches of a picture.
    pub max_tokens: u32,
    /// The least patches, for [`PatchRule::Qwen2Vl`].
    #[serde(default)]
    pub min_tokens: u32,
    /// How the size is chosen.
    #[serde(default)]
    pub rule: PatchRule,
    /// The filter.
    #[serde(default)]
    pub interpolation: Interpolation,
}

/// The largest ratio of sides that Qwen2-VL takes.
const QWEN_RATIO: u64 = 200;

impl PatchResize {
    /// Patches of `patch` pixels, at most `max_tokens`, by [`PatchRule::Naflex`].
    pub fn new(patch: u32, max_tokens: u32) -> PatchResize {
        let rule = PatchRule::Naflex;
        PatchResize {
            patch,
            max_tokens,
            min_tokens: 0,
            rule,
            interpolation: Interpolation::default(),
        }
    }

    /// The size of the result for a picture of this size.
    ///
    /// # Errors
    /// Qwen2-VL takes no picture whose longer side is more than 200 times the shorter one.
    pub fn size_of(&self, picture: ImageSize) -> Result<ImageSize> {
        match self.rule {
            PatchRule::Naflex => Ok(self.naflex(picture)),
            PatchRule::Qwen2Vl => self.qwen(picture),
            PatchRule::Pix2struct => Ok(self.pix2struct(picture)),
        }
    }

    /// The number of patches of the result.
    ///
    /// # Errors
    /// As [`PatchResize::size_of`].
    pub fn tokens_of(&self, picture: ImageSize) -> Result<u64> {
        let side = u64::from(self.patch);
        Ok(self.size_of(picture)?.pixels() / (side * side))
    }

    /// A side times a factor, rounded up to a whole number of patches.
    fn up(&self, side: u32, factor: f64) -> u32 {
        let patch = f64::from(self.patch);
        let patches = (f64::from(side) * factor / patch).ceil().max(1.0);
        (patches as u32).saturating_mul(self.patch)
    }

    /// Bisects the factor, with the numbers of transformers and timm: the same factor, and so the same size.
    fn naflex(&self, picture: ImageSize) -> ImageSize {
        const EPSILON: f64 = 1e-5;
        let mut least = EPSILON / 10.0;
        let mut most = 100.0;
        let patch = f64::from(self.patch);
        while most - least >= EPSILON {
            let factor = f64::midpoint(least, most);
            let across = f64::from(self.up(picture.width, factor)) / patch;
            let down = f64::from(self.up(picture.height, factor)) / patch;
            if across * down <= f64::from(self.max_tokens) {
                least = factor;
            } else {
                most = factor;
            }
        }
        ImageSize::new(self.up(picture.width, least), self.up(picture.height, least))
    }

    fn qwen(&self, picture: ImageSize) -> Result<ImageSize> {
        let ImageSize { width, height } = picture;
        let long = u64::from(width.max(height));
        let short = u64::from(width.min(height).max(1));
        if long > QWEN_RATIO * short {
            let text = format!(
                "a picture of {picture} is more than {QWEN_RATIO} times as long as it is wide, which the rule of Qwen2-VL \
                 refuses: leave it out, or crop it before"
            );
            return Err(Error::new(ErrorKind::Decode, text));
        }
        let nearest = ImageSize::new(
            self.side(width, 1.0, f64::round_ties_even),
            self.side(height, 1.0, f64::round_ties_even),
        );
        let pixels = f64::from(width) * f64::from(height);
        let area = f64::from(self.patch) * f64::from(self.patch);
        let most = f64::from(self.max_tokens) * area;
        let least = f64::from(self.min_tokens) * area;
        let found = if nearest.pixels() as f64 > most {
            let beta = (pixels / most).sqrt();
            ImageSize::new(self.shrunk(width, beta), self.shrunk(height, beta))
        } else if (nearest.pixels() as f64) < least {
            let by = (least / pixels).sqrt();
            ImageSize::new(self.side(width, by, f64::ceil), self.side(height, by, f64::ceil))
        } else {
            nearest
        };
        Ok(ImageSize::new(found.width.max(self.patch), found.height.max(self.patch)))
    }

    /// A side times a factor as whole patches.
    fn side(&self, side: u32, by: f64, round: fn(f64) -> f64) -> u32 {
        let patch = f64::from(self.patch);
        (round(f64::from(side) * by / patch) * patch) as u32
    }

    /// As [`PatchResize::side`], divided, and rounded down: the operations of transformers in their order.
    fn shrunk(&self, side: u32, beta: f64) -> u32 {
        let patch = f64::from(self.patch);
        ((f64::from(side) / beta / patch).floor() * patch) as u32
    }

    fn pix2struct(&self, picture: ImageSize) -> ImageSize {
        let patch = f64::from(self.patch);
        let most = f64::from(self.max_tokens);
        let height = f64::from(picture.height.max(1));
        let width = f64::from(picture.width.max(1));
        let scale = (most * (patch / height) * (patch / width)).sqrt();
        let across = (scale * width / patch).floor().min(most).max(1.0);
        let down = (scale * height / patch).floor().min(most).max(1.0);
        ImageSize::new((across * patch) as u32, (down * patch) as u32)
    }
}

impl Draw for PatchResize {
    fn draw(&self, on: Shape, _: Draws<'_>, actions: &mut Vec<Action>) -> Result<()> {
        let ImageSize { width, height } = self.size_of(on.size)?;
        let interpolation = self.interpolation;
        actions.push(Resize { size: [height, width], interpolation }.into());
        Ok(())
    }

    fn validate(&self) -> Result<()> {
        check_size("PatchResize", "patch", [self.patch; 2])?;
        check_size("PatchResize", "max_tokens", [self.max_tokens, 1])?;
        if self.min_tokens > self.max_tokens {
            return Err(Error::usage(format!(
                "PatchResize: min_tokens is {} and max_tokens {}; give the smaller one first",
                self.min_tokens, self.max_tokens
            )));
        }
        if self.min_tokens > 0 && self.rule != PatchRule::Qwen2Vl {
            return Err(Error::usage("PatchResize: min_tokens is for the rule qwen2_vl"));
        }
        Ok(())
    }

    fn placing(&self) -> Option<Placing> {
        let interpolation = self.interpolation.into();
        Some(Placing::Resize { interpolation, least: self.patch.into() })
    }

    fn fixed_size(&self, _: Option<ImageSize>) -> Option<ImageSize> {
        None
    }

    /// A picture that is one patch high may have more than its share by the rule of Qwen2-VL.
    fn most_pixels(&self, _: u64) -> u64 {
        let side = u64::from(self.patch);
        let tokens = u64::from(self.max_tokens);
        let most = match self.rule {
            PatchRule::Qwen2Vl => tokens.max(QWEN_RATIO),
            PatchRule::Naflex | PatchRule::Pix2struct => tokens,
        };
        most * side * side
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `smart_resize` of transformers, with the same operations in another order of arguments.
    fn smart_resize(height: f64, width: f64, factor: f64, least: f64, most: f64) -> [f64; 2] {
        let mut h = (height / factor).round_ties_even() * factor;
        let mut w = (width / factor).round_ties_even() * factor;
        if h * w > most {
            let beta = (height * width / most).sqrt();
            h = factor.max((height / beta / factor).floor() * factor);
            w = factor.max((width / beta / factor).floor() * factor);
        } else if h * w < least {
            let beta = (least / (height * width)).sqrt();
            h = (height * beta / factor).ceil() * factor;
            w = (width * beta / factor).ceil() * factor;
        }
        [h, w]
    }

    #[test]
    fn sizes_are_those_of_qwen() {
        let resize =
            PatchResize { rule: PatchRule::Qwen2Vl, min_tokens: 4, ..PatchResize::new(28, 1280) };
        for (width, height) in
            [(28, 28), (31, 90), (640, 480), (4000, 3000), (9000, 50), (42, 70), (1, 100)]
        {
            let size = resize.size_of(ImageSize::new(width, height)).unwrap();
            let wanted = smart_resize(height.into(), width.into(), 28.0, 3136.0, 1_003_520.0);
            assert_eq!(
                [f64::from(size.height), f64::from(size.width)],
                wanted,
                "{width} x {height}"
            );
        }
        let error = resize.size_of(ImageSize::new(1, 201)).unwrap_err();
        assert!(error.text().contains("more than 200 times"), "{error}");
    }

    #[test]
    fn no_size_is_over_its_budget_and_each_is_whole_patches() {
        for rule in [PatchRule::Naflex, PatchRule::Pix2struct] {
            for max_tokens in [1, 2, 7, 196, 256, 1024] {
                let resize = PatchResize { rule, ..PatchResize::new(16, max_tokens) };
                for (width, height) in
                    [(1, 1), (1, 3000), (3000, 1), (640, 480), (97, 1021), (12_000, 9000)]
                {
                    let size = resize.size_of(ImageSize::new(width, height)).unwrap();
                    assert!(
                        size.width.is_multiple_of(16) && size.height.is_multiple_of(16),
                        "{size}"
                    );
                    let tokens = resize.tokens_of(ImageSize::new(width, height)).unwrap();
                    assert!(
                        (1..=u64::from(max_tokens)).contains(&tokens),
                        "{size} of {max_tokens}"
                    );
                    assert!(size.pixels() <= resize.most_pixels(0));
                }
            }
        }
    }

    #[test]
    fn impossible_arguments_are_refused() {
        assert!(PatchResize::new(0, 256).validate().is_err());
        assert!(PatchResize::new(16, 0).validate().is_err());
        let least = PatchResize { min_tokens: 4, ..PatchResize::new(16, 256) };
        assert!(least.validate().unwrap_err().text().contains("qwen2_vl"));
        let swapped =
            PatchResize { min_tokens: 300, rule: PatchRule::Qwen2Vl, ..PatchResize::new(16, 256) };
        assert!(swapped.validate().is_err());
    }
}
