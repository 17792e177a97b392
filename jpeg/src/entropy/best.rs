//! Which set of instructions the steps take.

use super::lockstep::Lockstep;

/// The fastest steps that this processor has: those that keep coefficients, and those that don't.
fn best() -> (Lockstep, Lockstep) {
    #[cfg(target_arch = "x86_64")]
    if let Some(fast) = super::fast::lockstep() {
        return fast;
    }
    (Lockstep::PORTABLE, Lockstep::PORTABLE_SCAN)
}

/// Steps that keep coefficients.
pub(crate) fn lockstep() -> Lockstep {
    best().0
}

/// Steps for who looks at places alone: most coefficients are not stored.
pub(crate) fn scan_lockstep() -> Lockstep {
    best().1
}
