//! The parts of a sample: names, extensions, JSON and arrays.

pub(super) mod content;
pub(super) mod irregular;
#[doc(hidden)]
pub mod json;
pub mod name;
pub mod npy;
pub(super) mod repeat;
