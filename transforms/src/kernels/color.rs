//! Loops over the colors of pixels.

pub(crate) mod blend;
pub(crate) mod bytes;
pub(crate) mod gray;
pub(crate) mod histogram;
pub(crate) mod hue;
pub(crate) mod planes;
pub(crate) mod pointwise;
pub(crate) mod power;
mod shuffles;
pub(crate) mod table;
