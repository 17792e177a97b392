//! Operations that mirror and turn.

use serde::{Deserialize, Serialize};
use tarflume_image::ImageSize;
use tarflume_types::{Error, Result};

use super::{Draw, Draws, Placing, Shape, probability};
use crate::actions::geometry::motion::Rotation;
use crate::actions::{Action, HorizontalFlip, QuarterTurn, VerticalFlip};
use crate::limits::{check_interpolation, check_range};
use crate::settings::{Fill, Interpolation};

/// Mirrors left to right with a probability.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RandomHorizontalFlip {
    /// The probability.
    pub p: f64,
}

impl Default for RandomHorizontalFlip {
    fn default() -> RandomHorizontalFlip {
        RandomHorizontalFlip { p: 0.5 }
    }
}

impl Draw for RandomHorizontalFlip {
    fn draw(&self, _: Shape, draws: Draws<'_>, actions: &mut Vec<Action>) -> Result<()> {
        if draws.random().chance(self.p) {
            actions.push(HorizontalFlip {}.into());
        }
        Ok(())
    }

    fn placing(&self) -> Option<Placing> {
        Some(Placing::Flip)
    }

    fn validate(&self) -> Result<()> {
        probability("RandomHorizontalFlip", "p", self.p)
    }
}

/// Mirrors top to bottom with a probability.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RandomVerticalFlip {
    /// The probability.
    pub p: f64,
}

impl Default for RandomVerticalFlip {
    fn default() -> RandomVerticalFlip {
        RandomVerticalFlip { p: 0.5 }
    }
}

impl Draw for RandomVerticalFlip {
    fn draw(&self, _: Shape, draws: Draws<'_>, actions: &mut Vec<Action>) -> Result<()> {
        if draws.random().chance(self.p) {
            actions.push(VerticalFlip {}.into());
        }
        Ok(())
    }

    fn validate(&self) -> Result<()> {
        probability("RandomVerticalFlip", "p", self.p)
    }
}

/// Turns counterclockwise by a multiple of 90 degrees. Torchvision has no such operation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RandomQuarterTurn {
    /// Multiples of 90 degrees, from 0 to 3, each as likely as the others.
    pub turns: Vec<u8>,
}

impl Default for RandomQuarterTurn {
    fn default() -> RandomQuarterTurn {
        RandomQuarterTurn { turns: vec![0, 1, 2, 3] }
    }
}

impl Draw for RandomQuarterTurn {
    fn draw(&self, _: Shape, draws: Draws<'_>, actions: &mut Vec<Action>) -> Result<()> {
        let at = draws.random().below(self.turns.len() as u64) as usize;
        let turns = self.turns.get(at).copied().unwrap_or(0);
        if turns > 0 {
            actions.push(QuarterTurn { turns }.into());
        }
        Ok(())
    }

    fn validate(&self) -> Result<()> {
        if !self.turns.is_empty() && self.turns.iter().all(|turns| *turns < 4) {
            return Ok(());
        }
        let turns = &self.turns;
        Err(Error::usage(format!(
            "RandomQuarterTurn: turns is {turns:?}; list at least one of 0, 1, 2 and 3"
        )))
    }

    fn fixed_size(&self, from: Option<ImageSize>) -> Option<ImageSize> {
        let turned = self.turns.iter().any(|turns| turns % 2 == 1);
        from.filter(|size| !turned || size.width == size.height)
    }
}

/// Rotates by a uniformly distributed angle.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RandomRotation {
    /// The least and the largest angle, in degrees counterclockwise.
    pub degrees: [f64; 2],
    /// Nearest, bilinear or bicubic.
    #[serde(default = "super::warp::nearest")]
    pub interpolation: Interpolation,
    /// Makes the result large enough for the whole picture.
    #[serde(default)]
    pub expand: bool,
    /// What stays in its place: pixels from the left and the top. None is the center of the picture.
    #[serde(default)]
    pub center: Option<[f64; 2]>,
    /// Outside the picture.
    #[serde(default)]
    pub fill: Fill,
}

impl Draw for RandomRotation {
    fn draw(&self, on: Shape, draws: Draws<'_>, actions: &mut Vec<Action>) -> Result<()> {
        let angle = draws.random().between(self.degrees[0], self.degrees[1]);
        let rotation = Rotation { angle, expand: self.expand, center: self.center };
        actions.extend(rotation.action(on.size, self.interpolation, self.fill));
        Ok(())
    }

    fn validate(&self) -> Result<()> {
        check_range("RandomRotation", "degrees", self.degrees)?;
        check_interpolation("RandomRotation", self.interpolation)
    }

    fn fixed_size(&self, from: Option<ImageSize>) -> Option<ImageSize> {
        from.filter(|_| !self.expand)
    }

    fn most_pixels(&self, pixels: u64) -> u64 {
        // A long picture becomes a square whose side is its length, plus a pixel at each end.
        if self.expand {
            pixels.saturating_add(2).saturating_mul(pixels.saturating_add(2))
        } else {
            pixels
        }
    }
}
