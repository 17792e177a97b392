//! Actions that sample the picture at points between its pixels.

use serde::{Deserialize, Serialize};
use tarflume_image::{ImageSize, make_room};
use tarflume_types::Result;

use crate::actions::apply::Apply;
use crate::actions::record::{Change, Record, bits};
use crate::frame::Frame;
use crate::kernels::geometry::elastic::Field;
use crate::kernels::geometry::warp::coordinates::Points;
use crate::kernels::geometry::warp::{Sampling, Taps, row_room, warp};
use crate::kernels::sets::Set;
use crate::settings::{Fill, Interpolation};

/// Rotates, translates, scales and shears.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Affine {
    /// Maps a point of the result, from its center, to a point of the picture, from its center: torchvision's inverse matrix.
    pub matrix: [f64; 6],
    /// Height and width of the result.
    pub size: [u32; 2],
    /// Nearest, bilinear or bicubic.
    pub interpolation: Interpolation,
    /// Outside the picture.
    pub fill: Fill,
}

impl Apply for Affine {
    fn apply(&self, frame: &mut Frame) -> Result<()> {
        let to = self.size(frame.size());
        let points = Points::affine(&self.matrix, frame.size(), to);
        sample(frame, to, &points, self.interpolation, self.fill)
    }

    fn size(&self, _: ImageSize) -> ImageSize {
        ImageSize::new(self.size[1], self.size[0])
    }

    fn room(&self, _: ImageSize, _: usize) -> u64 {
        4 * row_room(self.size[1] as usize) as u64
    }

    fn in_words(&self, on: ImageSize, _: usize, to: &mut Record) -> bool {
        let points = Points::affine(&self.matrix, on, on);
        in_words(Change::Affine, &points, self.interpolation, self.fill, to)
    }
}

/// Maps by a projection.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Perspective {
    /// Of torchvision: a point of the result to a point of the picture.
    pub coefficients: [f64; 8],
    /// Nearest, bilinear or bicubic.
    pub interpolation: Interpolation,
    /// Outside the picture.
    pub fill: Fill,
}

impl Apply for Perspective {
    fn apply(&self, frame: &mut Frame) -> Result<()> {
        let size = frame.size();
        let points = Points::perspective(&self.coefficients, size);
        sample(frame, size, &points, self.interpolation, self.fill)
    }

    fn room(&self, from: ImageSize, _: usize) -> u64 {
        4 * row_room(from.width as usize) as u64
    }

    fn in_words(&self, on: ImageSize, _: usize, to: &mut Record) -> bool {
        let points = Points::perspective(&self.coefficients, on);
        in_words(Change::Perspective, &points, self.interpolation, self.fill, to)
    }
}

fn sample(
    frame: &mut Frame,
    to: ImageSize,
    points: &Points<'_>,
    interpolation: Interpolation,
    fill: Fill,
) -> Result<()> {
    let sampling = Sampling { taps: Taps::of(interpolation)?, fill };
    let width = to.width as usize;
    make_room(&mut frame.room.floats, row_room(width))?;
    frame.redraw(to, |source, out, room| {
        warp(Set::best(), source, points, sampling, width, out, &mut room.floats);
    })
}

/// The taps on an axis, the fill, and the factors of the points.
fn in_words(
    change: Change,
    points: &Points<'_>,
    interpolation: Interpolation,
    fill: Fill,
    to: &mut Record,
) -> bool {
    let taps = match Taps::of(interpolation) {
        Ok(Taps::One) => 1,
        Ok(Taps::Two) => 2,
        Ok(Taps::Four) => 4,
        Err(_) => return false,
    };
    let Some(factors) = points.factors() else { return false };
    let [red, green, blue] = fill.0;
    to.set(change, [taps, u32::from_le_bytes([red, green, blue, 0])]);
    to.extend(bits(factors));
    true
}

/// Moves pixels by a smooth random field: uniform noise, smoothed by a Gaussian.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Elastic {
    /// Strength across and down: half of the picture's side is moved by this number divided by the side.
    pub alpha: [f64; 2],
    /// Standard deviation across and down in pixels. 0 leaves noise.
    pub sigma: [f64; 2],
    /// Of the field.
    pub seed: u64,
    /// Nearest, bilinear or bicubic.
    pub interpolation: Interpolation,
    /// Outside the picture.
    pub fill: Fill,
}

impl Apply for Elastic {
    fn apply(&self, frame: &mut Frame) -> Result<()> {
        let Elastic { alpha, sigma, seed, interpolation, fill } = *self;
        let sampling = Sampling { taps: Taps::of(interpolation)?, fill };
        let size = frame.size();
        let field = Field { size, alpha, sigma, seed };
        let needed = field.room().saturating_add(row_room(size.width as usize));
        make_room(&mut frame.room.floats, needed)?;
        frame.redraw(size, |source, out, room| {
            let set = Set::best();
            field.fill(set, &mut room.floats);
            let halves = room.floats.split_at_mut(field.pixels());
            let rest = halves.1.split_at_mut(field.pixels());
            let points = Points::field(halves.0, rest.0, size);
            warp(set, source, &points, sampling, size.width as usize, out, rest.1);
        })
    }

    fn room(&self, from: ImageSize, _: usize) -> u64 {
        let field = Field { size: from, alpha: self.alpha, sigma: self.sigma, seed: self.seed };
        4u64.saturating_mul(field.room().saturating_add(row_room(from.width as usize)) as u64)
    }
}
