//! What is done to whole lines of samples, in the widest instructions that the processor has.
//!
//! The chooser and the interface that every set of kernels keeps. No kernel knows of images, planes
//! or Huffman codes; each set gives the same bytes as the portable one, for every input.
#![allow(dead_code, unused_imports)]

pub(crate) use self::run::{Blocks, Simd};

#[cfg(target_arch = "x86_64")]
mod avx2;
mod colour;
mod cosines;
mod groups;
mod idct;
mod lanes;
mod pairs;
mod portable;
mod reduced;
mod run;
#[cfg(test)]
mod tests;
mod upsample;

use std::sync::OnceLock;

impl Simd {
    /// The best set that runs here.
    pub(crate) fn best() -> &'static Simd {
        static BEST: OnceLock<&Simd> = OnceLock::new();
        BEST.get_or_init(|| Simd::all().pop().unwrap_or(&portable::SIMD))
    }

    /// Every set that runs here, the best last.
    pub(crate) fn all() -> Vec<&'static Simd> {
        let mut sets = vec![&portable::SIMD];
        #[cfg(target_arch = "x86_64")]
        sets.extend(avx2::simd());
        sets
    }
}
