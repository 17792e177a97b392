//! `BucketCrop`: the largest crop of the shape of a bucket, resized to its size.

use serde::{Deserialize, Serialize};
use tarflume_image::ImageSize;
use tarflume_types::{Error, Result};

use super::super::{Draw, Draws, Placing, Shape};
use crate::actions::{Action, Crop, Resize};
use crate::limits::check_size;
use crate::settings::CropInterpolation;

/// Crops the largest part of a picture that has the shape of a bucket, and resizes it to the size of the bucket.
///
/// A loader with buckets gives it the size. The sides of the crop are rounded to whole pixels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BucketCrop {
    /// Height and width of the result. `None` until a loader knows the bucket.
    #[serde(default)]
    pub size: Option<[u32; 2]>,
    /// Whether the crop is at a random place. It is in the middle otherwise.
    #[serde(default)]
    pub random: bool,
    /// The filter of the resize.
    #[serde(default)]
    pub interpolation: CropInterpolation,
}

impl BucketCrop {
    fn result(&self) -> Option<ImageSize> {
        self.size.map(|[height, width]| ImageSize::new(width, height))
    }

    fn known(&self) -> Result<ImageSize> {
        self.result().ok_or_else(|| {
            let text = "BucketCrop has the size of a bucket, which a loader with buckets gives it";
            Error::usage(text)
        })
    }
}

/// The largest size within `picture` with the ratio of `bucket`, to the nearest pixel.
fn largest(picture: ImageSize, bucket: ImageSize) -> ImageSize {
    let across = u64::from(picture.width) * u64::from(bucket.height);
    let down = u64::from(picture.height) * u64::from(bucket.width);
    if across > down {
        let width = rounded(down, bucket.height).clamp(1, picture.width);
        ImageSize::new(width, picture.height)
    } else {
        let height = rounded(across, bucket.width).clamp(1, picture.height);
        ImageSize::new(picture.width, height)
    }
}

fn rounded(number: u64, by: u32) -> u32 {
    let by = u64::from(by.max(1));
    u32::try_from((number + by / 2) / by).unwrap_or(u32::MAX)
}

impl Draw for BucketCrop {
    fn draw(&self, on: Shape, draws: Draws<'_>, actions: &mut Vec<Action>) -> Result<()> {
        let bucket = self.known()?;
        let crop = largest(on.size, bucket);
        let free = ImageSize::new(on.size.width - crop.width, on.size.height - crop.height);
        let place = if self.random {
            let mut random = draws.random();
            let top = random.below(u64::from(free.height) + 1) as u32;
            let left = random.below(u64::from(free.width) + 1) as u32;
            [top, left]
        } else {
            [free.height / 2, free.width / 2]
        };
        let [top, left] = place;
        actions.push(Crop { top, left, height: crop.height, width: crop.width }.into());
        let interpolation = draws.interpolation(self.interpolation);
        actions.push(Resize { size: [bucket.height, bucket.width], interpolation }.into());
        Ok(())
    }

    fn validate(&self) -> Result<()> {
        self.size.map_or(Ok(()), |size| check_size("BucketCrop", "size", size))
    }

    fn placing(&self) -> Option<Placing> {
        let least = self.result()?;
        Some(Placing::Resize { interpolation: self.interpolation, least })
    }

    fn fixed_size(&self, _: Option<ImageSize>) -> Option<ImageSize> {
        self.result()
    }

    fn most_pixels(&self, pixels: u64) -> u64 {
        self.result().map_or(pixels, ImageSize::pixels)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Recipe;

    fn crop(random: bool) -> BucketCrop {
        BucketCrop { size: None, random, interpolation: CropInterpolation::Bilinear }
    }

    #[test]
    fn the_crop_has_the_ratio_of_the_bucket_and_one_whole_side() {
        for (width, height) in [(1, 1), (1, 300), (300, 1), (61, 97), (1920, 1080)] {
            let picture = ImageSize::new(width, height);
            for bucket in
                [ImageSize::new(64, 64), ImageSize::new(1152, 896), ImageSize::new(256, 1024)]
            {
                let part = largest(picture, bucket);
                assert!(part.width == width || part.height == height);
                let exact = f64::from(bucket.width) / f64::from(bucket.height);
                let wide = f64::from(part.height) * exact;
                let tall = f64::from(part.width) / exact;
                let off = if part.width < width {
                    f64::from(part.width) - wide
                } else {
                    f64::from(part.height) - tall
                };
                assert!(
                    off.abs() <= 0.5 || part.width == 1 || part.height == 1,
                    "{part} of {picture}"
                );
            }
        }
    }

    #[test]
    fn random_crops_are_inside_and_reach_both_ends() {
        let recipe = Recipe::new([crop(true).into()]).in_bucket(ImageSize::new(8, 8));
        assert_eq!(recipe.fixed_size(), Some(ImageSize::new(8, 8)));
        let on = Shape { size: ImageSize::new(12, 10), channels: 3 };
        let mut lefts = std::collections::BTreeSet::new();
        for seed in 0..100 {
            let mut actions = Vec::new();
            let after = recipe.draw(seed, 0, on, &mut actions).unwrap();
            assert_eq!(after.size, ImageSize::new(8, 8));
            let Action::Crop(crop) = actions[0] else { panic!() };
            assert_eq!([crop.top, crop.height, crop.width], [0, 10, 10]);
            lefts.insert(crop.left);
        }
        assert_eq!(lefts, [0, 1, 2].into());
    }

    #[test]
    fn without_a_bucket_it_draws_nothing_and_inside_others_it_is_refused() {
        let recipe = Recipe::new([crop(false).into()]);
        recipe.validate().unwrap();
        assert!(recipe.lacks_bucket());
        assert!(!recipe.in_bucket(ImageSize::new(8, 8)).lacks_bucket());
        let on = Shape { size: ImageSize::new(12, 10), channels: 3 };
        let error = recipe.draw(1, 0, on, &mut Vec::new()).unwrap_err();
        assert!(error.text().contains("a loader with buckets"), "{error}");
        let inside: Recipe = serde_json::from_str(
            r#"[{"RandomApply": {"transforms": [{"BucketCrop": {}}], "p": 0.5}}]"#,
        )
        .unwrap();
        let error = inside.validate().unwrap_err();
        assert!(error.text().contains("first list of a recipe"), "{error}");
    }
}
