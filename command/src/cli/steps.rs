//! The steps of a build with their progress and their results.

pub(super) mod packing;
pub(super) mod pictures;
pub(super) mod preparation;
pub(super) mod summary;
