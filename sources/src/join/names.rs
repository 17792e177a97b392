//! The names of samples and rows: those that samples have, those that rows are reduced to, the order of samples, and values of their JSON.

pub(super) mod field;
pub(super) mod on;
pub(super) mod order;
pub(super) mod reduced;
