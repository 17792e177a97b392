//! Operations that choose among others.

mod sizes;

use serde::{Deserialize, Serialize};
use tarflume_image::ImageSize;
use tarflume_types::{Error, Result};

use super::{Draw, Draws, Operation, Shape, probability};
use crate::actions::Action;
use crate::operations::steps::Steps;

/// All steps of a list, in their order.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Compose {
    /// The steps.
    pub transforms: Steps,
}

impl Draw for Compose {
    fn draw(&self, on: Shape, draws: Draws<'_>, actions: &mut Vec<Action>) -> Result<()> {
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

/// All steps of a list, in their order, with a probability.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RandomApply {
    /// The steps.
    pub transforms: Steps,
    /// The probability.
    #[serde(default = "one_half")]
    pub p: f64,
}

fn one_half() -> f64 {
    0.5
}

impl Draw for RandomApply {
    fn draw(&self, on: Shape, draws: Draws<'_>, actions: &mut Vec<Action>) -> Result<()> {
        if draws.random().chance(self.p) {
            self.transforms.draw(on, draws, actions)?;
        }
        Ok(())
    }

    fn validate(&self) -> Result<()> {
        probability("RandomApply", "p", self.p)?;
        some_steps("RandomApply", &self.transforms)
    }

    fn name_steps(&mut self, parent: u64) {
        self.transforms.name(parent);
    }

    fn fixed_size(&self, from: Option<ImageSize>) -> Option<ImageSize> {
        if self.p <= 0.0 {
            return from;
        }
        let applied = self.transforms.fixed_size(from);
        if self.p >= 1.0 { applied } else { sizes::agreed([from, applied].into_iter()) }
    }

    fn most_pixels(&self, pixels: u64) -> u64 {
        self.transforms.most_pixels(pixels).max(pixels)
    }
}

/// One step of a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RandomChoice {
    /// The steps.
    pub transforms: Steps,
    /// The weight of each step; equal ones if there are none.
    #[serde(default)]
    pub p: Option<Vec<f64>>,
}

impl RandomChoice {
    fn weight(&self, at: usize) -> f64 {
        self.p.as_ref().map_or(1.0, |weights| weights[at])
    }

    /// The steps that can be drawn.
    fn possible(&self) -> impl Iterator<Item = &Operation> {
        let steps = self.transforms.operations().iter().enumerate();
        steps.filter(|(at, _)| self.weight(*at) > 0.0).map(|(_, step)| step)
    }
}

impl Draw for RandomChoice {
    fn draw(&self, on: Shape, draws: Draws<'_>, actions: &mut Vec<Action>) -> Result<()> {
        let total: f64 = (0..self.transforms.count()).map(|at| self.weight(at)).sum();
        let mut left = draws.random().unit() * total;
        let mut chosen = None;
        for at in 0..self.transforms.count() {
            let weight = self.weight(at);
            if weight > 0.0 {
                chosen = Some(at);
                if left < weight {
                    break;
                }
                left -= weight;
            }
        }
        if let Some(at) = chosen {
            self.transforms.draw_step(at, on, draws, actions)?;
        }
        Ok(())
    }

    fn validate(&self) -> Result<()> {
        some_steps("RandomChoice", &self.transforms)?;
        let Some(weights) = &self.p else { return Ok(()) };
        let count = self.transforms.count();
        if weights.len() != count {
            return Err(Error::usage(format!(
                "RandomChoice: p has {} weights for {count} transforms; pass one for each",
                weights.len()
            )));
        }
        let total: f64 = weights.iter().sum();
        if weights.iter().all(|weight| *weight >= 0.0) && total > 0.0 && total.is_finite() {
            return Ok(());
        }
        Err(Error::usage(format!(
            "RandomChoice: p is {weights:?}; pass weights of 0 or more, not all of them 0"
        )))
    }

    fn name_steps(&mut self, parent: u64) {
        self.transforms.name(parent);
    }

    fn fixed_size(&self, from: Option<ImageSize>) -> Option<ImageSize> {
        sizes::agreed(self.possible().map(|step| step.fixed_size(from)))
    }

    fn most_pixels(&self, pixels: u64) -> u64 {
        self.possible().map(|step| step.most_pixels(pixels)).max().unwrap_or(pixels)
    }
}

/// All steps of a list, in a random order.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RandomOrder {
    /// The steps, at most 64.
    pub transforms: Steps,
}

impl Draw for RandomOrder {
    fn draw(&self, mut on: Shape, draws: Draws<'_>, actions: &mut Vec<Action>) -> Result<()> {
        let mut random = draws.random();
        let count = self.transforms.count();
        let mut done = 0u64;
        for left in (1..=count).rev() {
            let skip = random.below(left as u64) as usize;
            let at = (0..count).filter(|at| (done >> at) & 1 == 0).nth(skip);
            let at = at.expect("as many steps are left as were not drawn");
            done |= 1 << at;
            on = self.transforms.draw_step(at, on, draws, actions)?;
        }
        Ok(())
    }

    fn validate(&self) -> Result<()> {
        let count = self.transforms.count();
        if count > 64 {
            return Err(Error::usage(format!(
                "RandomOrder: transforms has {count} steps; there may be 64"
            )));
        }
        some_steps("RandomOrder", &self.transforms)
    }

    fn name_steps(&mut self, parent: u64) {
        self.transforms.name(parent);
    }

    fn fixed_size(&self, from: Option<ImageSize>) -> Option<ImageSize> {
        sizes::in_any_order(self.transforms.operations().iter().map(Operation::drawing), from)
    }

    fn most_pixels(&self, pixels: u64) -> u64 {
        sizes::most_in_any_order(
            self.transforms.operations().iter().map(Operation::drawing),
            pixels,
        )
    }
}

/// Checks the steps of an operation that needs one at least.
fn some_steps(operation: &str, steps: &Steps) -> Result<()> {
    if steps.count() == 0 {
        let text = format!("{operation}: transforms is empty; pass one operation at least");
        return Err(Error::usage(text));
    }
    steps.validate()
}

#[cfg(test)]
mod tests;
