//! The locks on which a loader's threads wait: those of the standard library, or those of `shuttle`, which runs a
//! test under many schedules.
//!
//! With the feature `shuttle` the types work only inside a test of `shuttle`.

#[cfg(feature = "shuttle")]
pub use shuttle::sync::atomic::AtomicBool;
#[cfg(feature = "shuttle")]
pub use shuttle::sync::{Condvar, Mutex, MutexGuard};
#[cfg(not(feature = "shuttle"))]
pub use std::sync::atomic::AtomicBool;
#[cfg(not(feature = "shuttle"))]
pub use std::sync::{Condvar, Mutex, MutexGuard};
