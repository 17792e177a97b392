//! Loops over pixels, each compiled for the instruction sets of the processor: the same bytes from each.

pub(crate) mod mix;
pub(crate) mod blur;
pub(crate) mod jpeg;
pub(crate) mod noise;
pub(crate) mod blend;
mod bytes;
pub(crate) mod gray;
pub(crate) mod histogram;
pub(crate) mod hue;
pub(crate) mod planes;
pub(crate) mod elastic;
pub(crate) mod moves;
pub(crate) mod pointwise;
pub(crate) mod power;
pub(crate) mod sets;
pub(crate) mod sharpen;

mod shuffles;
#[cfg(test)]
mod tests;
pub(crate) mod warp;
