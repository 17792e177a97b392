//! The atomics of the table of maps: the standard library's, which the model in `tests/models`
//! replaces.

pub(super) use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};
