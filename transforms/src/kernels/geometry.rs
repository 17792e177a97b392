//! Loops that move pixels.

pub(crate) mod elastic;
pub(crate) mod moves;
pub(crate) mod thin;
pub(crate) mod warp;
