//! The atomics of the table of maps: the standard library's, which the tests in `explored.rs`
//! replace.

pub(super) use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};
