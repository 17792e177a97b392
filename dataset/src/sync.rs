//! The locks on which the threads of the fetcher wait: those of the standard library. Unit tests of this crate are compiled with locks that are
//! the same, and within `explore` those of the crate `shuttle`, which runs a test under many schedules.

#[cfg(not(test))]
pub(crate) use std::sync::{Condvar, Mutex};
#[cfg(test)]
pub(crate) use tarflume_fixtures::scheduled::{Condvar, Mutex};
