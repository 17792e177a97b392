//! Policies: operations that draw other changes and their strengths.
//!
//! The policies of torchvision draw from tables of strengths; [`timm`] reads the configuration strings of timm.

mod aug_mix;
mod auto_augment;
mod chain;
mod limits;
mod rand_augment;
mod strengths;
mod sub_policies;
pub mod timm;
mod trivial;

pub use self::aug_mix::AugMix;
pub use self::auto_augment::{AutoAugment, AutoAugmentPolicy};
pub use self::rand_augment::RandAugment;
pub use self::timm::TimmAugment;
pub use self::trivial::TrivialAugmentWide;

#[cfg(test)]
mod tests;
