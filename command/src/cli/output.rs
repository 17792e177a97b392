//! Output: both streams, and the progress display.

pub(super) mod out;
pub(super) mod progress;
