//! `DeviceShare`: the share of pictures that the device decodes. Pure: no clock, no thread; depends on its inputs
//! only.

use std::time::Duration;

use crate::picture::random::Random;

/// The stream of a sample's random numbers that assigns its decoder. Far from the streams of columns, which are small.
const STREAM: u64 = 0x6a70_6567_7368_6172;

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

/// The share of pictures that the device decodes.
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

impl Auto {
    fn observe(&mut self, WaitTimes { device, cpu }: WaitTimes) {
        let (more, less) = (device.max(cpu), device.min(cpu));
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
        self.per_mille = match up {
            true => (self.per_mille + self.step).min(ALL),
            false => self.per_mille.saturating_sub(self.step),
        };
    }
}

#[cfg(test)]
mod tests;
