//! `Stop`: requests a task to end at its next sample, so that temporary files are removed.
//!
//! Installs no signal handler: a program that wants Ctrl-C to end its work sets the flag in its
//! own.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Ends one task early. Clones end the same task.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Creates a stop that is not requested.
    pub fn new() -> Stop {
        Stop::default()
    }

    /// Creates a stop that is requested by setting `flag`, which a signal handler may do.
    pub fn by_flag(flag: Arc<AtomicBool>) -> Stop {
        Stop(flag)
    }

    /// Requests the task to end at its next sample.
    pub fn request(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Returns true once the task should end.
    #[inline]
    pub fn requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
