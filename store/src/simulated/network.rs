//! `Network`: how long the answers of a simulated server take. Arithmetic on instants, and sleep.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Latency, the rate of one connection, and a link that all connections share. Clones share the link.
#[derive(Debug, Clone, Default)]
pub(crate) struct Network {
    pub(crate) delay: Duration,
    /// Bytes a second of one connection.
    pub(crate) rate: Option<u64>,
    /// Bytes a second of the link.
    pub(crate) link: Option<u64>,
    /// When the link has sent all that was asked for.
    free: Arc<Mutex<Option<Instant>>>,
}

impl Network {
    /// Waits until an answer of `length` bytes has arrived.
    pub(crate) async fn wait(&self, length: u64) {
        let takes = self.takes(length);
        if !takes.is_zero() {
            tokio::time::sleep(takes).await;
        }
    }

    /// The time from now until then.
    fn takes(&self, length: u64) -> Duration {
        let time = |rate: u64| Duration::from_secs_f64(length as f64 / rate as f64);
        let alone = self.delay + self.rate.map(time).unwrap_or_default();
        let Some(link) = self.link else { return alone };
        let now = Instant::now();
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let end = free.map_or(now, |free| free.max(now)) + time(link);
        *free = Some(end);
        alone.max(end - now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_share_the_link_and_no_other_rate() {
        let delay = Duration::from_millis(30);
        let alone = Network { delay, rate: Some(1000), ..Network::default() };
        assert_eq!([alone.takes(500), alone.takes(500)], [Duration::from_millis(530); 2]);
        let shared = Network { link: Some(1000), ..alone };
        assert_eq!(shared.takes(500), Duration::from_millis(530));
        let second = shared.clone().takes(500);
        assert!(second > Duration::from_millis(900) && second <= Duration::from_secs(1));
    }
}
