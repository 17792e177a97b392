//! Functions of numbers that are the same on every machine, and what is drawn of distributions.

pub(crate) mod distributions;
pub(crate) mod exact;
