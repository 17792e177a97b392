//! Compares what is in samples with what sidecars and the manifest state.

pub(super) mod bad_name;
pub(super) mod class_names;
pub(super) mod objects;
pub(crate) mod parts;
pub(crate) mod points;
pub(super) mod profile;
pub(super) mod values;
