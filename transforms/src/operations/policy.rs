//! Policies: operations that draw other changes and their strengths.
//!
//! The policies of torchvision draw from tables of strengths; [`timm`] reads the configuration strings of timm.

mod aug_mix;
mod auto_augment;
mod chain;
mod dirichlet;
mod numbers;
mod rand_augment;
mod strengths;
mod sub_policies;
pub mod timm;
mod trivial;

use tarflume_types::{Error, Result};

pub use self::aug_mix::AugMix;
pub use self::auto_augment::{AutoAugment, AutoAugmentPolicy};
pub use self::rand_augment::RandAugment;
pub use self::timm::TimmAugment;
pub use self::trivial::TrivialAugmentWide;
use crate::settings::Interpolation;

/// The most changes of one sample, and the most chains of a mix.
const MOST: u32 = 100;

/// Checks the interpolation of the warps of a policy.
fn interpolation_of_warps(operation: &str, interpolation: Interpolation) -> Result<()> {
    match interpolation {
        Interpolation::Nearest | Interpolation::Bilinear | Interpolation::Bicubic => Ok(()),
        Interpolation::Lanczos => Err(Error::usage(format!(
            "{operation}: interpolation is {interpolation}; warps have nearest, bilinear and bicubic"
        ))),
    }
}

/// Checks the number of strengths, of which each table has the first and the last.
fn bins(operation: &str, bins: u32) -> Result<()> {
    if (2..=1_000_000).contains(&bins) {
        return Ok(());
    }
    let text = format!("{operation}: num_magnitude_bins is {bins}; it must be 2 to 1,000,000");
    Err(Error::usage(text))
}

#[cfg(test)]
mod tests;
