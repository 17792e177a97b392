//! Packs: samples whose lengths together are at most a number of tokens, and the packs of a rank.

mod fit;
pub(super) mod plan;
mod rooms;
pub(super) mod share;
pub(super) mod steps;
mod windows;
