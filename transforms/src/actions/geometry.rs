//! Actions that move pixels.

use serde::{Deserialize, Serialize};
use tarflume_image::ImageSize;
use tarflume_types::Result;

use super::Apply;
use crate::frame::Frame;
use crate::settings::{Fill, Interpolation, PaddingMode};

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
        let _ = frame;
        todo!()
    }

    fn size(&self, _: ImageSize) -> ImageSize {
        ImageSize::new(self.size[1], self.size[0])
    }
}

/// Takes a rectangle that is inside the picture.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Crop {
    /// The first row.
    pub top: u32,
    /// The first column.
    pub left: u32,
    /// Rows.
    pub height: u32,
    /// Columns.
    pub width: u32,
}

impl Apply for Crop {
    fn apply(&self, frame: &mut Frame) -> Result<()> {
        let Crop { top, left, width, .. } = *self;
        frame.redraw(self.size(frame.size()), |source, out, _| {
            let row = width as usize * source.channels;
            for (y, out) in (top as usize..).zip(out.chunks_exact_mut(row)) {
                let at = (y * source.size.width as usize + left as usize) * source.channels;
                out.copy_from_slice(&source.bytes[at..at + row]);
            }
        })
    }

    fn size(&self, _: ImageSize) -> ImageSize {
        ImageSize::new(self.width, self.height)
    }
}

/// Moves pixels by a smooth random field.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Elastic {
    /// Strength across and down in pixels.
    pub alpha: [f64; 2],
    /// Smoothness across and down in pixels.
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
        let _ = frame;
        todo!()
    }
}

/// Exchanges left and right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HorizontalFlip {}

impl Apply for HorizontalFlip {
    fn apply(&self, frame: &mut Frame) -> Result<()> {
        let channels = frame.channels();
        let row = frame.size().width as usize * channels;
        for row in frame.pixels_mut().chunks_exact_mut(row) {
            let pixels = row.len() / channels;
            for at in 0..pixels / 2 {
                for channel in 0..channels {
                    row.swap(at * channels + channel, (pixels - 1 - at) * channels + channel);
                }
            }
        }
        Ok(())
    }
}

/// Adds a margin.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pad {
    /// Left, top, right, bottom.
    pub padding: [u32; 4],
    /// Of the constant mode.
    pub fill: Fill,
    /// What is in the margin.
    pub padding_mode: PaddingMode,
}

impl Apply for Pad {
    fn apply(&self, frame: &mut Frame) -> Result<()> {
        let _ = frame;
        todo!()
    }

    fn size(&self, from: ImageSize) -> ImageSize {
        let [left, top, right, bottom] = self.padding;
        ImageSize::new(from.width + left + right, from.height + top + bottom)
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
        let _ = frame;
        todo!()
    }
}

/// Turns counterclockwise by multiples of 90 degrees.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QuarterTurn {
    /// 0 to 3.
    pub turns: u8,
}

impl Apply for QuarterTurn {
    fn apply(&self, frame: &mut Frame) -> Result<()> {
        let _ = frame;
        todo!()
    }

    fn size(&self, from: ImageSize) -> ImageSize {
        if self.turns % 2 == 1 { from.transposed() } else { from }
    }
}

/// Exchanges top and bottom.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VerticalFlip {}

impl Apply for VerticalFlip {
    fn apply(&self, frame: &mut Frame) -> Result<()> {
        let _ = frame;
        todo!()
    }
}
