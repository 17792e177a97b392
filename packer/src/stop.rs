//! `Stop`: asks a piece of work to end at its next sample, so that temporary files are removed.
//!
//! Installs no signal handler: a program that wants Ctrl-C to end its work sets the flag in its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Ends one piece of work early. Clones end the same piece.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// A new one, which nothing has requested.
    pub fn new() -> Stop {
        Stop::default()
    }

    /// One that is requested by setting `flag`, which a signal handler may do.
    pub fn by_flag(flag: Arc<AtomicBool>) -> Stop {
        Stop(flag)
    }

    /// Asks the work to end at its next sample.
    pub fn request(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// True once the work should end.
    pub fn requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
