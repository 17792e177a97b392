//! Locks that a panic poisoned.
//!
//! The project takes such locks anyway: a panic ends its own batch or task with an error, and the
//! data behind each lock is valid between any two statements. No other policy belongs here.

use std::sync::{LockResult, PoisonError};

/// The guard or value of a lock, poisoned or not.
///
/// ```
/// use std::sync::Mutex;
/// use tarflume_formats::IgnorePoison;
///
/// let count = Mutex::new(1);
/// *count.lock().ignore_poison() += 1;
/// assert_eq!(count.into_inner().ignore_poison(), 2);
/// ```
pub trait IgnorePoison<T> {
    /// Returns the guard or value, even if a thread panicked while it held the lock.
    fn ignore_poison(self) -> T;
}

impl<T> IgnorePoison<T> for LockResult<T> {
    fn ignore_poison(self) -> T {
        self.unwrap_or_else(PoisonError::into_inner)
    }
}
