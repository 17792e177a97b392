//! `Depth`: how many requests are under way at the same time. Pure: latencies come in as arguments.
//!
//! A search for the least depth that brings the most bytes: after a window of requests, another depth is tried for a
//! window, and kept if it was worth it. More requests are worth it if they bring clearly more bytes; fewer, if they
//! bring nearly as many.

use std::time::Duration;

/// More requests must bring so many times the bytes.
const BETTER: f64 = 1.05;
/// Fewer requests may bring so many times the bytes.
const AS_GOOD: f64 = 0.97;
/// After so many windows another depth is tried.
const PATIENCE: u32 = 6;

/// The number of requests at the same time.
#[derive(Debug)]
pub(crate) struct Depth {
    now: usize,
    least: usize,
    most: usize,
    /// The depth before the one that is tried now, and its bytes a second.
    before: Option<(usize, f64)>,
    /// Windows since the last trial.
    held: u32,
    /// True if the next trial is one with more requests.
    up: bool,
    /// True until a larger depth was not worth it for the first time: the depth is doubled so long.
    starting: bool,
    window: Window,
}

/// What was measured since the depth was changed.
#[derive(Debug, Default)]
struct Window {
    ended: usize,
    /// Sum of the latencies.
    took: Duration,
    bytes: u64,
    /// Requests that ended while others waited for a free place.
    full: usize,
}

impl Depth {
    /// From `least` to `most` requests. Begins with half of `most`.
    pub(crate) fn new(least: usize, most: usize) -> Depth {
        let least = least.min(most);
        Depth {
            // The first trial doubles the depth: a store that serves all requests gets them after one window.
            now: (most / 2).max(least),
            least,
            most,
            before: None,
            held: 0,
            up: true,
            starting: true,
            window: Window::default(),
        }
    }

    /// The number of requests that may be under way now.
    pub(crate) fn now(&self) -> usize {
        self.now
    }

    /// A request for `bytes` bytes has ended after `took`. `waiting`: others wait for a free place, so the depth is
    /// what limits.
    pub(crate) fn ended(&mut self, bytes: u64, took: Duration, waiting: bool) {
        let window = &mut self.window;
        window.ended += 1;
        window.took += took;
        window.bytes += bytes;
        window.full += usize::from(waiting);
        if window.ended >= self.now {
            self.decide();
        }
    }

    /// Decides after a window of as many requests as are under way at the same time.
    fn decide(&mut self) {
        let Window { ended, took, bytes, full } = std::mem::take(&mut self.window);
        if full * 2 < ended {
            return; // there was too little to do to learn from it
        }
        // By Little's law: bytes of a request, times requests at the same time, divided by their latency.
        let rate = bytes as f64 * self.now as f64 / took.as_secs_f64().max(1e-9);
        if let Some((depth, last)) = self.before.take() {
            self.judge(depth, rate / last.max(1e-9));
        }
        self.held += 1;
        if self.starting || self.held >= PATIENCE {
            self.attempt(rate);
        }
    }

    /// Keeps the depth that was tried, or goes back to `before`. `gain`: its bytes a second, as a multiple.
    fn judge(&mut self, before: usize, gain: f64) {
        let is_worth_it = if self.now > before { gain > BETTER } else { gain > AS_GOOD };
        if is_worth_it {
            self.up = self.now > before; // goes on in this direction
        } else {
            (self.up, self.starting) = (self.now < before, false);
            self.now = before;
        }
    }

    /// Tries another depth.
    fn attempt(&mut self, rate: f64) {
        // A fifth less takes back a fourth more; the 1 lets a depth below 4 grow.
        let tried = if !self.up {
            self.now - self.now / 5
        } else if self.starting {
            self.now * 2
        } else {
            self.now + self.now / 4 + 1
        };
        let tried = tried.clamp(self.least, self.most);
        self.held = 0;
        if tried == self.now {
            (self.up, self.starting) = (!self.up, false);
        } else {
            self.before = Some((self.now, rate));
            self.now = tried;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server that answers after `latency`, and `served` requests at once at most: more wait for each other.
    fn settled(latency: Duration, served: usize, depth: &mut Depth, rounds: usize) -> Vec<usize> {
        let mut depths = Vec::new();
        for _ in 0..rounds {
            let now = depth.now();
            let took = latency * (now.max(served) as u32) / served as u32;
            (0..now).for_each(|_| depth.ended(100_000, took, true));
            depths.push(depth.now());
        }
        depths
    }

    #[test]
    fn a_server_that_serves_all_gets_all() {
        let mut depth = Depth::new(8, 256);
        let depths = settled(Duration::from_millis(30), 10_000, &mut depth, 20);
        assert_eq!(depths.first(), Some(&256), "{depths:?}");
        // What is tried with fewer brings less.
        let most = depths.iter().filter(|now| **now == 256).count();
        assert!(most > 15 && depths.iter().min() >= Some(&128), "{depths:?}");
    }

    #[test]
    fn a_server_that_serves_few_at_once_gets_some_more_than_these() {
        for served in [10, 40, 100] {
            let mut depth = Depth::new(8, 256);
            let depths = settled(Duration::from_millis(5), served, &mut depth, 400);
            let last = &depths[200..];
            let least = last.iter().min().unwrap();
            let most = last.iter().max().unwrap();
            assert!(*least * 3 >= served * 2 && *most <= served * 2, "{served}: {least} to {most}");
        }
    }

    #[test]
    fn a_reader_that_asks_little_changes_nothing() {
        let mut depth = Depth::new(8, 256);
        let before = depth.now();
        (0..10_000).for_each(|n| depth.ended(1000, Duration::from_millis(n % 90), false));
        assert_eq!(depth.now(), before);
    }

    #[test]
    fn a_server_that_becomes_slower_for_all_is_not_asked_less() {
        let mut depth = Depth::new(8, 256);
        settled(Duration::from_millis(5), 10_000, &mut depth, 20);
        let depths = settled(Duration::from_millis(20), 10_000, &mut depth, 100);
        assert!(depths[20..].iter().all(|now| *now >= 204), "{depths:?}");
    }
}
