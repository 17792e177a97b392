//! Loops over pixels, each compiled for the instruction sets of the processor: the same bytes from each.

pub(crate) mod blur;
pub(crate) mod elastic;
pub(crate) mod jpeg;
pub(crate) mod moves;
pub(crate) mod noise;
pub(crate) mod pointwise;
pub(crate) mod sets;
pub(crate) mod sharpen;
pub(crate) mod warp;

#[cfg(test)]
mod tests;
