//! Actions between the channels of a pixel: contrast, hue, saturation, gray, permutation.

use serde::{Deserialize, Serialize};
use tarflume_image::ImageSize;
use tarflume_types::Result;

use crate::actions::apply::Apply;
use crate::actions::record::{Change, Record, bits};
use crate::frame::Frame;
use crate::kernels::color::blend::{Ratio, blend_with_gray};
use crate::kernels::color::gray::{make_gray, sum_of_bytes, sum_of_grays};
use crate::kernels::color::hue::turn_hue;
use crate::kernels::color::planes::permute;
use crate::kernels::color::pointwise::look_up;
use crate::kernels::sets::Set;

/// Blends with the mean of the gray picture.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdjustContrast {
    /// 0 is gray, 1 changes nothing.
    pub factor: f64,
}

impl Apply for AdjustContrast {
    fn apply(&self, frame: &mut Frame) -> Result<()> {
        let set = Set::best();
        let sum = match frame.channels() {
            3 => sum_of_grays(set, frame.pixels()),
            _ => sum_of_bytes(set, frame.pixels()),
        };
        let mean = sum as f32 / frame.size().pixels() as f32;
        look_up(set, frame.pixels_mut(), &Ratio::new(self.factor).table(mean));
        Ok(())
    }

    fn in_words(&self, _: ImageSize, _: usize, to: &mut Record) -> bool {
        to.set(Change::Contrast, bits(Ratio::new(self.factor).parts()));
        true
    }
}

/// Turns the hue. Changes no gray picture.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdjustHue {
    /// In turns, -0.5 to 0.5; 0 changes nothing.
    pub factor: f64,
}

impl Apply for AdjustHue {
    fn apply(&self, frame: &mut Frame) -> Result<()> {
        if frame.channels() == 3 {
            turn_hue(Set::best(), frame.pixels_mut(), self.factor as f32);
        }
        Ok(())
    }

    fn in_words(&self, _: ImageSize, channels: usize, to: &mut Record) -> bool {
        if channels == 3 {
            to.set(Change::Hue, bits([self.factor as f32, 0.0, 0.0]));
        }
        true
    }
}

/// Blends with the gray picture. Changes no gray picture.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdjustSaturation {
    /// 0 is gray, 1 changes nothing.
    pub factor: f64,
}

impl Apply for AdjustSaturation {
    fn apply(&self, frame: &mut Frame) -> Result<()> {
        if frame.channels() == 3 {
            blend_with_gray(Set::best(), frame.pixels_mut(), Ratio::new(self.factor));
        }
        Ok(())
    }

    fn in_words(&self, _: ImageSize, channels: usize, to: &mut Record) -> bool {
        if channels == 3 {
            to.set(Change::Saturation, bits(Ratio::new(self.factor).parts()).chain([0]));
        }
        true
    }
}

/// Reorders the channels. Changes no gray picture.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PermuteChannels {
    /// The channel that each channel of the result is.
    pub permutation: [u8; 3],
}

impl Apply for PermuteChannels {
    fn apply(&self, frame: &mut Frame) -> Result<()> {
        if frame.channels() == 3 {
            permute(Set::best(), frame.pixels_mut(), self.permutation);
        }
        Ok(())
    }

    fn in_words(&self, _: ImageSize, channels: usize, to: &mut Record) -> bool {
        if channels == 3 {
            to.set(Change::Permute, self.permutation.map(u32::from));
        }
        true
    }
}

/// Replaces colors by gray in all channels. Changes no gray picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RgbToGrayscale {}

impl Apply for RgbToGrayscale {
    fn apply(&self, frame: &mut Frame) -> Result<()> {
        if frame.channels() == 3 {
            make_gray(Set::best(), frame.pixels_mut());
        }
        Ok(())
    }

    fn in_words(&self, _: ImageSize, channels: usize, to: &mut Record) -> bool {
        if channels == 3 {
            to.set(Change::Gray, [0; 3]);
        }
        true
    }
}
