//! Pictures as YUV 4:2:0 planes, which need half the device memory of RGB.
//!
//! Pure: conversion in both directions on the host, which the kernel is tested against. Full-range BT.601 as
//! in JFIF, in 16-bit fixed point, with libjpeg's rounding (`jccolor.c`, `jdcolor.c`, `jdsample.c`).

use tarflume_types::{Error, Result};

use crate::picture::convert::Pictures;
use crate::picture::geometry::ImageSize;

/// Columns and lines of a chroma plane.
fn halves(size: ImageSize) -> (usize, usize) {
    (size.width.div_ceil(2) as usize, size.height.div_ceil(2) as usize)
}

/// Bytes of a picture of `size` (fewer than 2^31 pixels) as planes without gaps.
pub fn yuv420_bytes(size: ImageSize) -> usize {
    let (columns, lines) = halves(size);
    size.pixels() as usize + 2 * columns * lines
}

/// Writes `pictures` (`from`: u8 `[rows, height, width, 3]`) as planes into rows of `store`, which are
/// `stride` bytes long, beginning with row `first`. A chroma sample is the mean of 2 x 2 pixels. At odd
/// sizes the last line and column are repeated.
///
/// # Errors
/// Returns an error if the pictures do not have 3 channels, have another length, or do not fit the rows.
pub fn planes_on_host(
    pictures: &Pictures,
    from: &[u8],
    store: &mut [u8],
    stride: usize,
    first: usize,
) -> Result<()> {
    let size = pictures.size();
    let needed = yuv420_bytes(size);
    if pictures.channels() != 3 || from.len() != pictures.bytes() || needed > stride {
        let text = format!("{pictures:?} in {} bytes as rows of {stride} bytes", from.len());
        return Err(Error::usage(text));
    }
    let rows = store.chunks_exact_mut(stride).skip(first);
    if rows.len() < pictures.rows() {
        let text =
            format!("{} pictures where the store has {} rows left", pictures.rows(), rows.len());
        return Err(Error::usage(text));
    }
    for (row, picture) in rows.zip(from.chunks_exact(pictures.row_bytes())) {
        to_planes(size, picture, &mut row[..needed]);
    }
    Ok(())
}

/// Writes one picture, interleaved RGB, as planes.
fn to_planes(size: ImageSize, picture: &[u8], planes: &mut [u8]) {
    let (columns, lines) = halves(size);
    let width = size.width as usize;
    let height = size.height as usize;
    let (luma, chroma) = planes.split_at_mut(width * height);
    let (blue, red) = chroma.split_at_mut(columns * lines);
    for (at, luma) in luma.iter_mut().enumerate() {
        let [r, g, b] = pixel(size, picture, at % width, at / width);
        *luma = ((19_595 * r + 38_470 * g + 7471 * b + (1 << 15)) >> 16) as u8;
    }
    for (at, (blue, red)) in blue.iter_mut().zip(red).enumerate() {
        let x = 2 * (at % columns);
        let y = 2 * (at / columns);
        let corners = [(x, y), (x + 1, y), (x, y + 1), (x + 1, y + 1)]
            .map(|(x, y)| pixel(size, picture, x, y));
        let [r, g, b] =
            [0, 1, 2].map(|channel| corners.iter().map(|corner| corner[channel]).sum::<i32>());
        // The sum of four pixels has two more bits than one, hence 18. The offset is one less than a
        // half, so that the maximum rounds to 255 and not to 256.
        let middle = (128 << 18) + (1 << 17) - 1;
        *blue = ((-11_059 * r - 21_709 * g + 32_768 * b + middle) >> 18) as u8;
        *red = ((32_768 * r - 27_439 * g - 5329 * b + middle) >> 18) as u8;
    }
}

/// The colors of a pixel of an interleaved picture; outside it, those of the nearest pixel.
#[inline]
fn pixel(size: ImageSize, picture: &[u8], x: usize, y: usize) -> [i32; 3] {
    let width = size.width as usize;
    let at = y.min(size.height as usize - 1) * width + x.min(width - 1);
    std::array::from_fn(|channel| picture[3 * at + channel].into())
}

/// A plane of chroma, which has half as many samples along each axis as the picture has pixels.
struct Chroma<'a> {
    samples: &'a [u8],
    columns: usize,
    lines: usize,
}

impl Chroma<'_> {
    #[inline]
    fn sample(&self, column: usize, line: usize) -> i32 {
        self.samples[line * self.columns + column].into()
    }

    /// The chroma of a pixel, from -128 on.
    #[inline]
    fn at(&self, x: usize, y: usize) -> i32 {
        let near_x = x / 2;
        let far_x = neighbor(x, self.columns);
        let near_y = y / 2;
        let far_y = neighbor(y, self.lines);
        let near = 3 * self.sample(near_x, near_y) + self.sample(near_x, far_y);
        let far = 3 * self.sample(far_x, near_y) + self.sample(far_x, far_y);
        // Ties round up at even and down at odd columns, as in libjpeg, so that they do not bias the mean.
        ((3 * near + far + if x.is_multiple_of(2) { 8 } else { 7 }) >> 4) - 128
    }
}

