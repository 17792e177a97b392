//! The parts of a sample: names, extensions, JSON and arrays.

pub(super) mod content;
pub(super) mod irregular;
#[doc(hidden)]
pub mod json;
pub mod name;
pub mod npy;
#[doc(hidden)]
pub mod number_kind;
pub(super) mod repeat;
