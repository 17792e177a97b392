//! `TrivialAugmentWide`: one change of random strength.

use serde::{Deserialize, Serialize};
use tarflume_types::Result;

use super::chain::Chain;
use super::limits::bins;
use super::strengths::{Change, Ranges};
use crate::actions::Action;
use crate::limits::check_interpolation;
use crate::operations::{Draw, Draws, Shape};
use crate::settings::{Fill, Interpolation};

const WIDE: Ranges =
    Ranges { shear: 0.99, translate: |_| 32.0, rotate: 135.0, blend: 0.99, bits: [8.0, 2.0] };

/// Draws one of fourteen changes, and its strength from a table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrivialAugmentWide {
    /// Entries of each table of strengths.
    pub num_magnitude_bins: u32,
    /// Of warps: nearest, bilinear or bicubic.
    pub interpolation: Interpolation,
    /// Outside the picture.
    pub fill: Fill,
}

impl Default for TrivialAugmentWide {
    fn default() -> TrivialAugmentWide {
        TrivialAugmentWide {
            num_magnitude_bins: 31,
            interpolation: Interpolation::Nearest,
            fill: Fill::default(),
        }
    }
}

impl Draw for TrivialAugmentWide {
    fn draw(&self, on: Shape, draws: Draws<'_>, actions: &mut Vec<Action>) -> Result<()> {
        let mut random = draws.random();
        let TrivialAugmentWide { interpolation, fill, .. } = *self;
        let mut chain = Chain { size: on.size, interpolation, fill, actions };
        let change = Change::WITH_IDENTITY[random.below(14) as usize];
        let bins = self.num_magnitude_bins;
        let bin = random.below(u64::from(bins)) as u32;
        WIDE.draw(change, bins, bin, &mut random, &mut chain);
        Ok(())
    }

    fn validate(&self) -> Result<()> {
        bins("TrivialAugmentWide", self.num_magnitude_bins)?;
        check_interpolation("TrivialAugmentWide", self.interpolation)
    }
}