/// The farther of the two of `count` samples between which pixel `at` is.
#[inline]
fn neighbor(at: usize, count: usize) -> usize {
    let other = if at % 2 == 1 { at / 2 + 1 } else { (at / 2).saturating_sub(1) };
    other.min(count - 1)
}

/// Converts planes to interleaved RGB. Chroma is upsampled with libjpeg's "fancy" triangle filter: 3/4 of the
/// nearer sample and 1/4 of the farther one along each axis.
pub(crate) fn from_planes(size: ImageSize, planes: &[u8]) -> Vec<u8> {
    let (columns, lines) = halves(size);
    let width = size.width as usize;
    let pixels = size.pixels() as usize;
    let samples = columns * lines;
    let blues = Chroma { samples: &planes[pixels..], columns, lines };
    let reds = Chroma { samples: &planes[pixels + samples..], columns, lines };
    let mut rgb = Vec::with_capacity(3 * pixels);
    for (at, &luma) in planes[..pixels].iter().enumerate() {
        let x = at % width;
        let y = at / width;
        let luma = i32::from(luma);
        let blue = blues.at(x, y);
        let red = reds.at(x, y);
        let colors = [
            luma + ((91_881 * red + (1 << 15)) >> 16),
            luma + ((-22_554 * blue - 46_802 * red + (1 << 15)) >> 16),
            luma + ((116_130 * blue + (1 << 15)) >> 16),
        ];
        rgb.extend(colors.map(|value| value.clamp(0, 255) as u8));
    }
    rgb
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planes(size: ImageSize, from: &[u8]) -> Vec<u8> {
        let mut planes = vec![0; yuv420_bytes(size)];
        let stride = planes.len();
        let pictures = Pictures::new(1, size, 3).unwrap();
        planes_on_host(&pictures, from, &mut planes, stride, 0).unwrap();
        planes
    }

    #[test]
    fn known_colors_have_known_planes() {
        let one = ImageSize::new(1, 1);
        assert_eq!(planes(one, &[255, 0, 0]), [76, 85, 255]);
        assert_eq!(planes(one, &[0, 255, 0]), [150, 44, 21]);
        assert_eq!(planes(one, &[0, 0, 255]), [29, 255, 107]);
        for gray in 0..=255 {
            assert_eq!(planes(one, &[gray; 3]), [gray, 128, 128]);
            assert_eq!(from_planes(one, &[gray, 128, 128]), [gray; 3]);
        }
    }

    #[test]
    fn chroma_is_a_mean_of_four_and_the_edge_stands_for_what_is_beyond() {
        // Two columns of blue, one of black; 3 x 1 pixels.
        let made = planes(ImageSize::new(3, 1), &[0, 0, 255, 0, 0, 0, 0, 0, 255]);
        assert_eq!(made, [29, 0, 29, 192, 255, 118, 107]);
        assert_eq!(yuv420_bytes(ImageSize::new(3, 1)), 7);
        assert_eq!(yuv420_bytes(ImageSize::new(224, 224)), 224 * 224 * 3 / 2);
    }

    #[test]
    fn chroma_between_samples_is_three_parts_of_the_nearer() {
        // Luma 100; blue 128 and 144, red 128: of blue come 128, 132, 140, 144.
        let rgb = from_planes(ImageSize::new(4, 1), &[100, 100, 100, 100, 128, 144, 128, 128]);
        let blue: Vec<u8> = rgb.chunks(3).map(|pixel| pixel[2]).collect();
        assert_eq!(blue, [100, 107, 121, 128]);
    }

    #[test]
    fn a_smooth_picture_survives_the_round_trip() {
        let size = ImageSize::new(33, 21);
        let from: Vec<u8> = (0..size.pixels())
            .flat_map(|at| [at % 33 * 7, at / 33 * 11, 90 + at % 33 * 2].map(|n| n as u8))
            .collect();
        let back = from_planes(size, &planes(size, &from));
        let furthest = from.iter().zip(&back).map(|(a, b)| a.abs_diff(*b)).max();
        assert!(furthest <= Some(7), "{furthest:?}");
    }

    #[test]
    fn pictures_that_do_not_fit_the_store_are_refused() {
        let pictures = Pictures::new(2, ImageSize::new(2, 2), 3).unwrap();
        let mut store = [7; 24];
        assert!(planes_on_host(&pictures, &[0; 24], &mut store, 5, 0).is_err());
        assert!(planes_on_host(&pictures, &[0; 23], &mut store, 8, 0).is_err());
        assert!(planes_on_host(&pictures, &[0; 24], &mut store, 8, 2).is_err());
        assert_eq!(store, [7; 24]);
        planes_on_host(&pictures, &[0; 24], &mut store, 8, 1).unwrap();
        assert_eq!(store[..8], [7; 8]);
        assert_eq!(store[8..], [0, 0, 0, 0, 128, 128, 7, 7].repeat(2));
    }
}
