//! `Metrics`: counters of requests, bytes and latencies. Lock-free; read by anyone at any time.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde::{Serialize, Serializer};

/// The upper bounds of the latency buckets: powers of the square root of two from 0.1 ms.
const BUCKETS: usize = 32;

/// Counts what happens on the wire. Shared by all objects of a store.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    requests: AtomicU64,
    failed: AtomicU64,
    delayed: AtomicU64,
    received: AtomicU64,
    sent: AtomicU64,
    first_byte: [AtomicU64; BUCKETS],
}

/// A copy of the counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[non_exhaustive]
pub struct StoreStats {
    /// Requests that were sent, those that were repeated too.
    pub requests: u64,
    /// Requests that were answered with an error that may pass, or not at all. Each is repeated.
    pub retries: u64,
    /// Answers that asked for a pause (`Retry-After`).
    pub throttled: u64,
    /// Bytes of objects that were received.
    pub bytes_received: u64,
    /// Bytes of objects that were sent.
    pub bytes_sent: u64,
    /// Half of the answers began within this time.
    #[serde(rename = "first_byte_p50_s", serialize_with = "seconds")]
    pub first_byte_p50: Duration,
    /// 95 % of the answers began within this time.
    #[serde(rename = "first_byte_p95_s", serialize_with = "seconds")]
    pub first_byte_p95: Duration,
}

/// Writes a duration as seconds, with a fraction.
fn seconds<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(time.as_secs_f64())
}

impl Metrics {
    pub(crate) fn answered(&self, took: Duration, failed: bool) {
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.failed.fetch_add(u64::from(failed), Ordering::Relaxed);
        self.first_byte[bucket(took)].fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn throttled(&self) {
        self.delayed.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn received(&self, bytes: u64) {
        self.received.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn sent(&self, bytes: u64) {
        self.sent.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn stats(&self) -> StoreStats {
        let counts: Vec<u64> =
            self.first_byte.iter().map(|count| count.load(Ordering::Relaxed)).collect();
        StoreStats {
            requests: self.requests.load(Ordering::Relaxed),
            retries: self.failed.load(Ordering::Relaxed),
            throttled: self.delayed.load(Ordering::Relaxed),
            bytes_received: self.received.load(Ordering::Relaxed),
            bytes_sent: self.sent.load(Ordering::Relaxed),
            first_byte_p50: quantile(&counts, 50),
            first_byte_p95: quantile(&counts, 95),
        }
    }
}

/// The bucket of a latency.
fn bucket(took: Duration) -> usize {
    let tenths = took.as_secs_f64() * 10_000.0;
    (2.0 * tenths.max(1.0).log2()).ceil().clamp(0.0, (BUCKETS - 1) as f64) as usize
}

/// The upper bound of a bucket.
fn bound(bucket: usize) -> Duration {
    Duration::from_secs_f64(0.0001 * 2f64.powf(bucket as f64 / 2.0))
}

/// The bound below which `percent` of the counted latencies lie; zero if none was counted.
fn quantile(counts: &[u64], percent: u64) -> Duration {
    let total: u64 = counts.iter().sum();
    let mut below = 0;
    for (number, count) in counts.iter().enumerate() {
        below += count;
        if total > 0 && below * 100 >= total * percent {
            return bound(number);
        }
    }
    Duration::ZERO
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_within_half_an_octave() {
        let metrics = Metrics::default();
        for ms in 1..=100 {
            metrics.answered(Duration::from_millis(ms), ms > 98);
        }
        let stats = metrics.stats();
        assert_eq!((stats.requests, stats.retries), (100, 2));
        for (found, ms) in [(stats.first_byte_p50, 50.0), (stats.first_byte_p95, 95.0)] {
            let ratio = found.as_secs_f64() * 1000.0 / ms;
            assert!((1.0..1.42).contains(&ratio), "{found:?} for {ms} ms");
        }
        assert_eq!(quantile(&[0; BUCKETS], 50), Duration::ZERO);
        assert_eq!(bucket(Duration::from_secs(10_000)), BUCKETS - 1);
    }
}
