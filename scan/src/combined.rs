//! Samples that are combined with something else: labels, parallel folders, several pictures; or of several files.

pub mod attach;
pub mod grouped;
mod keys;
mod matched;
pub mod pair;
pub mod several;
mod strays;
