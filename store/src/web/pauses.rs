//! `Pauses`: how long to wait between the tries of a request.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::{Duration, Instant};

use object_store::RetryConfig;

/// Growing pauses of random length, up to a number of tries and a time.
pub(crate) struct Pauses {
    start: Instant,
    last: Duration,
    tries: usize,
    config: RetryConfig,
}

impl Pauses {
    pub(crate) fn new(config: &RetryConfig) -> Pauses {
        let config = config.clone();
        Pauses { start: Instant::now(), last: config.backoff.init_backoff, tries: 1, config }
    }

    /// Waits before the next try. Returns false if there were enough.
    pub(crate) async fn pause(&mut self) -> bool {
        let backoff = &self.config.backoff;
        if self.tries > self.config.max_retries
            || self.start.elapsed() + self.last > self.config.retry_timeout
        {
            return false;
        }
        tokio::time::sleep(self.last).await;
        self.tries += 1;
        let longest = self.last.mul_f64(backoff.base).max(backoff.init_backoff);
        let span = longest - backoff.init_backoff;
        self.last = (backoff.init_backoff + span.mul_f64(chance())).min(backoff.max_backoff);
        true
    }

    pub(crate) fn tries(&self) -> usize {
        self.tries
    }
}

/// A random number from 0 to 1: machines that were refused together do not come back together.
fn chance() -> f64 {
    let random = RandomState::new().build_hasher().finish();
    (random >> 11) as f64 / (1u64 << 53) as f64
}
