//! Loops over pixels, each compiled for the instruction sets of the processor: the same bytes from each.

pub(crate) mod elastic;
pub(crate) mod moves;
pub(crate) mod pointwise;
pub(crate) mod sets;
pub(crate) mod warp;
