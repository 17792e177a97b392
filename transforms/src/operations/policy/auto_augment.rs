//! `AutoAugment`: one of the learned pairs of changes.

use serde::{Deserialize, Serialize};
use tarflume_order::words;
use tarflume_types::{Error, Result};

use super::chain::Chain;
use super::strengths::PLAIN;
use super::sub_policies::{CIFAR10, IMAGENET, SVHN, Step};
use crate::actions::Action;
use crate::limits::check_interpolation;
use crate::operations::{Draw, Draws, Shape};
use crate::settings::{Fill, Interpolation};

/// The data set for which a policy was learned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum AutoAugmentPolicy {
    /// ImageNet.
    #[default]
    ImageNet,
    /// CIFAR-10.
    Cifar10,
    /// Street View House Numbers.
    Svhn,
}

words!(AutoAugmentPolicy, "policy", {
    ImageNet => "imagenet",
    Cifar10 => "cifar10",
    Svhn => "svhn",
});

/// Draws one of 25 pairs of changes. Each of the two is made with its own probability.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AutoAugment {
    /// The pairs.
    pub policy: AutoAugmentPolicy,
    /// Of warps: nearest, bilinear or bicubic.
    pub interpolation: Interpolation,
    /// Outside the picture.
    pub fill: Fill,
}

impl Default for AutoAugment {
    fn default() -> AutoAugment {
        AutoAugment {
            policy: AutoAugmentPolicy::default(),
            interpolation: Interpolation::Nearest,
            fill: Fill::default(),
        }
    }
}

impl AutoAugment {
    fn pairs(&self) -> &'static [[Step; 2]; 25] {
        match self.policy {
            AutoAugmentPolicy::ImageNet => &IMAGENET,
            AutoAugmentPolicy::Cifar10 => &CIFAR10,
            AutoAugmentPolicy::Svhn => &SVHN,
        }
    }
}

impl Draw for AutoAugment {
    fn draw(&self, on: Shape, draws: Draws<'_>, actions: &mut Vec<Action>) -> Result<()> {
        let mut random = draws.random();
        let AutoAugment { interpolation, fill, .. } = *self;
        let mut chain = Chain { size: on.size, interpolation, fill, actions };
        let pairs = self.pairs();
        for step in &pairs[random.below(pairs.len() as u64) as usize] {
            if random.chance(step.probability) {
                PLAIN.draw(step.change, 10, step.bin, &mut random, &mut chain);
            }
        }
        Ok(())
    }

    fn validate(&self) -> Result<()> {
        check_interpolation("AutoAugment", self.interpolation)
    }
}
