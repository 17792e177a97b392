//! The atomics of the table of maps: those of the standard library, which a model of it (`tests/models`)
//! replaces.

pub(super) use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};
