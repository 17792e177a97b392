//! Actions that move pixels.

pub(crate) mod motion;
mod moves;
mod warps;

use serde::{Deserialize, Serialize};
use tarflume_image::ImageSize;
use tarflume_types::Result;

use super::Apply;
use crate::frame::Frame;
use crate::settings::Interpolation;

pub use self::moves::{Crop, HorizontalFlip, Pad, QuarterTurn, VerticalFlip};
pub use self::warps::{Affine, Elastic, Perspective};

/// Resizes, antialiased.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resize {
    /// Height and width of the result.
    pub size: [u32; 2],
    /// The filter.
    pub interpolation: Interpolation,
}

impl Apply for Resize {
    fn apply(&self, frame: &mut Frame) -> Result<()> {
        let _ = frame;
        todo!()
    }

    fn size(&self, _: ImageSize) -> ImageSize {
        ImageSize::new(self.size[1], self.size[0])
    }
}
