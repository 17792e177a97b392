//! The report as text.

pub(super) mod display;
pub(super) mod unchecked;
