//! Actions on the color of a pixel: pointwise, by histogram, and between channels.

use serde::{Deserialize, Serialize};
use tarflume_types::Result;

use super::Apply;
use crate::frame::Frame;

/// Multiplies by the factor.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdjustBrightness {
    /// 0 is black, 1 changes nothing.
    pub factor: f64,
}

impl Apply for AdjustBrightness {
    fn apply(&self, frame: &mut Frame) -> Result<()> {
        let _ = frame;
        todo!()
    }
}

/// Blends with the mean of the gray picture.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdjustContrast {
    /// 0 is gray, 1 changes nothing.
    pub factor: f64,
}

impl Apply for AdjustContrast {
    fn apply(&self, frame: &mut Frame) -> Result<()> {
        let _ = frame;
        todo!()
    }
}

/// Raises to a power, on a scale of 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdjustGamma {
    /// The power; 1 changes nothing.
    pub gamma: f64,
    /// Multiplies the result.
    pub gain: f64,
}

impl Apply for AdjustGamma {
    fn apply(&self, frame: &mut Frame) -> Result<()> {
        let _ = frame;
        todo!()
    }
}

/// Turns the hue.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdjustHue {
    /// In turns, -0.5 to 0.5; 0 changes nothing.
    pub factor: f64,
}

impl Apply for AdjustHue {
    fn apply(&self, frame: &mut Frame) -> Result<()> {
        let _ = frame;
        todo!()
    }
}

/// Blends with the gray picture.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdjustSaturation {
    /// 0 is gray, 1 changes nothing.
    pub factor: f64,
}

impl Apply for AdjustSaturation {
    fn apply(&self, frame: &mut Frame) -> Result<()> {
        let _ = frame;
        todo!()
    }
}

/// Stretches each channel to the range 0 to 255.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Autocontrast {}

impl Apply for Autocontrast {
    fn apply(&self, frame: &mut Frame) -> Result<()> {
        let _ = frame;
        todo!()
    }
}

/// Makes the values of each channel equally frequent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Equalize {}

impl Apply for Equalize {
    fn apply(&self, frame: &mut Frame) -> Result<()> {
        let _ = frame;
        todo!()
    }
}

/// Subtracts from 255.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Invert {}

impl Apply for Invert {
    fn apply(&self, frame: &mut Frame) -> Result<()> {
        frame.pixels_mut().iter_mut().for_each(|byte| *byte = 255 - *byte);
        Ok(())
    }
}

/// Reorders the channels.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PermuteChannels {
    /// The channel that each channel of the result is.
    pub permutation: [u8; 3],
}

impl Apply for PermuteChannels {
    fn apply(&self, frame: &mut Frame) -> Result<()> {
        let _ = frame;
        todo!()
    }
}

/// Keeps the upper bits.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Posterize {
    /// 0 to 8.
    pub bits: u8,
}

impl Apply for Posterize {
    fn apply(&self, frame: &mut Frame) -> Result<()> {
        let _ = frame;
        todo!()
    }
}

/// Replaces colors by gray in all channels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RgbToGrayscale {}

impl Apply for RgbToGrayscale {
    fn apply(&self, frame: &mut Frame) -> Result<()> {
        let _ = frame;
        todo!()
    }
}

/// Inverts the values that are not below a threshold.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Solarize {
    /// 0 to 255.
    pub threshold: f64,
}

impl Apply for Solarize {
    fn apply(&self, frame: &mut Frame) -> Result<()> {
        let _ = frame;
        todo!()
    }
}
