//! Operations that mirror, turn and warp.

use serde::{Deserialize, Serialize};
use tarflume_types::Result;

use super::{Draw, Draws, Placing, Shape, probability};
use crate::actions::{Action, HorizontalFlip};

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
    fn draw(&self, _: Shape, draws: Draws, actions: &mut Vec<Action>) -> Result<()> {
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
