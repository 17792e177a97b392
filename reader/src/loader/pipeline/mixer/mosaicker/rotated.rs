//! `RotatedRows`: boxes with an angle in mosaics.

use tarflume_annotations::boxes::RotatedFormat;
use tarflume_image::ImageSize;
use tarflume_transforms::annotations::{RotatedBox, clamp_rotated_box, shown_part};
use tarflume_transforms::mosaic::Tile;

use crate::decode::values::rotated::{MOST, corners_of_row, numbers_of, scaled};

/// Bytes of a number.
const SINGLE: usize = size_of::<f32>();

/// How the rows of boxes with an angle are written, and the pictures that they lie on.
pub(super) struct RotatedRows {
    format: RotatedFormat,
    size: ImageSize,
    /// What places and lengths are multiplied by to be pixels.
    sides: [f64; 2],
}

/// A box in a part of a mosaic.
pub(super) struct MovedBox {
    corners: RotatedBox,
    /// The part of what its picture showed of it.
    visible: f64,
}

impl MovedBox {
    /// The shorter one of its two sides, in pixels.
    pub(super) fn shorter_side(&self) -> f64 {
        let [first, second, _, fourth] = self.corners;
        let [width, height] =
            [second, fourth].map(|corner| (corner[0] - first[0]).hypot(corner[1] - first[1]));
        width.min(height)
    }

    /// Whether so much of it is shown, and more than nothing.
    pub(super) fn is_shown(&self, least: f64) -> bool {
        self.visible > 0.0 && self.visible >= least
    }
}

impl RotatedRows {
    /// Boxes on pictures of this height and width.
    pub(super) fn new(format: RotatedFormat, size: [u32; 2], sides: [f64; 2]) -> RotatedRows {
        let [height, width] = size;
        RotatedRows { format, size: ImageSize::new(width, height), sides }
    }

    /// The box of a row as a part shows it: the smallest one with its angle around what is in the part.
    pub(super) fn moved(&self, tile: &Tile, object: &[u8]) -> MovedBox {
        let quad = self.corners(object);
        let had = shown_part(&quad, self.size);
        let region = tile.region;
        let [right, down] = tile.shift.map(|shift| shift as f64);
        let [left, top] = [region.left, region.top].map(f64::from);
        let within = quad.map(|[x, y]| [x + right - left, y + down - top]);
        let shown = ImageSize::new(region.right - region.left, region.bottom - region.top);
        let has = shown_part(&within, shown);
        let clamped = if has < 1.0 { clamp_rotated_box(&within, shown) } else { within };
        let visible = if had > 0.0 { (has / had).min(1.0) } else { 0.0 };
        MovedBox { corners: clamped.map(|[x, y]| [x + left, y + top]), visible }
    }

    /// Writes a box as a row.
    pub(super) fn write(&self, moved: &MovedBox, to: &mut [u8]) {
        let by = self.sides.map(|side| 1.0 / side);
        let numbers = scaled(self.format, numbers_of(self.format, &moved.corners), by);
        for (to, number) in to.as_chunks_mut::<SINGLE>().0.iter_mut().zip(numbers) {
            *to = (number as f32).to_ne_bytes();
        }
    }

    /// The corners of the box of a row, in pixels.
    fn corners(&self, object: &[u8]) -> RotatedBox {
        let mut numbers = [0.0; MOST];
        for (number, single) in numbers.iter_mut().zip(object.as_chunks::<SINGLE>().0) {
            *number = f64::from(f32::from_ne_bytes(*single));
        }
        corners_of_row(self.format, scaled(self.format, numbers, self.sides))
    }
}
