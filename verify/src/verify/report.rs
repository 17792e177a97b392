//! The report as text.

pub(super) mod cases;
pub(super) mod display;
pub(super) mod found;
mod readers;
pub(super) mod totals;
pub(super) mod unchecked;
