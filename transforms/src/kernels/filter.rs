//! Loops over the neighborhood of pixels, and noise.

pub(crate) mod blur;
pub(crate) mod jpeg;
pub(crate) mod noise;
pub(crate) mod sharpen;
