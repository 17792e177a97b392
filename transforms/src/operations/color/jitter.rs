//! Operations that draw several factors of color: `ColorJitter`, `RandomPhotometricDistort`.

use serde::{Deserialize, Serialize};
use tarflume_image::Random;
use tarflume_types::Result;

use super::order::{permutation, shuffled};
use crate::actions::{Action, AdjustBrightness, AdjustContrast, AdjustHue, AdjustSaturation};
use crate::operations::{Draw, Draws, Shape, probability, range};

/// torchvision has no upper limit; a factor above this one gives two colors.
const FACTORS: [f64; 2] = [0.0, 1e6];
const TURNS: [f64; 2] = [-0.5, 0.5];

/// Changes brightness, contrast, saturation and hue by random factors, in random order.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ColorJitter {
    /// The range of the factor; none does not change the brightness, and neither does [1, 1].
    pub brightness: Option<[f64; 2]>,
    /// As for the brightness.
    pub contrast: Option<[f64; 2]>,
    /// As for the brightness.
    pub saturation: Option<[f64; 2]>,
    /// The range of the turn, within -0.5 to 0.5; none does not change the hue, and neither does
    /// [0, 0].
    pub hue: Option<[f64; 2]>,
}

impl Draw for ColorJitter {
    fn draw(&self, _: Shape, draws: Draws<'_>, actions: &mut Vec<Action>) -> Result<()> {
        let mut random = draws.random();
        let order = shuffled([0, 1, 2, 3], &mut random);
        let mut drawn = [
            drawn(self.brightness, 1.0, &mut random).map(brightness),
            drawn(self.contrast, 1.0, &mut random).map(contrast),
            drawn(self.saturation, 1.0, &mut random).map(saturation),
            drawn(self.hue, 0.0, &mut random).map(hue),
        ];
        actions.extend(order.into_iter().filter_map(|which| drawn[usize::from(which)].take()));
        Ok(())
    }

    fn validate(&self) -> Result<()> {
        let ranges = [
            ("brightness", self.brightness, FACTORS),
            ("contrast", self.contrast, FACTORS),
            ("saturation", self.saturation, FACTORS),
            ("hue", self.hue, TURNS),
        ];
        ranges.into_iter().try_for_each(|(argument, given, within)| {
            given.map_or(Ok(()), |given| range("ColorJitter", argument, given, within))
        })
    }
}

/// A factor of the range; none if every factor changes nothing.
fn drawn(range: Option<[f64; 2]>, nothing: f64, random: &mut Random) -> Option<f64> {
    let [low, high] = range.filter(|&range| range != [nothing; 2])?;
    Some(random.between(low, high))
}

fn brightness(factor: f64) -> Action {
    AdjustBrightness { factor }.into()
}

fn contrast(factor: f64) -> Action {
    AdjustContrast { factor }.into()
}

fn saturation(factor: f64) -> Action {
    AdjustSaturation { factor }.into()
}

fn hue(factor: f64) -> Action {
    AdjustHue { factor }.into()
}

/// The distortions of SSD: each of brightness, contrast, saturation, hue and the order of the
/// channels changes with a probability. Contrast comes before saturation and hue, or after them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RandomPhotometricDistort {
    /// The range of the factor.
    pub brightness: [f64; 2],
    /// The range of the factor.
    pub contrast: [f64; 2],
    /// The range of the factor.
    pub saturation: [f64; 2],
    /// The range of the turn, within -0.5 to 0.5.
    pub hue: [f64; 2],
    /// The probability of each change.
    pub p: f64,
}

impl Default for RandomPhotometricDistort {
    fn default() -> RandomPhotometricDistort {
        RandomPhotometricDistort {
            brightness: [0.875, 1.125],
            contrast: [0.5, 1.5],
            saturation: [0.5, 1.5],
            hue: [-0.05, 0.05],
            p: 0.5,
        }
    }
}

impl Draw for RandomPhotometricDistort {
    fn draw(&self, on: Shape, draws: Draws<'_>, actions: &mut Vec<Action>) -> Result<()> {
        let mut random = draws.random();
        let mut factor = |range: [f64; 2]| {
            let factor = random.between(range[0], range[1]);
            random.chance(self.p).then_some(factor)
        };
        let bright = factor(self.brightness).map(brightness);
        let mut contrasted = factor(self.contrast).map(contrast);
        let saturated = factor(self.saturation).map(saturation);
        let turned = factor(self.hue).map(hue);
        let before = if random.chance(0.5) { contrasted.take() } else { None };
        let permuted = random.chance(self.p).then(|| permutation(on, &mut random)).flatten();
        actions.extend(bright.into_iter().chain(before).chain(saturated).chain(turned));
        actions.extend(contrasted.into_iter().chain(permuted));
        Ok(())
    }

    fn validate(&self) -> Result<()> {
        const NAME: &str = "RandomPhotometricDistort";
        range(NAME, "brightness", self.brightness, FACTORS)?;
        range(NAME, "contrast", self.contrast, FACTORS)?;
        range(NAME, "saturation", self.saturation, FACTORS)?;
        range(NAME, "hue", self.hue, TURNS)?;
        probability(NAME, "p", self.p)
    }
}
