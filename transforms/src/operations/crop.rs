//! Operations: crop.

use serde::{Deserialize, Serialize};
use tarflume_types::Result;

use super::{Draw, Draws, Shape};
use crate::actions::Action;

/// A placeholder.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RandomResizedCrop {}

impl Draw for RandomResizedCrop {
    fn draw(&self, on: Shape, draws: Draws, actions: &mut Vec<Action>) -> Result<()> {
        let _ = (on, draws, actions);
        todo!()
    }
}
