//! The names of samples and rows: those that samples have, those that rows are reduced to, and the order of samples.

pub(super) mod on;
pub(super) mod order;
pub(super) mod reduced;
