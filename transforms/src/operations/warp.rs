//! Operations that warp.

use serde::{Deserialize, Deserializer, Serialize};
use tarflume_image::Random;
use tarflume_types::{Error, Result};

use super::{Draw, Draws, Shape, probability};
use crate::actions::geometry::motion::Motion;
use crate::actions::{Action, Affine, Elastic, Perspective};
use crate::limits::{check_interpolation, check_range};
use crate::settings::{Fill, Interpolation};

mod corners;

use self::corners::coefficients;

/// Rotates, translates, scales and shears by uniformly distributed numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RandomAffine {
    /// The least and the largest angle, in degrees clockwise.
    pub degrees: [f64; 2],
    /// The largest translation to either side, as a part of the width and of the height.
    #[serde(default)]
    pub translate: Option<[f64; 2]>,
    /// The least and the largest scale.
    #[serde(default)]
    pub scale: Option<[f64; 2]>,
    /// The least and the largest shear along x, and those along y, in degrees. Two numbers are those along x.
    #[serde(default, deserialize_with = "shear")]
    pub shear: Option<[f64; 4]>,
    /// Nearest, bilinear or bicubic.
    #[serde(default = "nearest")]
    pub interpolation: Interpolation,
    /// Outside the picture.
    #[serde(default)]
    pub fill: Fill,
    /// What stays in its place: pixels from the left and the top. None is the center of the picture.
    #[serde(default)]
    pub center: Option<[f64; 2]>,
}

/// The forms of a shear.
#[derive(Deserialize)]
#[serde(untagged)]
enum ShearForm {
    Along([f64; 2]),
    Both([f64; 4]),
}

fn shear<'de, D: Deserializer<'de>>(from: D) -> Result<Option<[f64; 4]>, D::Error> {
    let form = Option::<ShearForm>::deserialize(from)?;
    Ok(form.map(|form| match form {
        ShearForm::Along([least, most]) => [least, most, 0.0, 0.0],
        ShearForm::Both(ranges) => ranges,
    }))
}

/// The default of torchvision's affine operations.
pub(super) fn nearest() -> Interpolation {
    Interpolation::Nearest
}

impl RandomAffine {
    fn motion(&self, on: Shape, random: &mut Random) -> Motion {
        let angle = random.between(self.degrees[0], self.degrees[1]);
        let mut motion = Motion { angle, center: self.center, ..Motion::default() };
        if let Some([x, y]) = self.translate {
            let most = [x * f64::from(on.size.width), y * f64::from(on.size.height)];
            motion.translate = most.map(|most| random.between(-most, most).round_ties_even());
        }
        if let Some([least, most]) = self.scale {
            motion.scale = random.between(least, most);
        }
        if let Some([least_x, most_x, least_y, most_y]) = self.shear {
            motion.shear = [random.between(least_x, most_x), random.between(least_y, most_y)];
        }
        motion
    }
}

impl Draw for RandomAffine {
    fn draw(&self, on: Shape, draws: Draws<'_>, actions: &mut Vec<Action>) -> Result<()> {
        let motion = self.motion(on, &mut draws.random());
        actions.push(Affine::of(&motion, on.size, self.interpolation, self.fill).into());
        Ok(())
    }

    fn validate(&self) -> Result<()> {
        check_range("RandomAffine", "degrees", self.degrees)?;
        for part in self.translate.into_iter().flatten() {
            if !(0.0..=1.0).contains(&part) {
                return Err(Error::usage(format!(
                    "RandomAffine: translate has {part}; a part of the picture is 0 to 1"
                )));
            }
        }
        if let Some(scale) = self.scale {
            check_range("RandomAffine", "scale", scale)?;
            if scale[0] <= 0.0 {
                let least = scale[0];
                return Err(Error::usage(format!(
                    "RandomAffine: scale has {least}; a scale is above 0"
                )));
            }
        }
        if let Some([least_x, most_x, least_y, most_y]) = self.shear {
            check_range("RandomAffine", "shear", [least_x, most_x])?;
            check_range("RandomAffine", "shear", [least_y, most_y])?;
        }
        check_interpolation("RandomAffine", self.interpolation)
    }
}

/// Moves the corners of the picture inwards by random distances, with a probability.
///
/// A picture that is one pixel wide or high stays as it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RandomPerspective {
    /// The largest distance, as a part of half the width and half the height.
    pub distortion_scale: f64,
    /// The probability.
    pub p: f64,
    /// Nearest, bilinear or bicubic.
    pub interpolation: Interpolation,
    /// Outside the picture.
    pub fill: Fill,
}

impl Default for RandomPerspective {
    fn default() -> RandomPerspective {
        RandomPerspective {
            distortion_scale: 0.5,
            p: 0.5,
            interpolation: Interpolation::Bilinear,
            fill: Fill::default(),
        }
    }
}

