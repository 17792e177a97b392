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
        let takes = self.takes(length, Instant::now());
        if !takes.is_zero() {
            tokio::time::sleep(takes).await;
        }
    }

    /// The time from `now` until then.
    fn takes(&self, length: u64, now: Instant) -> Duration {
        let alone = self.delay + self.rate.map(|rate| time_of(length, rate)).unwrap_or_default();
        let Some(link) = self.link else { return alone };
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let end = free.map_or(now, |free| free.max(now)) + time_of(length, link);
        *free = Some(end);
        alone.max(end - now)
    }
}

/// The time of `length` bytes at `rate` bytes a second.
fn time_of(length: u64, rate: u64) -> Duration {
    Duration::from_secs_f64(length as f64 / rate as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_share_the_link_and_no_other_rate() {
        let delay = Duration::from_millis(30);
        let alone = Network { delay, rate: Some(1000), ..Network::default() };
        let now = Instant::now();
        let ms = Duration::from_millis;
        assert_eq!([alone.takes(500, now), alone.takes(500, now)], [ms(530); 2]);
        let shared = Network { link: Some(1000), ..alone };
        assert_eq!(shared.takes(500, now), ms(530));
        assert_eq!(shared.clone().takes(500, now), ms(1000));
        assert_eq!(shared.takes(500, now + ms(1000)), ms(530), "the link is free again");
        assert_eq!(shared.takes(500, now + ms(1100)), ms(900));
    }
}
