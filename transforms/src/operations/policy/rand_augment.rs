//! `RandAugment`: changes of one strength.

use serde::{Deserialize, Serialize};
use tarflume_types::{Error, Result};

use super::chain::Chain;
use super::limits::{MOST, bins};
use super::strengths::{Change, PLAIN};
use crate::actions::Action;
use crate::limits::check_interpolation;
use crate::operations::{Draw, Draws, Shape};
use crate::settings::{Fill, Interpolation};

/// Draws `num_ops` of fourteen changes, each again from all. Their strength is fixed, its sign is random.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RandAugment {
    /// Changes of a picture, 0 to 100.
    pub num_ops: u32,
    /// The strength: an entry of the tables, from 0.
    pub magnitude: u32,
    /// Entries of each table of strengths.
    pub num_magnitude_bins: u32,
    /// Of warps: nearest, bilinear or bicubic.
    pub interpolation: Interpolation,
    /// Outside the picture.
    pub fill: Fill,
}

impl Default for RandAugment {
    fn default() -> RandAugment {
        RandAugment {
            num_ops: 2,
            magnitude: 9,
            num_magnitude_bins: 31,
            interpolation: Interpolation::Nearest,
            fill: Fill::default(),
        }
    }
}

impl Draw for RandAugment {
    fn draw(&self, on: Shape, draws: Draws<'_>, actions: &mut Vec<Action>) -> Result<()> {
        let mut random = draws.random();
        let RandAugment { interpolation, fill, .. } = *self;
        let mut chain = Chain { size: on.size, interpolation, fill, actions };
        for _ in 0..self.num_ops {
            let change = Change::WITH_IDENTITY[random.below(14) as usize];
            let bins = self.num_magnitude_bins;
            PLAIN.draw(change, bins, self.magnitude, &mut random, &mut chain);
        }
        Ok(())
    }

    fn validate(&self) -> Result<()> {
        if self.num_ops > MOST {
            let text = format!("RandAugment: num_ops is {}; it must be 0 to {MOST}", self.num_ops);
            return Err(Error::usage(text));
        }
        bins("RandAugment", self.num_magnitude_bins)?;
        if self.magnitude >= self.num_magnitude_bins {
            return Err(Error::usage(format!(
                "RandAugment: magnitude is {}; it must be below num_magnitude_bins, {}",
                self.magnitude, self.num_magnitude_bins
            )));
        }
        check_interpolation("RandAugment", self.interpolation)
    }
}
