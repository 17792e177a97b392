//! Loops over pixels, each compiled for the instruction sets of the processor: the same bytes from each.

pub(crate) mod color;
pub(crate) mod filter;
pub(crate) mod geometry;
pub(crate) mod mix;
pub(crate) mod sets;

#[cfg(test)]
mod tests;
