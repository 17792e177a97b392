//! The eight EXIF orientations, applied without moving pixels: boxes are mapped to the stored picture, and
//! the output is read in a different order.
//!
//! Pure: no pixels, no decoder.

use crate::picture::geometry::{Area, Cut, ImageSize, Placement};

/// Maps the stored picture to the upright one: an optional transpose, then an optional mirror left to
/// right, then an optional flip top to bottom.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Turn {
    /// Rows become columns (transpose).
    pub transpose: bool,
    /// Left and right are exchanged.
    pub mirror: bool,
    /// Top and bottom are exchanged.
    pub upend: bool,
}

impl Turn {
    /// The turn for an EXIF orientation, 1 to 8. Other values turn nothing.
    pub fn of_exif(orientation: u8) -> Turn {
        Turn {
            transpose: matches!(orientation, 5..=8),
            mirror: matches!(orientation, 2 | 3 | 6 | 7),
            upend: matches!(orientation, 3 | 4 | 7 | 8),
        }
    }

    /// The EXIF orientation of this turn, 1 to 8.
    pub(crate) fn exif(self) -> u8 {
        (1..=8).find(|&orientation| Turn::of_exif(orientation) == self).unwrap_or(1)
    }

    /// The size of the upright picture, given that of the stored one, or the reverse.
    #[inline]
    pub fn size(self, size: ImageSize) -> ImageSize {
        if self.transpose { size.transposed() } else { size }
    }

    /// Converts a placement in the upright picture of size `source` into one in the stored picture. The
    /// result is not mirrored; read its output with [`Turn::and_flip`].
    #[inline]
    pub fn stored(self, placement: Placement, source: ImageSize) -> Placement {
        let Placement { mut cut, mut area, size, .. } = placement;
        // The inverse of the turn, so its steps run in the reverse order.
        if self.mirror {
            cut.left = source.width - cut.left - cut.size.width;
            area.left = f64::from(source.width) - area.left - area.width;
        }
        if self.upend {
            cut.top = source.height - cut.top - cut.size.height;
            area.top = f64::from(source.height) - area.top - area.height;
        }
        if self.transpose {
            cut = Cut { left: cut.top, top: cut.left, size: cut.size.transposed() };
            area = Area { left: area.top, top: area.left, width: area.height, height: area.width };
        }
        Placement { cut, area, size: self.size(size), flip: false }
    }

    /// This turn, followed by a mirror left to right if `flip`.
    #[must_use]
    #[inline]
    pub fn and_flip(mut self, flip: bool) -> Turn {
        self.mirror ^= flip;
        self
    }

    /// Whether the turn is the identity.
    pub(crate) fn is_none(self) -> bool {
        self == Turn::default()
    }
}

#[cfg(test)]
mod tests {
    use image::metadata::Orientation;

    use super::*;

    #[test]
    fn boxes_are_mapped_as_pixels_are() {
        let stored = ImageSize::new(5, 3);
        for exif in 1..=8 {
            let turn = Turn::of_exif(exif);
            let upright = turn.size(stored);
            // The image crate moves the pixels and thereby defines the expected positions.
            let mut image =
                image::DynamicImage::ImageLuma8(image::ImageBuffer::from_fn(5, 3, |x, y| {
                    image::Luma([(y * 5 + x) as u8])
                }));
            image.apply_orientation(Orientation::from_exif(exif).unwrap());
            let image = image.into_luma8();
            assert_eq!((image.width(), image.height()), (upright.width, upright.height));
            for (x, y, pixel) in image.enumerate_pixels() {
                let cut = Cut { left: x, top: y, size: ImageSize::new(1, 1) };
                let found = turn.stored(Placement::of(cut, ImageSize::new(1, 1)), upright);
                assert_eq!(found.cut.top * 5 + found.cut.left, u32::from(pixel[0]), "EXIF {exif}");
                assert_eq!(Area::from(found.cut), found.area);
            }
        }
    }
}
