//! What is done to whole lines of samples, in the widest instructions that the processor has.
//!
//! The chooser and the interface that every set of kernels keeps. No kernel knows of images, planes
//! or Huffman codes; each set gives the same bytes as the portable one, for every input.
#![allow(dead_code)]

pub(crate) use self::run::{Blocks, Simd};

mod cosines;
mod portable;
mod run;
#[cfg(test)]
mod tests;

use std::sync::OnceLock;

impl Simd {
    /// The best set that runs here.
    pub(crate) fn best() -> &'static Simd {
        static BEST: OnceLock<&Simd> = OnceLock::new();
        BEST.get_or_init(|| Simd::all().pop().unwrap_or(&portable::SIMD))
    }

    /// Every set that runs here, the best last.
    pub(crate) fn all() -> Vec<&'static Simd> {
        vec![&portable::SIMD]
    }
}
