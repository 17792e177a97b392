//! Loops that move pixels.

pub(crate) mod elastic;
pub(crate) mod moves;
pub(crate) mod resize_mask;
pub(crate) mod warp;
