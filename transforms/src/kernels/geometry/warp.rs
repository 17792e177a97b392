//! Warps: each pixel of the result is computed at a point of the picture.
//!
//! `coordinates` computes the points of a row as torchvision's kernels for tensors do, in the same order and precision.
//! `nearest` and `blend` compute its pixels.

pub(crate) mod blend;
pub(crate) mod coordinates;
pub(crate) mod nearest;

use tarflume_types::{Error, Result};

use crate::frame::Source;
use crate::kernels::sets::Set;
use crate::settings::{Fill, Interpolation};

use self::coordinates::Points;

/// How a warp computes a pixel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Taps {
    /// The nearest pixel.
    One,
    /// Two pixels on each axis.
    Two,
    /// Four pixels on each axis.
    Four,
}

impl Taps {
    /// The taps of an interpolation.
    ///
    /// # Errors
    /// Returns a usage error for one that only a resize has.
    pub(crate) fn of(interpolation: Interpolation) -> Result<Taps> {
        match interpolation {
            Interpolation::Nearest => Ok(Taps::One),
            Interpolation::Bilinear => Ok(Taps::Two),
            Interpolation::Bicubic => Ok(Taps::Four),
            Interpolation::Lanczos => Err(Error::usage(
                "interpolation is lanczos; a warp has nearest, bilinear or bicubic".to_owned(),
            )),
        }
    }
}

/// What a warp needs beside the points.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sampling {
    /// The pixels that are read for one.
    pub(crate) taps: Taps,
    /// Outside the picture.
    pub(crate) fill: Fill,
}

/// Writes a picture of `width` columns, with pixels of `source` at the points. `row` has [`row_room`].
pub(crate) fn warp(
    set: Set,
    source: Source<'_>,
    points: &Points<'_>,
    sampling: Sampling,
    width: usize,
    out: &mut [u8],
    row: &mut [f32],
) {
    if out.is_empty() {
        return;
    }
    let axes = row[..row_room(width)].split_at_mut(row_room(width) / 2);
    let Sampling { taps, fill } = sampling;
    for (y, line) in out.chunks_exact_mut(width * source.channels).enumerate() {
        points.row(set, y, &mut axes.0[..width], &mut axes.1[..width]);
        match taps {
            Taps::One => nearest::row(set, source, axes.0, axes.1, fill.0, line),
            Taps::Two => blend::bilinear(set, source, axes.0, axes.1, fill.0, line),
            Taps::Four => blend::bicubic(set, source, axes.0, axes.1, fill.0, line),
        }
    }
}

/// The numbers that the points of a row of `width` pixels need room for.
pub(crate) fn row_room(width: usize) -> usize {
    2 * width.next_multiple_of(blend::BLOCK)
}

#[cfg(test)]
mod tests {
    use tarflume_image::{ImageSize, Random};

    use super::*;

    const TAPS: [Taps; 3] = [Taps::One, Taps::Two, Taps::Four];

    fn noise(length: usize) -> Vec<u8> {
        let mut random = Random::new(length as u64);
        (0..length).map(|_| random.bits() as u8).collect()
    }

    fn warped(set: Set, source: Source<'_>, points: &Points<'_>, taps: Taps) -> Vec<u8> {
        let width = source.size.width as usize;
        let mut out = vec![0; source.bytes.len()];
        let mut row = vec![f32::NAN; row_room(width)];
        let sampling = Sampling { taps, fill: Fill([7, 90, 200]) };
        warp(set, source, points, sampling, width, &mut out, &mut row);
        out
    }

    fn every_set_agrees(source: Source<'_>, points: &Points<'_>) {
        for taps in TAPS {
            let expected = warped(Set::Portable, source, points, taps);
            for set in Set::all() {
                let found = warped(set, source, points, taps);
                assert_eq!(found, expected, "{set:?} {taps:?} {:?}", source.size);
            }
        }
    }

    #[test]
    fn every_set_has_the_same_pixels() {
        let sizes = [[1, 1], [1, 300], [300, 1], [10_000, 1], [2, 3], [3, 2], [37, 41], [129, 65]];
        for [width, height] in sizes {
            for channels in [1, 3] {
                let size = ImageSize::new(width, height);
                let bytes = noise(size.pixels() as usize * channels);
                let source = Source { bytes: &bytes, size, channels };
                for matrix in [
                    [1.0, 0.0, 0.0, 0.0, 1.0, 0.0],
                    [0.8, 0.5, -3.25, -0.5, 0.8, 2.5],
                    // Taps that are neighbors in a row: a shear along the rows, and translations.
                    [1.0, 0.2, -3.25, 0.0, 1.0, 2.5],
                    [1.0, 0.0, 1.3, 0.0, 1.0, -1.7],
                    [1.0, 0.0, 0.0, 0.0, 1.0, 400.0],
                    [1e-9, 30.0, 0.0, -30.0, 1e30, 4.0],
                    [f64::NAN, 0.0, f64::INFINITY, 1.0, 0.0, -1e300],
                ] {
                    every_set_agrees(source, &Points::affine(&matrix, size, size));
                }
                for factor in [0.01, -0.02, 5.0] {
                    let coefficients = [1.1, 0.1, -2.0, 0.1, 0.9, 1.0, factor, -factor];
                    every_set_agrees(source, &Points::perspective(&coefficients, size));
                }
                let count = size.pixels() as usize;
                let field: Vec<f32> =
                    noise(2 * count).iter().map(|b| f32::from(*b) / 255.0 - 0.5).collect();
                every_set_agrees(source, &Points::field(&field[..count], &field[count..], size));
            }
        }
    }

    #[test]
    fn the_identity_changes_nothing() {
        for [width, height] in [[1, 1], [1, 40], [40, 1], [3, 3], [61, 47]] {
            for channels in [1, 3] {
                let size = ImageSize::new(width, height);
                let bytes = noise(size.pixels() as usize * channels);
                let source = Source { bytes: &bytes, size, channels };
                let matrix = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0];
                for taps in TAPS {
                    let points = Points::affine(&matrix, size, size);
                    assert_eq!(warped(Set::best(), source, &points, taps), bytes, "{taps:?}");
                }
            }
        }
    }

    #[test]
    fn what_is_no_number_is_outside() {
        let size = ImageSize::new(2, 2);
        let source = Source { bytes: &[255; 12], size, channels: 3 };
        for taps in TAPS {
            let points = Points::affine(&[f64::NAN; 6], size, size);
            let found = warped(Set::best(), source, &points, taps);
            assert_eq!(found, [7, 90, 200].repeat(4), "{taps:?}");
        }
    }
}
