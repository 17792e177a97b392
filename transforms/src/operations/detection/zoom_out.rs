//! `RandomZoomOut`: the picture on a larger canvas.

use serde::{Deserialize, Serialize};
use tarflume_image::ImageSize;
use tarflume_types::{Error, Result};

use crate::actions::{Action, Pad};
use crate::operations::{Draw, Draws, Shape, probability};
use crate::settings::{Fill, PaddingMode};

/// The largest factor.
const MOST: f64 = 100.0;

/// Puts the picture at a random place of a canvas that is larger by a random factor, with a probability.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RandomZoomOut {
    /// Around the picture.
    pub fill: Fill,
    /// The least and the largest factor of both sides, 1 to 100.
    pub side_range: [f64; 2],
    /// The probability.
    pub p: f64,
}

impl Default for RandomZoomOut {
    fn default() -> RandomZoomOut {
        RandomZoomOut { fill: Fill::default(), side_range: [1.0, 4.0], p: 0.5 }
    }
}

impl Draw for RandomZoomOut {
    fn draw(&self, on: Shape, draws: Draws<'_>, actions: &mut Vec<Action>) -> Result<()> {
        let mut random = draws.random();
        if !random.chance(self.p) {
            return Ok(());
        }
        let factor = random.between(self.side_range[0], self.side_range[1]);
        let ImageSize { width, height } = on.size;
        let [across, down] = [width, height].map(|side| (f64::from(side) * factor) as u32 - side);
        let left = (f64::from(across) * random.unit()) as u32;
        let top = (f64::from(down) * random.unit()) as u32;
        let padding = [left, top, across - left, down - top];
        let padding_mode = PaddingMode::Constant;
        actions.push(Pad { padding, fill: self.fill, padding_mode }.into());
        Ok(())
    }

    fn validate(&self) -> Result<()> {
        probability("RandomZoomOut", "p", self.p)?;
        let [least, most] = self.side_range;
        if 1.0 <= least && least <= most && most <= MOST {
            return Ok(());
        }
        Err(Error::usage(format!(
            "RandomZoomOut: side_range is {least} to {most}; it is two factors from 1 to {MOST}, the lower first"
        )))
    }

    fn fixed_size(&self, from: Option<ImageSize>) -> Option<ImageSize> {
        from.filter(|_| self.p <= 0.0 || self.side_range == [1.0; 2])
    }

    fn most_pixels(&self, pixels: u64) -> u64 {
        let most = self.side_range[1];
        (pixels as f64 * most * most).ceil() as u64
    }
}
