//! Crop and resize of a batch: one box of each picture, at another size.
//!
//! The boxes, and the resizer of decoded pictures over them, which the kernel is tested against.

use tarflume_types::{Error, Result};

use crate::picture::convert::{Finish, Pictures};
use crate::picture::geometry::{Area, Cut, ImageSize, Placement};
use crate::picture::pixels::Pixels;
use crate::picture::resizing::resize::{Filter, Resizer};

/// A rectangle of a picture in fractional pixels from its upper left corner.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CropBox {
    /// Left edge.
    pub left: f32,
    /// Upper edge.
    pub top: f32,
    /// Width in pixels.
    pub width: f32,
    /// Height in pixels.
    pub height: f32,
}

impl From<Cut> for CropBox {
    /// Exact for coordinates below 2^24.
    fn from(cut: Cut) -> CropBox {
        CropBox {
            left: cut.left as f32,
            top: cut.top as f32,
            width: cut.size.width as f32,
            height: cut.size.height as f32,
        }
    }
}

impl From<Area> for CropBox {
    /// Rounds to single precision, which the kernel uses.
    fn from(area: Area) -> CropBox {
        CropBox {
            left: area.left as f32,
            top: area.top as f32,
            width: area.width as f32,
            height: area.height as f32,
        }
    }
}

impl CropBox {
    /// Left, top, width, height: a row of the kernel's input `[rows, 4]`.
    pub fn numbers(&self) -> [f32; 4] {
        [self.left, self.top, self.width, self.height]
    }

    /// Whether the box is an area without rounding.
    pub fn equals(&self, area: &Area) -> bool {
        let CropBox { left, top, width, height } = *self;
        let numbers = [left, top, width, height].map(f64::from);
        numbers == [area.left, area.top, area.width, area.height]
    }

    /// The whole pixels that the box touches, in a picture of size `size`.
    fn cut(&self, size: ImageSize) -> Cut {
        fn side(start: f32, length: f32, all: u32) -> (u32, u32) {
            let first = (start.floor() as u32).min(all - 1);
            let end = (f64::from(start) + f64::from(length)).ceil() as u32;
            (first, end.clamp(first + 1, all) - first)
        }

        let (left, width) = side(self.left, self.width, size.width);
        let (top, height) = side(self.top, self.height, size.height);
        Cut { left, top, size: ImageSize::new(width, height) }
    }

    /// Checks the box against the size of the picture.
    ///
    /// # Errors
    /// Returns an error if the box is empty or exceeds the picture by more than a rounding error.
    pub fn check(&self, size: ImageSize) -> Result<()> {
        fn within(start: f32, length: f32, all: u32) -> bool {
            let end = f64::from(start) + f64::from(length);
            start >= 0.0 && length > 0.0 && end <= f64::from(all) * (1.0 + 1e-6)
        }

        if within(self.left, self.width, size.width) && within(self.top, self.height, size.height) {
            return Ok(());
        }
        let CropBox { left, top, width, height } = self;
        let text = format!(
            "a box of {width} x {height} at {left}, {top} is outside a picture of {size} pixels"
        );
        Err(Error::usage(text))
    }
}

/// The pixels of one picture, and which of them are drawn.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RowPixels<'a> {
    /// Size of the whole picture in pixels.
    pub(crate) size: ImageSize,
    /// All its pixels, `[height, width, channels]` of u8.
    pub(crate) bytes: &'a [u8],
    /// The box that is drawn.
    pub(crate) area: &'a CropBox,
    /// Whether the box is mirrored left to right.
    pub(crate) flip: bool,
}

impl Finish {
    /// Crops each picture to its box, resizes it to `size` with antialiasing, mirrors and converts it.
    /// `boxes` and `flips` have one entry for each row. `out` has the shape of the resized pictures.
    ///
    /// # Errors
    /// Returns an error if a slice does not have the expected length or a box is outside its picture.
    pub fn crop_on_host(
        &self,
        pictures: &Pictures,
        from: &[u8],
        boxes: &[CropBox],
        flips: Option<&[u8]>,
        size: ImageSize,
        out: &mut [u8],
    ) -> Result<()> {
        let finished = pictures.resized(size)?;
        self.check(pictures, &finished, from, flips, out)?;
        if boxes.len() != pictures.rows() {
            let text = format!("{} boxes for {} pictures", boxes.len(), pictures.rows());
            return Err(Error::usage(text));
        }
        boxes.iter().try_for_each(|area| area.check(pictures.size()))?;
        let row_bytes = finished.row_bytes() * self.element().bytes();
        let rows = from.chunks_exact(pictures.row_bytes()).zip(out.chunks_exact_mut(row_bytes));
        for (row, ((from, out), area)) in rows.zip(boxes).enumerate() {
            let flip = flips.is_some_and(|flips| flips[row] != 0);
            let row = RowPixels { size: pictures.size(), bytes: from, area, flip };
            self.draw_row(&row, &finished, out)?;
        }
        Ok(())
    }

