//! Operations on color: random factors, and actions with a probability.

mod chances;
mod jitter;
mod order;
#[cfg(test)]
mod tests;

pub use self::chances::{
    Grayscale, RandomAutocontrast, RandomChannelPermutation, RandomEqualize, RandomGamma,
    RandomGrayscale, RandomInvert, RandomPosterize, RandomSolarize,
};
pub use self::jitter::{ColorJitter, RandomPhotometricDistort};
