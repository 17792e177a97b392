//! `TimmAugment`: the policies of timm, by their configuration strings.
//!
//! Policies, strengths, probabilities and random interpolation are those of timm 1.0. Pixels are those of the actions,
//! which follow torchvision; timm uses Pillow. Changes of color differ by at most 1 of 255. Warps differ at the edge of the
//! picture, where torchvision blends with the fill, and in the bicubic coefficient, -0.75 instead of -0.5. Pillow's Gaussian
//! is three boxes. In a mix, timm rounds down once more, and with `b1` once for each chain.

mod config;
mod ops;
mod policies;

use serde::{Deserialize, Serialize};
use tarflume_image::Random;
use tarflume_types::{Error, Result};

use self::config::Plan;
use self::ops::{Op, Warping};
use super::aug_mix::{Mix, depth};
use crate::actions::Action;
use crate::limits::check_interpolation;
use crate::operations::{Draw, Draws, Operation, Shape};
use crate::settings::{Fill, Interpolation};

/// What timm passes to a policy beside its configuration string.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TimmSettings {
    /// Outside the picture. By default the mean color of ImageNet, as in timm's `create_transform`.
    pub fill: Fill,
    /// Of warps; none is bilinear or bicubic at random for each.
    pub interpolation: Option<Interpolation>,
    /// The largest translation as a part of the side. None is 0.45, and 0.3 for `augmix`, as in timm's `create_transform`.
    pub translate_pct: Option<f64>,
}

impl Default for TimmSettings {
    fn default() -> TimmSettings {
        TimmSettings { fill: Fill([124, 116, 104]), interpolation: None, translate_pct: None }
    }
}

/// A policy of timm.
///
/// | configuration | policy |
/// |---|---|
/// | `rand-m9-mstd0.5-inc1` | RandAugment; sections `m`, `n`, `p`, `mstd`, `mmax`, `inc`, `t` (`tweights`, `t3a`, `t3aw`) |
/// | `original`, `originalr`, `v0`, `v0r`, `3a` | AutoAugment and 3-Augment; section `mstd` |
/// | `augmix-m5-w4-d2` | AugMix; sections `m`, `w`, `d`, `a`, `b`, `mstd` |
///
/// Serde writes `{"TimmAugment": {"config": "rand-m9-mstd0.5-inc1", "fill": [124, 116, 104], "interpolation": null,
/// "translate_pct": null}}`; all but `config` may be left out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Form", into = "Form")]
pub struct TimmAugment {
    config: String,
    settings: TimmSettings,
    plan: Plan,
}

/// Reads a configuration string of timm.
///
/// # Errors
/// Returns a usage error that names the section which is not known, or the number which is out of its range.
pub fn parse(text: &str, settings: TimmSettings) -> Result<Operation> {
    TimmAugment::new(text, settings).map(Operation::from)
}

impl TimmAugment {
    /// Whether it mixes chains of changes, as `augmix-...` does.
    pub(crate) fn mixes(&self) -> bool {
        matches!(self.plan, Plan::Mix { .. })
    }

    /// The policy of a configuration string.
    ///
    /// # Errors
    /// Returns a usage error that names the section which is not known, or the number which is out of its range.
    pub fn new(config: impl Into<String>, settings: TimmSettings) -> Result<TimmAugment> {
        let config = config.into();
        let plan = Plan::parse(&config)?;
        Ok(TimmAugment { config, settings, plan })
    }

    /// The configuration string.
    pub fn config(&self) -> &str {
        &self.config
    }

    /// The settings.
    pub fn settings(&self) -> TimmSettings {
        self.settings
    }

    fn translate_pct(&self) -> f64 {
        let default = if matches!(self.plan, Plan::Mix { .. }) { 0.3 } else { 0.45 };
        self.settings.translate_pct.unwrap_or(default)
    }
}

impl Draw for TimmAugment {
    fn draw(&self, on: Shape, draws: Draws<'_>, actions: &mut Vec<Action>) -> Result<()> {
        let mut random = draws.random();
        let warping = Warping {
            size: on.size,
            interpolation: self.settings.interpolation,
            fill: self.settings.fill,
            translate_pct: self.translate_pct(),
        };
        match &self.plan {
            Plan::Rand { ops, layers, weights: None } => {
                for _ in 0..*layers {
                    any(ops, &mut random).draw(&warping, &mut random, actions);
                }
            }
            Plan::Rand { ops, layers, weights: Some(weights) } => {
                let mut left = *weights;
                for _ in 0..*layers {
                    let at = take(&mut left[..ops.len()], &mut random);
                    ops[at].draw(&warping, &mut random, actions);
                }
            }
            Plan::Auto { ops, steps } => {
                let first = steps * random.below((ops.len() / steps) as u64) as usize;
                for op in &ops[first..first + steps] {
                    op.draw(&warping, &mut random, actions);
                }
            }
            Plan::Mix { ops, width, depth: changes, alpha } => {
                let mix = Mix::draw(&mut random, *alpha, *width);
                mix.begin(actions);
                for at in 0..*width {
                    for _ in 0..depth(*changes, &mut random) {
                        any(ops, &mut random).draw(&warping, &mut random, actions);
                    }
                    mix.end_chain(at, actions);
                }
            }
        }
        Ok(())
    }

    fn validate(&self) -> Result<()> {
        if let Some(interpolation) = self.settings.interpolation {
            check_interpolation("TimmAugment", interpolation)?;
        }
        let part = self.translate_pct();
        if !(0.0..=1.0).contains(&part) {
            let text =
                format!("TimmAugment: translate_pct is {part}; a part of the side is 0 to 1");
            return Err(Error::usage(text));
        }
        Ok(())
    }
}

fn any<'a>(ops: &'a [Op], random: &mut Random) -> &'a Op {
    &ops[random.below(ops.len() as u64) as usize]
}

/// Draws an entry with a probability in proportion to its weight, and sets the weight to 0.
fn take(weights: &mut [f64], random: &mut Random) -> usize {
    let mut left = random.unit() * weights.iter().sum::<f64>();
    let mut taken = 0;
    for (at, &weight) in weights.iter().enumerate() {
        if weight > 0.0 {
            // The last is taken if rounding leaves something.
            taken = at;
            if left < weight {
                break;
            }
            left -= weight;
        }
    }
    weights[taken] = 0.0;
    taken
}

/// The form of serde.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Form {
    config: String,
    #[serde(default = "default_fill")]
    fill: Fill,
    #[serde(default)]
    interpolation: Option<Interpolation>,
    #[serde(default)]
    translate_pct: Option<f64>,
}

fn default_fill() -> Fill {
    TimmSettings::default().fill
}

impl TryFrom<Form> for TimmAugment {
    type Error = String;

    fn try_from(form: Form) -> std::result::Result<TimmAugment, String> {
        let Form { config, fill, interpolation, translate_pct } = form;
        let settings = TimmSettings { fill, interpolation, translate_pct };
        TimmAugment::new(config, settings).map_err(|error| error.text().to_owned())
    }
}

impl From<TimmAugment> for Form {
    fn from(augment: TimmAugment) -> Form {
        let TimmSettings { fill, interpolation, translate_pct } = augment.settings;
        Form { config: augment.config, fill, interpolation, translate_pct }
    }
}

#[cfg(test)]
mod tests;
