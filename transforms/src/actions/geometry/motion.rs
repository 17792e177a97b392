//! `Motion`: the angle, translation, scale and shear of an affine action.

use tarflume_image::ImageSize;

use super::moves::QuarterTurn;
use super::warps::Affine;
use crate::actions::Action;
use crate::numbers::exact::{cos, sin, tan};
use crate::settings::{Fill, Interpolation};

/// What an affine action does, in the arguments of `torchvision.transforms.v2.functional.affine`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Motion {
    /// Degrees, clockwise.
    pub(crate) angle: f64,
    /// Pixels to the right and down, after the rotation.
    pub(crate) translate: [f64; 2],
    /// Above 0.
    pub(crate) scale: f64,
    /// Degrees along x and along y.
    pub(crate) shear: [f64; 2],
    /// What stays in its place: pixels from the left and the top. None is the center of the picture.
    pub(crate) center: Option<[f64; 2]>,
}

impl Default for Motion {
    /// No motion.
    fn default() -> Motion {
        Motion { angle: 0.0, translate: [0.0; 2], scale: 1.0, shear: [0.0; 2], center: None }
    }
}

impl Motion {
    /// Torchvision's inverse matrix for a picture of this size.
    fn inverse(&self, size: ImageSize) -> [f64; 6] {
        let sides = [f64::from(size.width), f64::from(size.height)];
        let center = self.center.map_or([0.0; 2], |center| {
            std::array::from_fn(|axis| center[axis] - sides[axis] * 0.5)
        });
        let angle = self.angle.to_radians();
        let shear = self.shear.map(f64::to_radians);
        let a = cos(angle - shear[1]) / cos(shear[1]);
        let b = -(a * tan(shear[0]) + sin(angle));
        let c = sin(angle - shear[1]) / cos(shear[1]);
        let d = cos(angle) - c * tan(shear[0]);
        let inverse = [d / self.scale, -b / self.scale, -c / self.scale, a / self.scale];
        let moved: [f64; 2] = std::array::from_fn(|axis| center[axis] + self.translate[axis]);
        let x = center[0] - inverse[0] * moved[0] - inverse[1] * moved[1];
        let y = center[1] - inverse[2] * moved[0] - inverse[3] * moved[1];
        [inverse[0], inverse[1], x, inverse[2], inverse[3], y]
    }
}

impl Affine {
    /// Torchvision's `affine` of a picture of this size, which the result has, too.
    pub(crate) fn of(
        motion: &Motion,
        size: ImageSize,
        interpolation: Interpolation,
        fill: Fill,
    ) -> Affine {
        let matrix = motion.inverse(size);
        Affine { matrix, size: [size.height, size.width], interpolation, fill }
    }
}

/// How a picture is rotated, in the arguments of `torchvision.transforms.v2.functional.rotate`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Rotation {
    /// Degrees, counterclockwise.
    pub(crate) angle: f64,
    /// Makes the result large enough for the whole picture.
    pub(crate) expand: bool,
    /// What stays in its place: pixels from the left and the top. None is the center of the picture.
    pub(crate) center: Option<[f64; 2]>,
}

impl Rotation {
    /// Torchvision's `rotate` of a picture of this size: none for a full turn, else a quarter turn or an affine action.
    pub(crate) fn action(
        &self,
        size: ImageSize,
        interpolation: Interpolation,
        fill: Fill,
    ) -> Option<Action> {
        let angle = self.angle.rem_euclid(360.0);
        let turns = angle / 90.0;
        let any_size = self.expand || size.width == size.height;
        if self.center.is_none() && turns.fract() == 0.0 && (any_size || turns % 2.0 == 0.0) {
            let turns = turns as u8 % 4;
            return (turns > 0).then(|| QuarterTurn { turns }.into());
        }
        let motion = Motion { angle: -angle, center: self.center, ..Motion::default() };
        let mut affine = Affine::of(&motion, size, interpolation, fill);
        if self.expand {
            affine.size = expanded(&affine.matrix, size);
        }
        Some(affine.into())
    }
}

/// Height and width of what the matrix makes of the corners.
pub(crate) fn expanded(matrix: &[f64; 6], size: ImageSize) -> [u32; 2] {
    let half = [size.width, size.height].map(|side| side as f32 * 0.5);
    [extent(&matrix[3..], half, half[1]), extent(&matrix[..3], half, half[0])]
}

/// The pixels that one row of the matrix makes of the corners, in torchvision's single precision.
fn extent(row: &[f64], half: [f32; 2], middle: f32) -> u32 {
    /// Drops what is below 1/10,000.
    fn shortened(place: f32) -> f32 {
        (place * 10_000.0).trunc() * 1e-4
    }

    let [a, b, c] = std::array::from_fn(|at| row[at] as f32);
    let x = half[0] * a;
    let y = half[1] * b;
    let corners = [-x - y + c, -x + y + c, x + y + c, x - y + c].map(|place| place + middle);
    let least = corners.into_iter().fold(f32::INFINITY, f32::min);
    let most = corners.into_iter().fold(f32::NEG_INFINITY, f32::max);
    (shortened(most).ceil() - shortened(least).floor()) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rotated(angle: f64, width: u32, height: u32) -> Option<Action> {
        let rotation = Rotation { angle, expand: false, center: None };
        rotation.action(ImageSize::new(width, height), Interpolation::Nearest, Fill::default())
    }

    #[test]
    fn multiples_of_90_degrees_are_quarter_turns() {
        assert_eq!(rotated(0.0, 3, 4), None);
        assert_eq!(rotated(-360.0, 3, 4), None);
        assert_eq!(rotated(-180.0, 3, 4), Some(QuarterTurn { turns: 2 }.into()));
        assert_eq!(rotated(90.0, 4, 4), Some(QuarterTurn { turns: 1 }.into()));
        assert_eq!(rotated(-90.0, 4, 4), Some(QuarterTurn { turns: 3 }.into()));
        assert!(matches!(rotated(90.0, 3, 4), Some(Action::Affine(_))));
        assert!(matches!(rotated(91.0, 4, 4), Some(Action::Affine(_))));
        // Less than nothing, rounded to a full turn.
        assert_eq!(rotated(-1e-300, 4, 4), None);
    }

    #[test]
    fn no_motion_is_the_identity() {
        let size = ImageSize::new(5, 4);
        assert_eq!(Motion::default().inverse(size), [1.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
        let motion = Motion { center: Some([0.0, 0.0]), ..Motion::default() };
        assert_eq!(motion.inverse(size), [1.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
    }
}
