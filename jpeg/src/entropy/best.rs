//! Selects the instruction set of the steps.

use super::lockstep::Lockstep;
use super::skim::Skimmers;

/// Returns the fastest steps for this processor: those that keep coefficients, and those that do
/// not.
fn best() -> (Lockstep, Lockstep) {
    #[cfg(target_arch = "x86_64")]
    if let Some(fast) = super::fast::lockstep() {
        return fast;
    }
    (Lockstep::PORTABLE, Lockstep::PORTABLE_SCAN)
}

/// Returns steps that keep coefficients.
pub(crate) fn lockstep() -> Lockstep {
    best().0
}

/// Returns steps for a scan that only needs positions: most coefficients are not stored.
pub(crate) fn scan_lockstep() -> Lockstep {
    best().1
}

/// Returns the fastest steps of the scanner for this processor.
pub(crate) fn skimmers() -> Skimmers {
    #[cfg(target_arch = "x86_64")]
    if let Some(fast) = super::fast::skimmers() {
        return fast;
    }
    Skimmers::PORTABLE
}
