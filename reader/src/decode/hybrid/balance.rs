//! `DeviceShare`: the share of pictures that the device decodes. Pure: no clock, no thread; depends on its inputs
//! only.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use tarflume_image::Random;
use tarflume_types::{Error, Result};

/// The stream of a sample's random numbers that assigns its decoder. Far from the streams of columns, which are small.
const STREAM: u64 = 0x6a70_6567_7368_6172;

/// The text of a share that follows the speeds of both sides.
const AUTO: &str = "auto";

/// All pictures, in per mille.
const ALL: u16 = 1000;

/// The largest and the smallest step from batch to batch, in per mille.
const STRIDE: u16 = 32;
const PACE: u16 = 1;

/// After this many steps in one direction, each further step grows by [`GROWTH`]. The effect of a step shows only some
/// batches later, so early growth would mistake that delay for a change of speed.
const PATIENCE: u32 = 12;
const GROWTH: u16 = 4;

/// Total waiting time of a batch below which it carries no information.
const NOTHING: Duration = Duration::from_micros(50);

/// Waiting times while a batch was completed, at the point where both decoders' results meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WaitTimes {
    /// Time in which only pictures of the device were missing.
    pub device: Duration,
    /// Time in which only pictures of the CPU were missing.
    pub cpu: Duration,
}

/// The share of pictures that the device decodes. As text it is `auto`, which begins with a half, or a share from 0 to 1.
///
/// ```
/// use tarflume::{DeviceShare, Image, RandomResizedCrop};
///
/// let image = Image::new("jpg", RandomResizedCrop::new(224)).device_decoder(DeviceShare::auto(500));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeviceShare {
    /// A fixed number of pictures in a thousand: the same pictures in every run.
    Fixed(u16),
    /// A share that makes both sides finish at the same time. The two decoders are not bit-identical, so
    /// pixels then depend on the speed of both.
    Auto(Auto),
}

/// A share that follows the speeds of both sides.
///
/// Moves toward the side that finishes first, in steps that are halved at each change of direction (like
/// Riedmiller and Braun's RPROP, 1993): noise moves it little, a change of speed moves it far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Auto {
    per_mille: u16,
    step: u16,
    /// Whether the last step was toward the device.
    up: bool,
    /// Number of consecutive steps in that direction.
    streak: u32,
}

impl DeviceShare {
    /// A fixed share of `per_mille` pictures in a thousand.
    pub fn fixed(per_mille: u16) -> DeviceShare {
        DeviceShare::Fixed(per_mille.min(ALL))
    }

    /// An adaptive share that starts at `per_mille`.
    pub fn auto(per_mille: u16) -> DeviceShare {
        DeviceShare::Auto(Auto {
            per_mille: per_mille.min(ALL),
            step: STRIDE,
            up: false,
            streak: 0,
        })
    }

    /// Pictures in a thousand that the device decodes.
    pub fn per_mille(&self) -> u16 {
        match self {
            DeviceShare::Fixed(per_mille) => (*per_mille).min(ALL),
            DeviceShare::Auto(auto) => auto.per_mille,
        }
    }

    /// Whether the device decodes the picture, by the random seed of its sample. A larger share selects a
    /// superset of the pictures.
    pub fn picks(&self, seed: u64) -> bool {
        Random::stream(seed, STREAM).below(ALL.into()) < self.per_mille().into()
    }

    /// Adapts the share to the waiting times of a completed batch.
    pub fn observe(&mut self, waited: WaitTimes) {
        if let DeviceShare::Auto(auto) = self {
            auto.observe(waited);
        }
    }
}

impl fmt::Display for DeviceShare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DeviceShare::Fixed(_) => write!(f, "{}", f64::from(self.per_mille()) / f64::from(ALL)),
            DeviceShare::Auto(_) => f.write_str(AUTO),
        }
    }
}

impl FromStr for DeviceShare {
    type Err = Error;

    /// # Errors
    /// Returns an error unless the text is `auto` or a number from 0 to 1.
    fn from_str(text: &str) -> Result<DeviceShare> {
        if text == AUTO {
            return Ok(DeviceShare::auto(ALL / 2));
        }
        match text.parse::<f64>() {
            Ok(share) if (0.0..=1.0).contains(&share) => {
                Ok(DeviceShare::fixed((share * f64::from(ALL)).round() as u16))
            }
            _ => {
                let text = format!("'{text}' is no share; write 'auto', or a number from 0 to 1");
                Err(Error::usage(text))
            }
        }
    }
}

impl Serialize for DeviceShare {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for DeviceShare {
    fn deserialize<D: Deserializer<'de>>(
        deserializer: D,
    ) -> std::result::Result<DeviceShare, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(|error: Error| D::Error::custom(error.text()))
    }
}

impl Auto {
    fn observe(&mut self, WaitTimes { device, cpu }: WaitTimes) {
        let more = device.max(cpu);
        let less = device.min(cpu);
        // Differences below a tenth count as equal.
        if more + less < NOTHING || more - less < (more + less) / 10 {
            return;
        }
        let up = cpu > device;
        if up != self.up && self.streak > 0 {
            self.step = (self.step / 2).max(PACE);
            self.streak = 0;
        } else if self.streak > PATIENCE {
            self.step = (self.step + GROWTH).min(STRIDE);
        }
        self.up = up;
        self.streak = self.streak.saturating_add(1);
        self.per_mille = if up {
            (self.per_mille + self.step).min(ALL)
        } else {
            self.per_mille.saturating_sub(self.step)
        };
    }
}

#[cfg(test)]
mod tests;
