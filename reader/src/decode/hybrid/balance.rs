//! `DeviceShare`: which pictures go to the device's decoder, and which stay with the CPU. Pure: no clock, no
//! thread; what it is told is all that it knows.

use std::time::Duration;

use crate::picture::random::Random;

/// The stream of a sample's random numbers from which its decoder is drawn, far from those of columns.
const STREAM: u64 = 0x6a70_6567_7368_6172;

/// All pictures.
const ALL: u16 = 1000;

/// The largest and the smallest step from batch to batch, in pictures of a thousand.
const STRIDE: u16 = 32;
const PACE: u16 = 1;

/// After so many steps in one direction they grow longer, by so much each: what a step does is seen some
/// batches later, and must not look like a change of speed.
const PATIENCE: u32 = 12;
const GROWTH: u16 = 4;

/// Waits of a batch that say nothing, together.
const NOTHING: Duration = Duration::from_micros(50);

/// What was waited for while a batch was put together, at the place where both decoders' work meets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Waited {
    /// While only pictures of the device's decoder were missing.
    pub device: Duration,
    /// While only pictures of the CPU were missing.
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
    /// So many of a thousand: the same pictures in every run.
    Fixed(u16),
    /// As many as make both sides finish at once. Two decoders don't agree in every bit, so pixels then
    /// depend on how fast they were.
    Auto(Auto),
}

/// A share that follows the speed of both sides.
///
/// It goes towards the side that is not waited for, in steps that become smaller each time the direction
/// changes (as Riedmiller and Braun's RPROP does, 1993): noise moves it little, a change of speed
/// moves it far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Auto {
    per_mille: u16,
    step: u16,
    /// Whether the last step was towards the device.
    up: bool,
    /// Steps in that direction, one after another.
    streak: u32,
}

impl DeviceShare {
    /// So many pictures of a thousand, at most all.
    pub fn fixed(per_mille: u16) -> DeviceShare {
        DeviceShare::Fixed(per_mille.min(ALL))
    }

    /// A share that is found while it is used, from this one on.
    pub fn auto(per_mille: u16) -> DeviceShare {
        DeviceShare::Auto(Auto {
            per_mille: per_mille.min(ALL),
            step: STRIDE,
            up: false,
            streak: 0,
        })
    }

    /// Pictures of a thousand that go to the device.
    pub fn per_mille(&self) -> u16 {
        match self {
            DeviceShare::Fixed(per_mille) => (*per_mille).min(ALL),
            DeviceShare::Auto(auto) => auto.per_mille,
        }
    }

    /// Whether a picture goes to the device, by the random seed of its sample. A larger share has the same
    /// pictures and more.
    pub fn picks(&self, seed: u64) -> bool {
        Random::stream(seed, STREAM).below(ALL.into()) < self.per_mille().into()
    }

    /// Tells of a batch that was put together.
    pub fn told(&mut self, waited: Waited) {
        if let DeviceShare::Auto(auto) = self {
            auto.told(waited);
        }
    }
}

impl Auto {
    fn told(&mut self, Waited { device, cpu }: Waited) {
        let (more, less) = (device.max(cpu), device.min(cpu));
        // Within a tenth they are equal.
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
