//! `--ignore-zeros`: whether tars that were joined are read on behind their end markers. An option of every command
//! that reads tars.

use std::sync::OnceLock;

/// The option of the command line of this process.
static GIVEN: OnceLock<bool> = OnceLock::new();

/// Keeps the option.
pub(in crate::cli) fn keep(given: bool) {
    let _ = GIVEN.set(given); // once a process; tests call commands without options
}

/// Returns true if tars are read on behind end markers.
pub(in crate::cli) fn are_ignored() -> bool {
    GIVEN.get().copied().unwrap_or_default()
}
