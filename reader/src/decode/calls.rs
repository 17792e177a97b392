//! `Calls`: what functions that a user handed in cost where each sample is decoded.
//!
//! Counting only: whoever calls them says so by `Scratch::called`.

use std::ops::AddAssign;
use std::time::Duration;

/// Calls of a user's functions, over all threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Calls {
    /// How many.
    pub count: u64,
    /// Time spent in them.
    pub busy: Duration,
    /// Time spent waiting to be let in: only one thread at a time may run what needs an interpreter's
    /// lock.
    pub waiting: Duration,
}

impl Calls {
    /// All time that threads gave to them.
    pub fn time(&self) -> Duration {
        self.busy + self.waiting
    }
}

impl AddAssign for Calls {
    fn add_assign(&mut self, other: Calls) {
        self.count += other.count;
        self.busy += other.busy;
        self.waiting += other.waiting;
    }
}
