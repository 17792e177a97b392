//! Errors: their kind, their place, and whose fault they are.

pub(super) mod blame;
pub(super) mod error;
#[doc(hidden)]
pub mod panics;
pub(super) mod place;
pub(super) mod poison;
pub(super) mod threads;
