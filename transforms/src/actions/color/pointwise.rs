//! Actions that map each byte alone: brightness, gamma, invert, posterize, solarize.

use serde::{Deserialize, Serialize};
use tarflume_types::Result;

use crate::actions::apply::Apply;
use crate::frame::Frame;
use crate::kernels::color::pointwise::look_up;
use crate::kernels::color::power::power;
use crate::kernels::color::table::Table;
use crate::kernels::sets::Set;

/// Multiplies by the factor.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdjustBrightness {
    /// 0 is black, 1 changes nothing.
    pub factor: f64,
}

impl AdjustBrightness {
    fn of(&self, byte: u8) -> u8 {
        (f32::from(byte) * self.factor as f32) as u8
    }
}

/// Raises to a power, on a scale of 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdjustGamma {
    /// The power; 1 changes nothing.
    pub gamma: f64,
    /// Multiplies the result.
    pub gain: f64,
}

impl AdjustGamma {
    /// The steps are those of torchvision, each rounded to f32.
    fn of(&self, byte: u8) -> u8 {
        let value = f32::from(byte) * (1.0 / 255.0);
        let gamma = (self.gamma as f32).max(0.0);
        let raised = if gamma == 3.0 {
            value * value * value
        } else {
            power(f64::from(value), f64::from(gamma)) as f32
        };
        let gained = if self.gain == 1.0 { raised } else { raised * self.gain as f32 };
        (gained.clamp(0.0, 1.0) * 255.999) as u8
    }
}

/// Subtracts from 255.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Invert {}

impl Invert {
    fn of(&self, byte: u8) -> u8 {
        !byte
    }
}

/// Keeps the upper bits.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Posterize {
    /// 0 to 8.
    pub bits: u8,
}

impl Posterize {
    fn of(&self, byte: u8) -> u8 {
        byte & !0xff_u8.checked_shr(u32::from(self.bits)).unwrap_or(0)
    }
}

/// Inverts the values that are not below a threshold.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Solarize {
    /// 0 to 255.
    pub threshold: f64,
}

impl Solarize {
    fn of(&self, byte: u8) -> u8 {
        if f32::from(byte) >= self.threshold as f32 { !byte } else { byte }
    }
}

macro_rules! tables {
    ($($action:ident),+) => {
        $(impl Apply for $action {
            fn apply(&self, frame: &mut Frame) -> Result<()> {
                look_up(Set::best(), frame.pixels_mut(), &table_of(|byte| self.of(byte)));
                Ok(())
            }

            fn table(&self) -> Option<Table> {
                Some(table_of(|byte| self.of(byte)))
            }
        })+
    };
}

tables!(AdjustBrightness, AdjustGamma, Invert, Posterize, Solarize);

fn table_of(value: impl Fn(u8) -> u8) -> Table {
    std::array::from_fn(|byte| value(byte as u8))
}
