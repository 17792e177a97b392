//! Kernels on whole lines of samples, in the widest instructions of the processor.
//!
//! Selects a set of kernels and defines their interface. No kernel knows images, planes or Huffman
//! codes; each set gives the same bytes as the portable one, for every input.

use std::sync::OnceLock;

pub(crate) use self::resize::LINES;
pub(crate) use self::run::{AcrossLine, Blocks, ByteKernels, Simd};
pub(crate) use self::taps::{
    Across, Column, DIGITS, Digits, FOUR, Inputs, LOW_BITS, Lines, MOST_ACROSS, MOST_LINES, Table,
    Taps, Units, split,
};
pub(crate) use self::weights::{Each, FINE_BITS, Outputs, SOME, cubic_of, lanczos_of, rounded};

mod color;
mod cosines;
mod dct;
mod lanes;
mod portable;
mod resize;
mod run;
mod sets;
mod taps;
mod upsample;
mod weights;

impl Simd {
    /// Returns the best set that runs here, or the one that `TARFLUME_KERNELS` names: for measurements, and to find out
    /// whether a fault depends on the processor.
    pub(crate) fn best() -> &'static Simd {
        static BEST: OnceLock<&Simd> = OnceLock::new();
        BEST.get_or_init(|| Simd::choose(std::env::var("TARFLUME_KERNELS").ok().as_deref()))
    }

    /// Returns the set of this name, or the best if it does not run here.
    fn choose(name: Option<&str>) -> &'static Simd {
        let mut sets = Simd::all();
        let named = sets.iter().position(|set| Some(set.name) == name);
        sets.truncate(named.map_or(sets.len(), |number| number + 1));
        sets.pop().unwrap_or(&portable::SIMD)
    }

    /// Returns every set that runs here, the best last.
    pub(crate) fn all() -> Vec<&'static Simd> {
        let mut sets = vec![&portable::SIMD];
        #[cfg(target_arch = "x86_64")]
        sets.extend(
            [sets::sse41::simd(), sets::avx2::simd(), sets::avx512::simd()].into_iter().flatten(),
        );
        #[cfg(target_arch = "aarch64")]
        sets.extend(sets::neon::simd());
        sets
    }
}

#[cfg(test)]
mod tests;
