//! Batches whose samples have something in common: the bucket of each sample, and the batches of a rank.

mod groups;
pub(super) mod same;
pub(super) mod share;
pub(super) mod steps;
