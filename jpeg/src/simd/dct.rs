//! Inverse DCTs in vectors.

pub(super) mod groups;
pub(super) mod idct;
pub(super) mod pairs;
pub(super) mod reduced;