impl RandomPerspective {
    /// The corners in the result, from the upper left one clockwise.
    fn corners(&self, on: Shape, random: &mut Random) -> [[f64; 2]; 4] {
        let sides = [on.size.width, on.size.height];
        let bounds = sides.map(|side| (self.distortion_scale * f64::from(side / 2)) as u64 + 1);
        [[false, false], [true, false], [true, true], [false, true]].map(|far| {
            std::array::from_fn(|axis| {
                let inwards = random.below(bounds[axis]);
                let place = if far[axis] { u64::from(sides[axis]) - 1 - inwards } else { inwards };
                place as f64
            })
        })
    }
}

impl Draw for RandomPerspective {
    fn draw(&self, on: Shape, draws: Draws<'_>, actions: &mut Vec<Action>) -> Result<()> {
        let mut random = draws.random();
        if !random.chance(self.p) {
            return Ok(());
        }
        let corners = self.corners(on, &mut random);
        if let Some(coefficients) = coefficients(on.size, &corners) {
            let Self { interpolation, fill, .. } = *self;
            actions.push(Perspective { coefficients, interpolation, fill }.into());
        }
        Ok(())
    }

    fn validate(&self) -> Result<()> {
        probability("RandomPerspective", "p", self.p)?;
        probability("RandomPerspective", "distortion_scale", self.distortion_scale)?;
        check_interpolation("RandomPerspective", self.interpolation)
    }
}

/// Moves pixels by a smooth random field.
///
/// A picture that is smaller than the Gaussian is mirrored as often as needed; torchvision refuses it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ElasticTransform {
    /// Strength across and down.
    pub alpha: [f64; 2],
    /// Standard deviation of the smoothing across and down in pixels: both above 0, or both 0 for none.
    pub sigma: [f64; 2],
    /// Nearest, bilinear or bicubic.
    pub interpolation: Interpolation,
    /// Outside the picture.
    pub fill: Fill,
}

impl Default for ElasticTransform {
    fn default() -> ElasticTransform {
        ElasticTransform {
            alpha: [50.0; 2],
            sigma: [5.0; 2],
            interpolation: Interpolation::Bilinear,
            fill: Fill::default(),
        }
    }
}

impl Draw for ElasticTransform {
    fn draw(&self, _: Shape, draws: Draws<'_>, actions: &mut Vec<Action>) -> Result<()> {
        let ElasticTransform { alpha, sigma, interpolation, fill } = *self;
        let seed = draws.random().bits();
        actions.push(Elastic { alpha, sigma, seed, interpolation, fill }.into());
        Ok(())
    }

    fn validate(&self) -> Result<()> {
        let [alpha, sigma] = [self.alpha, self.sigma];
        if !alpha.iter().all(|alpha| alpha.is_finite()) {
            return Err(Error::usage(format!("ElasticTransform: alpha is {alpha:?}; use numbers")));
        }
        let smooth = sigma.iter().all(|sigma| *sigma > 0.0 && *sigma <= 1000.0);
        if !smooth && sigma != [0.0; 2] {
            return Err(Error::usage(format!(
                "ElasticTransform: sigma is {sigma:?}; both are above 0 and at most 1000 pixels, or both are 0"
            )));
        }
        check_interpolation("ElasticTransform", self.interpolation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn affine(text: &str) -> RandomAffine {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn arguments_have_torchvisions_defaults_and_forms() {
        let plain = affine(r#"{"degrees": [0, 0]}"#);
        assert_eq!(plain.interpolation, Interpolation::Nearest);
        assert_eq!(plain.shear, None);
        let sheared = affine(r#"{"degrees": [0, 0], "shear": [-1, 2], "fill": 7}"#);
        assert_eq!(sheared.shear, Some([-1.0, 2.0, 0.0, 0.0]));
        assert_eq!(sheared.fill, Fill::from(7));
        let written = serde_json::to_string(&sheared).unwrap();
        assert_eq!(affine(&written), sheared);
    }

    #[test]
    fn arguments_out_of_range_are_refused() {
        for text in [
            r#"{"degrees": [5, -5]}"#,
            r#"{"degrees": [0, 0], "translate": [0.1, 1.1]}"#,
            r#"{"degrees": [0, 0], "scale": [0, 1]}"#,
            r#"{"degrees": [0, 0], "shear": [1, 0]}"#,
            r#"{"degrees": [0, 0], "interpolation": "lanczos"}"#,
        ] {
            assert!(affine(text).validate().is_err(), "{text}");
        }
        let elastic = ElasticTransform { sigma: [5.0, 0.0], ..ElasticTransform::default() };
        assert!(elastic.validate().is_err());
        assert!(ElasticTransform::default().validate().is_ok());
        assert!(RandomPerspective::default().validate().is_ok());
    }
}
