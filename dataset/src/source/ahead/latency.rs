//! `Latencies`: how long the last requests took. Data alone.

use std::time::Duration;

/// Latencies that the estimate of the slowest 5 % is made from.
const LATENCIES: usize = 256;

/// The last latencies.
#[derive(Debug, Default)]
pub(crate) struct Latencies {
    last: Vec<Duration>,
    next: usize,
    /// The 95th percentile, computed again after every 32 requests.
    slowest: Option<Duration>,
}

impl Latencies {
    pub(crate) fn add(&mut self, took: Duration) {
        match self.last.get_mut(self.next) {
            Some(oldest) => *oldest = took,
            None => self.last.push(took),
        }
        self.next = (self.next + 1) % LATENCIES;
        // Not after each request: this sorts all of them.
        if self.next.is_multiple_of(32) {
            let mut sorted = self.last.clone();
            sorted.sort_unstable();
            self.slowest = sorted.get(sorted.len() * 95 / 100).copied();
        }
    }

    /// `None` before 32 requests were measured.
    pub(crate) fn slowest(&self) -> Option<Duration> {
        self.slowest
    }
}
