//! `AspectBuckets`: sizes of about the same number of pixels, and the one that suits a picture.

use tarflume_image::ImageSize;
use tarflume_types::{Error, Result};

/// The most sizes.
const MOST: usize = 4096;

/// Sizes of batches for pictures of many shapes: the buckets of diffusion trainers.
///
/// [`AspectBuckets::new`] makes the sizes of kohya's sd-scripts (`make_bucket_resolutions` in `library/model_util.py`): sides
/// are multiples of `step`, and a size has at most `pixels` pixels. A picture belongs to the size whose ratio of width to
/// height is nearest to its own (`BucketManager.select_bucket` in `library/train_util.py`); of two that are equally near,
/// to the first.
///
/// ```
/// use tarflume::{AspectBuckets, ImageSize};
///
/// let buckets = AspectBuckets::new(1024 * 1024, 64)?;
/// let size = buckets.sizes()[buckets.bucket(ImageSize::new(4000, 3000))];
/// assert_eq!(size, ImageSize::new(1152, 896)); // width and height
/// # Ok::<(), tarflume::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AspectBuckets {
    sizes: Vec<ImageSize>,
}

impl AspectBuckets {
    /// Sizes of up to `pixels` pixels whose sides are multiples of `step`, from a quarter of the side of the square to twice
    /// its side.
    ///
    /// # Errors
    /// The square of `pixels` pixels is smaller than `step`, or there are more than 4,096 sizes.
    pub fn new(pixels: u64, step: u32) -> Result<AspectBuckets> {
        let side = pixels.isqrt();
        let least = u32::try_from(side / 4).unwrap_or(u32::MAX);
        let most = u32::try_from(side.saturating_mul(2)).unwrap_or(u32::MAX);
        AspectBuckets::between(pixels, step, least, most)
    }

    /// As [`AspectBuckets::new`], with sides of `least` to `most` pixels. The sizes for images of 1024 x 1024 pixels of
    /// sd-scripts are those of `least` 256 and `most` 1024 by default.
    ///
    /// # Errors
    /// As [`AspectBuckets::new`]; `least` is above `most`.
    pub fn between(pixels: u64, step: u32, least: u32, most: u32) -> Result<AspectBuckets> {
        let square = multiple(pixels.isqrt(), step);
        if step == 0 || square == 0 {
            return Err(Error::usage(format!(
                "buckets of {pixels} pixels with sides that are multiples of {step} have no size: take a \
                 smaller step, or more pixels"
            )));
        }
        if least > most {
            let text = format!("sides of {least} to {most} pixels: give the shortest first");
            return Err(Error::usage(text));
        }
        let mut sizes = vec![ImageSize::new(square, square)];
        let mut width = least.next_multiple_of(step);
        while width <= most {
            let height = multiple(pixels / u64::from(width), step).min(most / step * step);
            if height >= least.max(1) {
                sizes.push(ImageSize::new(width, height));
                sizes.push(ImageSize::new(height, width));
            }
            if sizes.len() > 2 * MOST {
                break;
            }
            width = width.saturating_add(step);
        }
        sizes.sort_by_key(|size| (size.width, size.height));
        sizes.dedup();
        AspectBuckets::of(sizes)
    }

    /// Buckets of these sizes, in this order.
    ///
    /// # Errors
    /// There is no size, or more than 4,096; a side is 0; two are equal.
    pub fn of(sizes: Vec<ImageSize>) -> Result<AspectBuckets> {
        let mut seen = std::collections::HashSet::new();
        if let Some(size) = sizes.iter().find(|size| !seen.insert((size.width, size.height))) {
            return Err(Error::usage(format!("there are two buckets of {size}")));
        }
        if sizes.is_empty() || sizes.len() > MOST {
            let text = format!("{} sizes of buckets: give 1 to {MOST}", sizes.len());
            return Err(Error::usage(text));
        }
        if let Some(size) = sizes.iter().find(|size| size.pixels() == 0) {
            return Err(Error::usage(format!("a bucket of {size} pixels is impossible")));
        }
        Ok(AspectBuckets { sizes })
    }

    /// The sizes.
    pub fn sizes(&self) -> &[ImageSize] {
        &self.sizes
    }

    /// The number of the size that suits an upright picture of this size.
    pub fn bucket(&self, picture: ImageSize) -> usize {
        if let Some(same) = self.sizes.iter().position(|size| *size == picture) {
            return same;
        }
        let ratio = ratio(picture);
        let mut best = 0;
        let mut least = f64::INFINITY;
        for (number, size) in self.sizes.iter().enumerate() {
            let off = (self::ratio(*size) - ratio).abs();
            if off < least {
                least = off;
                best = number;
            }
        }
        best
    }
}

fn ratio(size: ImageSize) -> f64 {
    f64::from(size.width) / f64::from(size.height.max(1))
}

/// The largest multiple of `step` up to `pixels`.
fn multiple(pixels: u64, step: u32) -> u32 {
    let Some(steps) = pixels.checked_div(u64::from(step)) else { return 0 };
    u32::try_from(steps * u64::from(step)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(sizes: &[ImageSize]) -> Vec<String> {
        sizes.iter().map(|size| format!("{}x{}", size.width, size.height)).collect()
    }

    #[test]
    fn sizes_are_those_of_sd_scripts() {
        // make_bucket_resolutions((512, 512), 256, 1024, 64)
        let found = AspectBuckets::between(512 * 512, 64, 256, 1024).unwrap();
        let expected =
            "256x1024 320x768 384x640 448x576 512x512 576x448 640x384 768x320 832x256 1024x256";
        let found = texts(found.sizes());
        for size in expected.split(' ') {
            assert!(found.contains(&size.to_string()), "{size} in {found:?}");
        }
        assert_eq!(found.len(), 17, "{found:?}");
    }

    #[test]
    fn no_size_has_too_many_pixels() {
        for pixels in [64 * 64, 512 * 512, 1024 * 1024, 1_000_000, 768 * 1344] {
            for step in [8, 32, 64] {
                let buckets = AspectBuckets::new(pixels, step).unwrap();
                for size in buckets.sizes() {
                    assert!(size.pixels() <= pixels, "{size} of {pixels}");
                    assert!(size.width.is_multiple_of(step) && size.height.is_multiple_of(step));
                }
            }
        }
    }

    #[test]
    fn a_picture_of_the_size_of_a_bucket_is_in_it_and_others_in_the_nearest() {
        let buckets = AspectBuckets::new(1024 * 1024, 64).unwrap();
        for (number, size) in buckets.sizes().iter().enumerate() {
            assert_eq!(buckets.bucket(*size), number);
        }
        let square = buckets.bucket(ImageSize::new(33, 33));
        assert_eq!(buckets.sizes()[square], ImageSize::new(1024, 1024));
        let wide = buckets.sizes()[buckets.bucket(ImageSize::new(60_000, 1))];
        assert_eq!(wide.width, buckets.sizes().iter().map(|size| size.width).max().unwrap());
    }

    #[test]
    fn impossible_buckets_are_errors() {
        assert!(AspectBuckets::new(63 * 63, 64).is_err());
        assert!(AspectBuckets::new(64, 0).is_err());
        assert!(AspectBuckets::between(1 << 20, 64, 1024, 256).is_err());
        assert!(AspectBuckets::of(Vec::new()).is_err());
        assert!(AspectBuckets::of(vec![ImageSize::new(0, 4)]).is_err());
        assert!(AspectBuckets::of(vec![ImageSize::new(4, 4); 2]).is_err());
    }
}
