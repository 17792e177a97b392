//! The locks on which a loader's threads wait: those of the standard library. Unit tests of this crate are compiled with locks that are
//! the same, and within `explore` those of the crate `shuttle`, which runs a test under many schedules.

#[cfg(not(test))]
pub(crate) use std::sync::atomic::AtomicBool;
#[cfg(not(test))]
pub(crate) use std::sync::{Condvar, Mutex, MutexGuard};
#[cfg(test)]
pub(crate) use tarflume_fixtures::scheduled::{AtomicBool, Condvar, Mutex, MutexGuard};
