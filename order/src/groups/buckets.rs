//! Batches whose samples have something in common: the bucket of each sample, and the batches of a rank.

mod groups;
pub(crate) mod same;
pub(crate) mod share;
pub(crate) mod steps;
