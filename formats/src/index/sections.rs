//! Optional sections of a sidecar, read in place.

pub(super) mod counts;
pub(super) mod frames;
pub(super) mod points;
pub(super) mod values;
