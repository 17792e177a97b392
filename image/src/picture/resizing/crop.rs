//! Crop and resize of a batch: one box of each picture, at another size.
//!
//! Pure: the boxes, and a host implementation in double precision, one axis after the other, which the
//! kernel is tested against.

use std::ops::Range;

use tarflume_types::{Error, Result};

use crate::picture::convert::{Finish, Pictures};
use crate::picture::geometry::{Area, Cut, ImageSize};

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

/// The weights of consecutive input pixels along one axis that make one output pixel.
#[derive(Debug, Clone)]
struct Weights {
    first: usize,
    weights: Vec<f64>,
}

/// The weights of each output pixel along an axis. The filter is a triangle as wide as two output pixels,
/// but at least two input pixels: what Pillow (`Resample.c`, `precompute_coeffs`), and torchvision with
/// `antialias=True`, call bilinear. Only the whole pixels that the box touches are read, as if they had
/// been cropped first; the weights of the rest are redistributed by the division by their sum.
fn weights(start: f32, length: f32, out_length: u32, picture_length: u32) -> Vec<Weights> {
    let start = f64::from(start);
    let length = f64::from(length);
    let scale = length / f64::from(out_length);
    let reach = scale.max(1.0);
    let least = start.floor() as usize;
    let end = ((start + length).ceil() as usize).clamp(least + 1, picture_length as usize);
    let middles = (0..out_length).map(|at| start + (f64::from(at) + 0.5) * scale);
    middles.map(|middle| weights_around(middle, reach, least..end)).collect()
}

/// The weights of the output pixel whose middle is at `middle` of the input, of the pixels that may be read.
fn weights_around(middle: f64, reach: f64, pixels: Range<usize>) -> Weights {
    let mut candidates = pixels.clone();
    let first = candidates.find(|&pixel| triangle(pixel, middle, reach) > 0.0);
    let first = first.unwrap_or(pixels.start);
    let all = (first..pixels.end).map(|pixel| triangle(pixel, middle, reach));
    let all: Vec<f64> = all.take_while(|&weight| weight > 0.0).collect();
    let sum: f64 = all.iter().sum();
    Weights { first, weights: all.iter().map(|weight| weight / sum).collect() }
}

/// The height above a pixel of the triangle around `middle` whose top is 1.
fn triangle(pixel: usize, middle: f64, reach: f64) -> f64 {
    (1.0 - (pixel as f64 + 0.5 - middle).abs() / reach).max(0.0)
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
            self.draw_row(&row, &finished, out);
        }
        Ok(())
    }

    /// Draws the box of one picture into a row of `finished`.
    pub(crate) fn draw_row(&self, from: &RowPixels<'_>, finished: &Pictures, out: &mut [u8]) {
        let width = finished.size().width as usize;
        let channels = finished.channels();
        let values = resized(from, channels, finished.size());
        for (n, value) in values.into_iter().enumerate() {
            let pixel = n / channels;
            let channel = n % channels;
            let x = pixel % width;
            let to = if from.flip { pixel - x + width - 1 - x } else { pixel };
            self.put(out, self.place(finished, channel, to), channel, value as f32);
        }
    }
}

/// The box of one picture, resized to `size`: `[height, width, channels]`, in the range 0 to 255.
fn resized(from: &RowPixels<'_>, channels: usize, size: ImageSize) -> Vec<f64> {
    let RowPixels { size: all, bytes, area, .. } = *from;
    let stride = all.width as usize * channels;
    let across = weights(area.left, area.width, size.width, all.width);
    let down = weights(area.top, area.height, size.height, all.height);
    let mut narrow = Vec::with_capacity(all.height as usize * size.width as usize * channels);
    for line in bytes.chunks_exact(stride) {
        for Weights { first, weights } in &across {
            narrow.extend((0..channels).map(|channel| {
                let bytes = line[first * channels + channel..].iter().step_by(channels);
                bytes.zip(weights).map(|(&byte, weight)| f64::from(byte) * weight).sum::<f64>()
            }));
        }
    }
    let narrow_stride = size.width as usize * channels;
    let mut values = Vec::with_capacity(size.height as usize * narrow_stride);
    for Weights { first, weights } in &down {
        values.extend((0..narrow_stride).map(|at| {
            let column = narrow[first * narrow_stride + at..].iter().step_by(narrow_stride);
            column.zip(weights).map(|(value, weight)| value * weight).sum::<f64>()
        }));
    }
    values
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
