//! `ObjectForm`: how the numbers of objects lie in the rows of a batch, on pictures of one size.

use tarflume_annotations::boxes::BoxFormat;
use tarflume_device::slab::{Slab, VariableRows};
use tarflume_transforms::mosaic::TiledBits;

use crate::decode::values::on_picture::PictureRows;

/// Bytes of a number in rows of boxes and points.
pub(super) const SINGLE: usize = size_of::<f32>();
/// Numbers of a box, and of a point.
const BOX: usize = 4;
pub(super) const POINT: usize = 3;

/// A column of objects, by its number in the slab.
#[derive(Debug, Clone, Copy)]
pub(super) struct ObjectColumn {
    pub(super) column: usize,
    pub(super) rows: PictureRows,
}

impl ObjectColumn {
    /// The rows of a sealed batch.
    pub(super) fn rows_of<'a>(&self, slab: &'a Slab) -> VariableRows<'a> {
        slab.variable_rows(self.column).expect("columns of objects are variable")
    }
}

/// Pictures of one size.
#[derive(Debug, Clone, Copy)]
pub(super) struct ObjectForm {
    /// Height and width.
    pub(super) size: [u32; 2],
}

impl ObjectForm {
    /// The bytes of one object.
    pub(super) fn bytes(&self, rows: PictureRows) -> usize {
        match rows {
            PictureRows::Picture | PictureRows::Plane => 0,
            PictureRows::Boxes { .. } => BOX * SINGLE,
            PictureRows::Rotated { out, .. } => out.count() * SINGLE,
            PictureRows::Points { count, .. } => count * POINT * SINGLE,
            PictureRows::Values { bytes } => bytes,
            PictureRows::Masks { .. } => self.pixels(),
            PictureRows::MaskBits => TiledBits::new(self.size).bytes(),
        }
    }

    /// The pixels of a picture.
    pub(super) fn pixels(&self) -> usize {
        self.size.map(|side| side as usize).iter().product()
    }

    /// What normalized coordinates are multiplied by.
    pub(super) fn sides(&self, normalize: bool) -> [f64; 2] {
        let [height, width] = self.size.map(f64::from);
        if normalize { [width, height] } else { [1.0, 1.0] }
    }

    /// The corners of a box in pixels.
    pub(super) fn corners(&self, out: BoxFormat, normalize: bool, object: &[u8]) -> [f64; 4] {
        let [wide, high] = self.sides(normalize);
        let [a, b, c, d] = numbers::<BOX>(object).next().expect("a box has four numbers");
        out.corners([a * wide, b * high, c * wide, d * high])
    }

    /// Writes a box with these corners in pixels.
    pub(super) fn put_corners(
        &self,
        out: BoxFormat,
        normalize: bool,
        corners: [f64; 4],
        to: &mut [u8],
    ) {
        let [wide, high] = self.sides(normalize);
        let [a, b, c, d] = out.of_corners(corners);
        put(to, [a / wide, b / high, c / wide, d / high]);
    }
}

/// The numbers of an object, `N` at a time.
pub(super) fn numbers<const N: usize>(bytes: &[u8]) -> impl Iterator<Item = [f64; N]> {
    let singles = bytes.as_chunks::<SINGLE>().0;
    singles
        .as_chunks::<N>()
        .0
        .iter()
        .map(|of| of.map(|single| f64::from(f32::from_ne_bytes(single))))
}

/// Writes numbers as `f32`.
pub(super) fn put<const N: usize>(to: &mut [u8], numbers: [f64; N]) {
    for (to, number) in to.as_chunks_mut::<SINGLE>().0.iter_mut().zip(numbers) {
        *to = (number as f32).to_ne_bytes();
    }
}
