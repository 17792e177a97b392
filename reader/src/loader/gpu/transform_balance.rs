//! `TransformBalance`: moves the transforms of columns with `TransformsOn::Auto` between host and device, by who waits.
//!
//! Runs in the thread that uploads. The rows are the same wherever a recipe runs.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::decode::hybrid::balance::WaitTimes;
use crate::decode::hybrid::sharing::Sharing;

/// Watches the batches of one epoch.
pub(crate) struct TransformBalance {
    shares: Vec<Arc<Sharing>>,
    /// When the last batch was handed on.
    since: Instant,
}

impl TransformBalance {
    /// Begins an epoch of a loader whose columns have these shares.
    pub(crate) fn begin(shares: Vec<Arc<Sharing>>) -> TransformBalance {
        TransformBalance { shares, since: Instant::now() }
    }

    /// Takes the next batch. If it had to be waited for, the host is slower than the consumer, and the device gets more;
    /// if a ready batch was waiting for the consumer, the host gets more, so that the device can train.
    pub(crate) fn next<T>(&mut self, take: impl FnOnce() -> T) -> T {
        let idle = self.since.elapsed();
        let watch = Instant::now();
        let taken = take();
        self.observe(watch.elapsed(), idle);
        self.since = Instant::now();
        taken
    }

    fn observe(&self, waited: Duration, idle: Duration) {
        for share in &self.shares {
            share.observe(WaitTimes { cpu: waited, device: idle });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::hybrid::balance::DeviceShare;

    #[test]
    fn the_side_that_has_time_gets_more() {
        let share = Arc::new(Sharing::new(DeviceShare::auto(500)));
        let balance = TransformBalance::begin(vec![share.clone()]);
        let long = Duration::from_millis(9);
        let short = Duration::from_millis(1);
        for _ in 0..100 {
            balance.observe(long, short);
        }
        assert_eq!(share.per_mille(), 1000);
        for _ in 0..200 {
            balance.observe(short, long);
        }
        assert_eq!(share.per_mille(), 0);
    }
}
