//! Loops over pixels, each compiled for the instruction sets of the processor: the same bytes from each.

pub(crate) mod blur;
pub(crate) mod jpeg;
pub(crate) mod noise;
pub(crate) mod pointwise;
pub(crate) mod sets;
pub(crate) mod sharpen;

#[cfg(test)]
mod tests;
