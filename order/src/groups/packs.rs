//! Packs: samples whose lengths together are at most a number of tokens, and the packs of a rank.

mod fit;
pub(crate) mod plan;
mod rooms;
pub(crate) mod share;
pub(crate) mod steps;
mod windows;
