//! Operations that apply one action of color, most of them with a probability.

use serde::{Deserialize, Serialize};
use tarflume_types::{Error, Result};

use super::order::permutation;
use crate::actions::{
    Action, AdjustGamma, Autocontrast, Equalize, Invert, Posterize, RgbToGrayscale, Solarize,
};
use crate::operations::{Draw, Draws, Shape, probability, range};

/// Defines operations whose only argument is the probability of an action without numbers.
macro_rules! chances {
    ($($(#[$doc:meta])* $name:ident: $action:expr, $default:expr;)+) => {
        $(
            $(#[$doc])*
            #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
            #[serde(default, deny_unknown_fields)]
            pub struct $name {
                /// The probability.
                pub p: f64,
            }

            impl Default for $name {
                fn default() -> $name {
                    $name { p: $default }
                }
            }

            impl Draw for $name {
                fn draw(&self, _: Shape, draws: Draws<'_>, actions: &mut Vec<Action>) -> Result<()> {
                    if draws.random().chance(self.p) {
                        actions.push($action.into());
                    }
                    Ok(())
                }

                fn validate(&self) -> Result<()> {
                    probability(stringify!($name), "p", self.p)
                }
            }
        )+
    };
}

chances! {
    /// Stretches each channel to the range 0 to 255, with a probability.
    RandomAutocontrast: Autocontrast {}, 0.5;
    /// Makes the values of each channel equally frequent, with a probability.
    RandomEqualize: Equalize {}, 0.5;
    /// Replaces colors by gray in all channels, with a probability.
    RandomGrayscale: RgbToGrayscale {}, 0.1;
    /// Subtracts from 255, with a probability.
    RandomInvert: Invert {}, 0.5;
}

/// The probability of operations that have a required argument beside it.
fn half() -> f64 {
    0.5
}

/// Keeps the upper bits, with a probability.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RandomPosterize {
    /// The bits that are kept, 0 to 8.
    pub bits: u8,
    /// The probability.
    #[serde(default = "half")]
    pub p: f64,
}

impl Draw for RandomPosterize {
    fn draw(&self, _: Shape, draws: Draws<'_>, actions: &mut Vec<Action>) -> Result<()> {
        if draws.random().chance(self.p) {
            actions.push(Posterize { bits: self.bits }.into());
        }
        Ok(())
    }

    fn validate(&self) -> Result<()> {
        if self.bits > 8 {
            let bits = self.bits;
            return Err(Error::usage(format!("RandomPosterize: bits is {bits}; valid are 0 to 8")));
        }
        probability("RandomPosterize", "p", self.p)
    }
}

/// Inverts the values that are not below a threshold, with a probability.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RandomSolarize {
    /// The threshold, 0 to 255.
    pub threshold: f64,
    /// The probability.
    #[serde(default = "half")]
    pub p: f64,
}

impl Draw for RandomSolarize {
    fn draw(&self, _: Shape, draws: Draws<'_>, actions: &mut Vec<Action>) -> Result<()> {
        if draws.random().chance(self.p) {
            actions.push(Solarize { threshold: self.threshold }.into());
        }
        Ok(())
    }

    fn validate(&self) -> Result<()> {
        let threshold = self.threshold;
        if !(0.0..=255.0).contains(&threshold) {
            let problem = format!("RandomSolarize: threshold is {threshold}; valid are 0 to 255");
            return Err(Error::usage(problem));
        }
        probability("RandomSolarize", "p", self.p)
    }
}

/// Raises to a random power, with a probability. torchvision has no such operation; albumentations
/// has it with 100 times the powers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RandomGamma {
    /// The range of the power.
    pub gamma: [f64; 2],
    /// The probability.
    pub p: f64,
}

impl Default for RandomGamma {
    fn default() -> RandomGamma {
        RandomGamma { gamma: [0.8, 1.2], p: 0.5 }
    }
}

impl Draw for RandomGamma {
    fn draw(&self, _: Shape, draws: Draws<'_>, actions: &mut Vec<Action>) -> Result<()> {
        let mut random = draws.random();
        if random.chance(self.p) {
            let gamma = random.between(self.gamma[0], self.gamma[1]);
            actions.push(AdjustGamma { gamma, gain: 1.0 }.into());
        }
        Ok(())
    }

    fn validate(&self) -> Result<()> {
        range("RandomGamma", "gamma", self.gamma, [0.0, 1e6])?;
        probability("RandomGamma", "p", self.p)
    }
}

/// Reorders the channels; all orders are equally likely. Changes no gray picture.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RandomChannelPermutation {}

impl Draw for RandomChannelPermutation {
    fn draw(&self, on: Shape, draws: Draws<'_>, actions: &mut Vec<Action>) -> Result<()> {
        actions.extend(permutation(on, &mut draws.random()));
        Ok(())
    }
}

/// Replaces colors by gray.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Grayscale {
    /// The channels of the result, which must be those of the picture: no transform changes the
    /// number of channels.
    pub num_output_channels: u8,
}

impl Default for Grayscale {
    fn default() -> Grayscale {
        Grayscale { num_output_channels: 1 }
    }
}

impl Draw for Grayscale {
    fn draw(&self, on: Shape, _: Draws<'_>, actions: &mut Vec<Action>) -> Result<()> {
        if usize::from(self.num_output_channels) != on.channels {
            return Err(Error::usage(format!(
                "Grayscale: num_output_channels is {}, and the picture has {}; a transform keeps the number of channels: \
                 give {}, or decode to another number",
                self.num_output_channels, on.channels, on.channels
            )));
        }
        actions.push(RgbToGrayscale {}.into());
        Ok(())
    }

    fn validate(&self) -> Result<()> {
        match self.num_output_channels {
            1 | 3 => Ok(()),
            other => Err(Error::usage(format!(
                "Grayscale: num_output_channels is {other}; valid are 1 and 3"
            ))),
        }
    }
}
