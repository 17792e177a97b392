//! Samples that are combined with something else: labels, parallel folders, several pictures.

pub mod attach;
pub mod pair;
pub mod several;
