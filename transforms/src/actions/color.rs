//! Actions on the color of a pixel: pointwise, by histogram, and between channels.

mod channels;
mod histogram;
mod pointwise;
#[cfg(test)]
mod tests;

pub use self::channels::{
    AdjustContrast, AdjustHue, AdjustSaturation, PermuteChannels, RgbToGrayscale,
};
pub use self::histogram::{Autocontrast, Equalize};
pub use self::pointwise::{AdjustBrightness, AdjustGamma, Invert, Posterize, Solarize};
