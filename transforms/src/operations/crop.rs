//! Crops that are resized: `RandomResizedCrop` of a recipe. Its boxes are those of [`crate::placing::RandomResizedCrop`].

mod bucket;

use serde::{Deserialize, Serialize};
use tarflume_image::{Cut, ImageSize};
use tarflume_types::{Error, Result};

use super::{Draw, Draws, Placing, Shape};
use crate::actions::{Action, Crop, Resize};
use crate::limits::{check_range_above_zero, check_size};
use crate::placing;
use crate::settings::CropInterpolation;

pub use self::bucket::BucketCrop;

/// A crop of random area and aspect ratio, resized.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RandomResizedCrop {
    /// Height and width of the result.
    pub size: [u32; 2],
    /// The least and the most of the picture's area.
    #[serde(default = "whole_scale")]
    pub scale: [f64; 2],
    /// The least and the most of width over height.
    #[serde(default = "usual_ratio")]
    pub ratio: [f64; 2],
    /// The filter of the resize.
    #[serde(default)]
    pub interpolation: CropInterpolation,
}

fn whole_scale() -> [f64; 2] {
    [0.08, 1.0]
}

fn usual_ratio() -> [f64; 2] {
    [3.0 / 4.0, 4.0 / 3.0]
}

impl RandomResizedCrop {
    /// Crops resized to this height and width, with torchvision's ranges.
    pub fn new(size: [u32; 2]) -> RandomResizedCrop {
        RandomResizedCrop {
            size,
            scale: whole_scale(),
            ratio: usual_ratio(),
            interpolation: CropInterpolation::Bilinear,
        }
    }

    fn result(&self) -> ImageSize {
        ImageSize::new(self.size[1], self.size[0])
    }
}

impl Draw for RandomResizedCrop {
    fn draw(&self, on: Shape, draws: Draws<'_>, actions: &mut Vec<Action>) -> Result<()> {
        let crop = placing::RandomResizedCrop::of(self.result(), self.scale, self.ratio);
        let Cut { left, top, size } = crop.cut(on.size, &mut draws.random());
        actions.push(Crop { top, left, height: size.height, width: size.width }.into());
        let interpolation = draws.interpolation(self.interpolation);
        let resize = Resize { size: self.size, interpolation };
        actions.push(resize.into());
        Ok(())
    }

    fn validate(&self) -> Result<()> {
        check_size("RandomResizedCrop", "size", self.size)?;
        check_range_above_zero("RandomResizedCrop", "scale", self.scale)?;
        check_range_above_zero("RandomResizedCrop", "ratio", self.ratio)?;
        if self.scale[1] > 1.0 {
            return Err(Error::usage(format!(
                "RandomResizedCrop: scale ends at {}; it is a part of the picture's area, 1 at most",
                self.scale[1]
            )));
        }
        Ok(())
    }

    fn placing(&self) -> Option<Placing> {
        Some(Placing::Resize { interpolation: self.interpolation, least: self.result() })
    }

    fn fixed_size(&self, _: Option<ImageSize>) -> Option<ImageSize> {
        Some(self.result())
    }

    fn most_pixels(&self, _: u64) -> u64 {
        self.result().pixels()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Recipe;

    #[test]
    fn arguments_have_the_defaults_of_torchvision() {
        let recipe: Recipe =
            serde_json::from_str(r#"[{"RandomResizedCrop": {"size": [224, 176]}}]"#).unwrap();
        let want = RandomResizedCrop::new([224, 176]);
        assert_eq!(recipe, Recipe::new([want.into()]));
        assert_eq!(recipe.fixed_size(), Some(ImageSize::new(176, 224)));
        let unknown = r#"[{"RandomResizedCrop": {"size": [224, 176], "flip": 1}}]"#;
        assert!(serde_json::from_str::<Recipe>(unknown).is_err());
    }

    #[test]
    fn impossible_arguments_are_named() {
        fn refused(change: impl FnOnce(&mut RandomResizedCrop)) -> String {
            let mut crop = RandomResizedCrop::new([8, 8]);
            change(&mut crop);
            crop.validate().unwrap_err().text().to_owned()
        }

        RandomResizedCrop::new([8, 8]).validate().unwrap();
        assert!(refused(|crop| crop.size = [0, 8]).contains("size is 0 x 8"));
        assert!(refused(|crop| crop.scale = [0.5, 1.5]).contains("scale ends at 1.5"));
        assert!(refused(|crop| crop.scale = [0.0, 1.0]).contains("scale is 0 to 1"));
        assert!(refused(|crop| crop.ratio = [2.0, 1.0]).contains("ratio is 2 to 1"));
        assert!(refused(|crop| crop.ratio = [1.0, f64::NAN]).contains("ratio is 1 to NaN"));
    }

    #[test]
    fn crops_are_inside_the_picture_and_resized() {
        let recipe = Recipe::new([RandomResizedCrop::new([7, 9]).into()]);
        for (width, height) in [(1, 1), (1, 300), (300, 1), (61, 97)] {
            let on = Shape { size: ImageSize::new(width, height), channels: 3 };
            for seed in 0..200 {
                let mut actions = Vec::new();
                let after = recipe.draw(seed, 0, on, &mut actions).unwrap();
                assert_eq!(after.size, ImageSize::new(9, 7));
                let [Action::Crop(crop), Action::Resize(_)] = actions[..] else { panic!() };
                assert!(crop.height > 0 && crop.top + crop.height <= height);
                assert!(crop.width > 0 && crop.left + crop.width <= width);
            }
        }
    }
}
