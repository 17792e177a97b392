//! Selects the instruction set of the steps.

use super::lockstep::Lockstep;
use super::skim::Skimmers;

/// Returns the fastest steps for this processor. They keep coefficients in natural order, row by
/// row, or with `zigzag` in the order of the data.
pub(crate) fn lockstep(zigzag: bool) -> Lockstep {
    #[cfg(target_arch = "x86_64")]
    if let Some(fast) = super::fast::lockstep(zigzag) {
        return fast;
    }
    if zigzag { Lockstep::portable::<true>() } else { Lockstep::portable::<false>() }
}

/// Returns the fastest steps of the scanner for this processor.
pub(crate) fn skimmers() -> Skimmers {
    #[cfg(target_arch = "x86_64")]
    if let Some(fast) = super::fast::skimmers() {
        return fast;
    }
    Skimmers::PORTABLE
}
