//! Selects the instruction set of the steps.

use super::lockstep::Lockstep;
use super::skim::Skimmers;

/// Returns the fastest steps for this processor.
pub(crate) fn lockstep() -> Lockstep {
    #[cfg(target_arch = "x86_64")]
    if let Some(fast) = super::fast::lockstep() {
        return fast;
    }
    Lockstep::PORTABLE
}

/// Returns the fastest steps of the scanner for this processor.
pub(crate) fn skimmers() -> Skimmers {
    #[cfg(target_arch = "x86_64")]
    if let Some(fast) = super::fast::skimmers() {
        return fast;
    }
    Skimmers::PORTABLE
}
