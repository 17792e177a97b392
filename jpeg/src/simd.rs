//! What is done to whole lines of samples, in the widest instructions that the processor has.
//!
//! The chooser and the interface that every set of kernels keeps. No kernel knows of images, planes
//! or Huffman codes; each set gives the same bytes as the portable one, for every input.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "aarch64")]
mod neon;
pub(crate) mod portable;
#[cfg(target_arch = "x86_64")]
mod sse41;

pub(crate) use self::run::{Blocks, Simd};

mod run;
