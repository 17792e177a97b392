//! Operations on the neighborhood of a pixel, noise, and compression.

pub mod erasing;

use serde::{Deserialize, Serialize};
use tarflume_types::{Error, Result};

use super::{Draw, Draws, Shape, probability};
use crate::actions::{self, Action, AdjustSharpness, Jpeg};

pub use self::erasing::RandomErasing;

/// The most taps of a blur.
const MOST_TAPS: u32 = 4095;

/// Blurs with a Gaussian whose standard deviation is uniform in a range.
///
/// A kernel may be larger than the picture, which torchvision refuses: the picture is mirrored more than once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GaussianBlur {
    /// Taps across and down, odd.
    pub kernel_size: [u32; 2],
    /// The range of the standard deviation in pixels.
    #[serde(default = "usual_sigma")]
    pub sigma: [f64; 2],
}

fn usual_sigma() -> [f64; 2] {
    [0.1, 2.0]
}

impl Draw for GaussianBlur {
    fn draw(&self, _: Shape, draws: Draws<'_>, actions: &mut Vec<Action>) -> Result<()> {
        let sigma = draws.random().between(self.sigma[0], self.sigma[1]);
        let blur = actions::GaussianBlur { kernel_size: self.kernel_size, sigma: [sigma, sigma] };
        actions.push(blur.into());
        Ok(())
    }

    fn validate(&self) -> Result<()> {
        let GaussianBlur { kernel_size: [across, down], sigma: [low, high] } = *self;
        if [across, down].iter().any(|taps| taps % 2 == 0 || *taps > MOST_TAPS) {
            return Err(Error::usage(format!(
                "GaussianBlur: kernel_size is [{across}, {down}]; taps are odd and at most {MOST_TAPS}"
            )));
        }
        if 0.0 < low && low <= high && high.is_finite() {
            return Ok(());
        }
        Err(Error::usage(format!(
            "GaussianBlur: sigma is [{low}, {high}]; pass a range of numbers above 0, the lower first"
        )))
    }
}

/// Adds normal noise to each value, a different one in each picture.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GaussianNoise {
    /// The mean, on a scale of 0 to 1.
    pub mean: f64,
    /// The standard deviation, on a scale of 0 to 1.
    pub sigma: f64,
    /// Whether results are limited to 0 to 255. If not, only their last 8 bits remain.
    pub clip: bool,
}

impl Default for GaussianNoise {
    fn default() -> GaussianNoise {
        GaussianNoise { mean: 0.0, sigma: 0.1, clip: true }
    }
}

impl Draw for GaussianNoise {
    fn draw(&self, _: Shape, draws: Draws<'_>, actions: &mut Vec<Action>) -> Result<()> {
        let GaussianNoise { mean, sigma, clip } = *self;
        let seed = draws.random().bits();
        actions.push(actions::GaussianNoise { mean, sigma, clip, seed }.into());
        Ok(())
    }

    fn validate(&self) -> Result<()> {
        let GaussianNoise { mean, sigma, .. } = self;
        if !mean.is_finite() {
            return Err(Error::usage(format!("GaussianNoise: mean is {mean}; pass a number")));
        }
        if *sigma >= 0.0 && sigma.is_finite() {
            return Ok(());
        }
        Err(Error::usage(format!("GaussianNoise: sigma is {sigma}; pass 0 or more")))
    }
}

/// Compresses as JPEG of a quality that is uniform in a range, and decompresses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JPEG {
    /// The lowest and the highest quality, 1 to 100.
    pub quality: [u8; 2],
}

impl Draw for JPEG {
    fn draw(&self, _: Shape, draws: Draws<'_>, actions: &mut Vec<Action>) -> Result<()> {
        let [low, high] = self.quality;
        let above = draws.random().below(u64::from(high.saturating_sub(low)) + 1) as u8;
        actions.push(Jpeg { quality: low + above }.into());
        Ok(())
    }

    fn validate(&self) -> Result<()> {
        let [low, high] = self.quality;
        if 1 <= low && low <= high && high <= 100 {
            return Ok(());
        }
        Err(Error::usage(format!(
            "JPEG: quality is [{low}, {high}]; pass a range within 1 to 100, the lower first"
        )))
    }
}

/// Changes the sharpness with a probability.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RandomAdjustSharpness {
    /// 0 is smooth, 1 changes nothing, 2 is sharper.
    pub sharpness_factor: f64,
    /// The probability.
    #[serde(default = "one_half")]
    pub p: f64,
}

fn one_half() -> f64 {
    0.5
}

impl Draw for RandomAdjustSharpness {
    fn draw(&self, _: Shape, draws: Draws<'_>, actions: &mut Vec<Action>) -> Result<()> {
        if draws.random().chance(self.p) {
            actions.push(AdjustSharpness { factor: self.sharpness_factor }.into());
        }
        Ok(())
    }

    fn validate(&self) -> Result<()> {
        let factor = self.sharpness_factor;
        if !(factor >= 0.0 && factor.is_finite()) {
            return Err(Error::usage(format!(
                "RandomAdjustSharpness: sharpness_factor is {factor}; pass 0 or more"
            )));
        }
        probability("RandomAdjustSharpness", "p", self.p)
    }
}

#[cfg(test)]
mod tests;