    /// Draws the box of one picture into a row of `finished`.
    ///
    /// # Errors
    /// Returns an error if the box is outside the picture, or if memory is exhausted.
    pub(crate) fn draw_row(
        &self,
        from: &RowPixels<'_>,
        finished: &Pictures,
        out: &mut [u8],
    ) -> Result<()> {
        let width = finished.size().width as usize;
        let channels = finished.channels();
        let values = resized(from, channels, finished.size())?;
        for (n, value) in values.into_iter().enumerate() {
            let pixel = n / channels;
            let channel = n % channels;
            let x = pixel % width;
            let to = if from.flip { pixel - x + width - 1 - x } else { pixel };
            self.put(out, self.place(finished, channel, to), channel, value.into());
        }
        Ok(())
    }
}

/// The box of one picture, resized to `size` as decoded pictures are: `[height, width, channels]`.
fn resized(from: &RowPixels<'_>, channels: usize, size: ImageSize) -> Result<Vec<u8>> {
    let mut pixels = Pixels::default();
    pixels.set(from.size, channels)?;
    pixels.bytes.copy_from_slice(from.bytes);
    let CropBox { left, top, width, height } = *from.area;
    let [left, top, width, height] = [left, top, width, height].map(f64::from);
    let area = Area { left, top, width, height };
    let placement = Placement { cut: from.area.cut(from.size), area, size, flip: false };
    let mut out = vec![0; size.pixels() as usize * channels];
    Resizer::default().resize(&pixels, &placement, Filter::Bilinear.into(), &mut out)?;
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cropped(from: &[u8], width: u32, area: [f32; 4], size: ImageSize, flip: u8) -> Vec<u8> {
        let height = from.len() as u32 / width;
        let pictures = Pictures::new(1, ImageSize::new(width, height), 1).unwrap();
        let [left, top, width, height] = area;
        let area = CropBox { left, top, width, height };
        let mut out = vec![0; size.pixels() as usize];
        let flips = [flip];
        let finish = Finish::bytes();
        finish.crop_on_host(&pictures, from, &[area], Some(&flips), size, &mut out).unwrap();
        out
    }

    #[test]
    fn whole_pixels_at_their_own_size_stay_as_they_are() {
        let from: Vec<u8> = (0..20).map(|n| n * 10).collect();
        let out = cropped(&from, 5, [1.0, 1.0, 3.0, 2.0], ImageSize::new(3, 2), 0);
        assert_eq!(out, [60, 70, 80, 110, 120, 130]);
        let out = cropped(&from, 5, [1.0, 1.0, 3.0, 2.0], ImageSize::new(3, 2), 1);
        assert_eq!(out, [80, 70, 60, 130, 120, 110]);
    }

    #[test]
    fn reduced_pictures_are_antialiased() {
        // Weights 1/4, 3/4, 3/4, 1/4 where four pixels are in reach, three at the ends.
        let out = cropped(&[0, 0, 255, 255], 4, [0.0, 0.0, 4.0, 1.0], ImageSize::new(2, 1), 0);
        assert_eq!(out, [36, 219]);
    }

    #[test]
    fn a_crop_reads_nothing_outside_its_box() {
        let out = cropped(&[255, 0, 0, 255], 4, [1.0, 0.0, 2.0, 1.0], ImageSize::new(8, 1), 0);
        assert_eq!(out, [0; 8]);
    }

    #[test]
    fn boxes_that_are_no_part_of_the_picture_are_refused() {
        fn area(left: f32, top: f32, width: f32, height: f32) -> CropBox {
            CropBox { left, top, width, height }
        }

        let size = ImageSize::new(10, 10);
        assert!(area(0.0, 0.0, 10.0, 10.0).check(size).is_ok());
        for outside in [
            area(-0.5, 0.0, 5.0, 5.0),
            area(0.0, 6.0, 5.0, 5.0),
            area(0.0, 0.0, 0.0, 5.0),
            area(0.0, 0.0, f32::NAN, 5.0),
            area(f32::INFINITY, 0.0, 5.0, 5.0),
        ] {
            assert!(outside.check(size).is_err(), "{outside:?}");
        }
        assert_eq!(CropBox::from(Cut::whole(size)).numbers(), [0.0, 0.0, 10.0, 10.0]);
    }
}
