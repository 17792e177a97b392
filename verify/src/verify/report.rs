//! The report as text.

pub(super) mod cases;
pub(super) mod display;
pub(super) mod totals;
pub(super) mod unchecked;
