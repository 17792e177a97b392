//! Actions on the neighborhood of a pixel, noise, and erased rectangles.

use serde::{Deserialize, Serialize};
use tarflume_types::Result;

use super::Apply;
use crate::frame::Frame;

/// What an erased rectangle has.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum EraseValue {
    /// The same numbers in each pixel: of the normalized row if it is normalized, else 0 to 255.
    Constant([f64; 3]),
    /// Standard normal noise from this seed, the same for all pixels (timm's `rand`).
    Pixel(u64),
    /// Standard normal noise from this seed for each pixel (torchvision's `random`, timm's `pixel`).
    Noise(u64),
}

/// Blends with the smoothed picture.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdjustSharpness {
    /// 0 is smooth, 1 changes nothing, 2 is sharper.
    pub factor: f64,
}

impl Apply for AdjustSharpness {
    fn apply(&self, frame: &mut Frame) -> Result<()> {
        let _ = frame;
        todo!()
    }
}

/// Overwrites a rectangle.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Erase {
    /// The first row.
    pub top: u32,
    /// The first column.
    pub left: u32,
    /// Rows.
    pub height: u32,
    /// Columns.
    pub width: u32,
    /// What is written.
    pub value: EraseValue,
}

impl Apply for Erase {
    fn apply(&self, frame: &mut Frame) -> Result<()> {
        let _ = frame;
        todo!()
    }
}

/// Smooths with a Gaussian.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GaussianBlur {
    /// Taps across and down, odd.
    pub kernel_size: [u32; 2],
    /// Standard deviation across and down in pixels.
    pub sigma: [f64; 2],
}

impl Apply for GaussianBlur {
    fn apply(&self, frame: &mut Frame) -> Result<()> {
        let _ = frame;
        todo!()
    }
}

/// Adds normal noise to each value.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GaussianNoise {
    /// The mean, on a scale of 0 to 1.
    pub mean: f64,
    /// The standard deviation, on a scale of 0 to 1.
    pub sigma: f64,
    /// Of the noise.
    pub seed: u64,
}

impl Apply for GaussianNoise {
    fn apply(&self, frame: &mut Frame) -> Result<()> {
        let _ = frame;
        todo!()
    }
}
