//! Operations that choose among others.

use serde::{Deserialize, Serialize};
use tarflume_image::ImageSize;
use tarflume_types::Result;

use super::{Draw, Draws, Shape};
use crate::actions::Action;
use crate::recipe::Steps;

/// All steps of a list, in their order.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Compose {
    /// The steps.
    pub transforms: Steps,
}

impl Draw for Compose {
    fn draw(&self, on: Shape, draws: Draws, actions: &mut Vec<Action>) -> Result<()> {
        self.transforms.draw(on, draws, actions).map(|_| ())
    }

    fn validate(&self) -> Result<()> {
        self.transforms.validate()
    }

    fn name_steps(&mut self, parent: u64) {
        self.transforms.name(parent);
    }

    fn fixed_size(&self, from: Option<ImageSize>) -> Option<ImageSize> {
        self.transforms.fixed_size(from)
    }

    fn most_pixels(&self, pixels: u64) -> u64 {
        self.transforms.most_pixels(pixels)
    }
}
