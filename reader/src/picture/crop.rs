//! A box of each picture of a batch, at another size: the random crop, done where the pictures are.
//!
//! Pure: the boxes, and the same done on the host in double precision, one direction after the other,
//! which is what the kernel is tested against.

use crate::error::{Error, Result};
use crate::picture::convert::{Finish, Pictures};
use crate::picture::geometry::{Area, Cut, ImageSize};

/// A part of a picture, in pixels and parts of pixels from its upper left corner.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CropBox {
    /// Left edge.
    pub left: f32,
    /// Upper edge.
    pub top: f32,
    /// Width.
    pub width: f32,
    /// Height.
    pub height: f32,
}

impl From<Cut> for CropBox {
    /// Exact for the first 16 Mi pixels of a side.
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
    /// In single precision, as the kernel has it.
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
    /// Left, top, width, height: a row of the kernel's `[rows, 4]`.
    pub fn numbers(&self) -> [f32; 4] {
        [self.left, self.top, self.width, self.height]
    }

    /// Checks it against the size of the picture.
    ///
    /// # Errors
    /// It is empty or lies outside by more than a rounding error.
    pub fn check(&self, size: ImageSize) -> Result<()> {
        let within = |start: f32, length: f32, all: u32| {
            let end = f64::from(start) + f64::from(length);
            start >= 0.0 && length > 0.0 && end <= f64::from(all) * (1.0 + 1e-6)
        };
        if within(self.left, self.width, size.width) && within(self.top, self.height, size.height) {
            return Ok(());
        }
        let CropBox { left, top, width, height } = self;
        let text =
            format!("a box of {width} x {height} at {left}, {top} is no part of {size} pixels");
        Err(Error::usage(text))
    }
}

/// The pixels along an axis of which an output pixel is made, and how much of each.
#[derive(Debug, Clone)]
struct Shares {
    first: usize,
    shares: Vec<f64>,
}

/// For each output pixel of an axis. A triangle as wide as two output pixels, never narrower than two
/// of the picture's: what Pillow, and torchvision with `antialias=True`, call bilinear. Nothing is
/// taken from outside the whole pixels that the box touches, as if they had been cut out before.
fn shares(start: f32, length: f32, out_length: u32, picture_length: u32) -> Vec<Shares> {
    let (start, length) = (f64::from(start), f64::from(length));
    let scale = length / f64::from(out_length);
    let reach = scale.max(1.0);
    let least = start.floor() as usize;
    let end = ((start + length).ceil() as usize).clamp(least + 1, picture_length as usize);
    let of = |at: u32| {
        let middle = start + (f64::from(at) + 0.5) * scale;
        let share = |pixel: usize| (1.0 - (pixel as f64 + 0.5 - middle).abs() / reach).max(0.0);
        let first = (least..end).find(|&pixel| share(pixel) > 0.0).unwrap_or(least);
        let shares: Vec<f64> = (first..end).map(share).take_while(|&share| share > 0.0).collect();
        let sum: f64 = shares.iter().sum();
        Shares { first, shares: shares.iter().map(|share| share / sum).collect() }
    };
    (0..out_length).map(of).collect()
}

impl Finish {
    /// Cuts each picture's box out, resizes it to `size`, smooths what becomes smaller, mirrors and
    /// finishes it: `boxes` and `flips` are by row, `out` of the shape of `pictures` resized.
    ///
    /// # Errors
    /// A slice has another length than the shape says, or a box does not lie in its picture.
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
            self.draw_row(pictures.size(), from, (area, flip), &finished, out);
        }
        Ok(())
    }

    /// The box of one picture of `size`, mirrored or not, as a row of `finished`.
    pub(crate) fn draw_row(
        &self,
        size: ImageSize,
        from: &[u8],
        (area, flip): (&CropBox, bool),
        finished: &Pictures,
        out: &mut [u8],
    ) {
        let (width, channels) = (finished.size().width as usize, finished.channels());
        let values = resized((size, channels), from, area, finished.size());
        for (n, value) in values.into_iter().enumerate() {
            let (pixel, channel) = (n / channels, n % channels);
            let x = pixel % width;
            let to = if flip { pixel - x + width - 1 - x } else { pixel };
            self.put(out, self.place(finished, channel, to), channel, value as f32);
        }
    }
}

/// The box of one picture at another size: `[height, width, channels]` on a scale of 0 to 255.
fn resized(
    (all, channels): (ImageSize, usize),
    from: &[u8],
    area: &CropBox,
    size: ImageSize,
) -> Vec<f64> {
    let stride = all.width as usize * channels;
    let across = shares(area.left, area.width, size.width, all.width);
    let down = shares(area.top, area.height, size.height, all.height);
    let mut narrow = Vec::with_capacity(all.height as usize * size.width as usize * channels);
    for line in from.chunks_exact(stride) {
        for Shares { first, shares } in &across {
            narrow.extend((0..channels).map(|channel| {
                let bytes = line[first * channels + channel..].iter().step_by(channels);
                bytes.zip(shares).map(|(&byte, share)| f64::from(byte) * share).sum::<f64>()
            }));
        }
    }
    let narrow_stride = size.width as usize * channels;
    let mut values = Vec::with_capacity(size.height as usize * narrow_stride);
    for Shares { first, shares } in &down {
        values.extend((0..narrow_stride).map(|at| {
            let column = narrow[first * narrow_stride + at..].iter().step_by(narrow_stride);
            column.zip(shares).map(|(value, share)| value * share).sum::<f64>()
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
    fn what_becomes_smaller_is_smoothed() {
        // Weights 1/4, 3/4, 3/4, 1/4 where four pixels are in reach, three at the ends.
        let out = cropped(&[0, 0, 255, 255], 4, [0.0, 0.0, 4.0, 1.0], ImageSize::new(2, 1), 0);
        assert_eq!(out, [36, 219]);
    }

    #[test]
    fn nothing_outside_the_box_is_seen() {
        let out = cropped(&[255, 0, 0, 255], 4, [1.0, 0.0, 2.0, 1.0], ImageSize::new(8, 1), 0);
        assert_eq!(out, [0; 8]);
    }

    #[test]
    fn boxes_that_are_no_part_of_the_picture_are_refused() {
        let size = ImageSize::new(10, 10);
        let area = |left, top, width, height| CropBox { left, top, width, height };
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
