//! The locks that threads of a loader wait at: those of the standard library, or those of `shuttle`, which
//! runs a test under many schedules.
//!
//! With the feature `shuttle` the types work inside a test of shuttle alone.

#[cfg(feature = "shuttle")]
pub(crate) use shuttle::sync::atomic::AtomicBool;
#[cfg(feature = "shuttle")]
pub(crate) use shuttle::sync::{Condvar, Mutex, MutexGuard};
#[cfg(not(feature = "shuttle"))]
pub(crate) use std::sync::atomic::AtomicBool;
#[cfg(not(feature = "shuttle"))]
pub(crate) use std::sync::{Condvar, Mutex, MutexGuard};
