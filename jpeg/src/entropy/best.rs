//! Which set of instructions the steps take.

use super::lockstep::Lockstep;

/// The fastest steps that this processor has.
pub(crate) fn lockstep() -> Lockstep {
    #[cfg(target_arch = "x86_64")]
    if let Some(fast) = super::fast::lockstep() {
        return fast;
    }
    Lockstep::PORTABLE
}
