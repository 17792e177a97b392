//! `WaitHistogram`: how long the consumer waited for each batch, in constant memory and without a lock.
//!
//! A bucket is a sixteenth of an octave wide, and a percentile is the middle of its bucket: it differs from the exact one
//! by at most 1/32 of it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde::Serialize;
use tarflume_types::seconds;

/// Buckets of an octave, as a power of two.
const FINE: u32 = 4;
/// Buckets for all numbers of 64 bits.
const BUCKETS: usize = (64 - FINE as usize + 1) << FINE;

/// How long the consumer waited for a batch. Serde writes seconds.
///
/// ```
/// use tarflume::Loader;
///
/// # fn main() -> tarflume::Result<()> {
/// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
/// # let shards = made.path();
/// let loader = Loader::builder(shards).bytes("txt").batch(4).build()?;
/// let batches = loader.epoch(0).count() as u64;
/// let wait = loader.stats().batch_wait;
/// assert_eq!(wait.count, batches);
/// println!("half of the batches were here after {:?}, the slowest after {:?}", wait.p50, wait.max);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[non_exhaustive]
pub struct BatchWait {
    /// Batches that the consumer took since the loader was built, the first ones of epochs among them.
    pub count: u64,
    /// The mean.
    #[serde(serialize_with = "seconds")]
    pub mean: Duration,
    /// Half of the batches were here after at most this time. Percentiles differ from the exact ones by at most 3.2 %.
    #[serde(serialize_with = "seconds")]
    pub p50: Duration,
    /// So were 95 of 100.
    #[serde(serialize_with = "seconds")]
    pub p95: Duration,
    /// So were 99 of 100.
    #[serde(serialize_with = "seconds")]
    pub p99: Duration,
    /// The longest.
    #[serde(serialize_with = "seconds")]
    pub max: Duration,
}

/// The number of batches for each length of their wait.
#[derive(Debug)]
pub(crate) struct WaitHistogram {
    buckets: Box<[AtomicU64]>,
    sum: AtomicU64,
    max: AtomicU64,
}

impl Default for WaitHistogram {
    fn default() -> WaitHistogram {
        let buckets = (0..BUCKETS).map(|_| AtomicU64::new(0)).collect();
        WaitHistogram { buckets, sum: AtomicU64::new(0), max: AtomicU64::new(0) }
    }
}

impl WaitHistogram {
    /// Counts a batch.
    pub(crate) fn add(&self, waited: Duration) {
        let nanoseconds = u64::try_from(waited.as_nanos()).unwrap_or(u64::MAX);
        self.buckets[bucket(nanoseconds)].fetch_add(1, Ordering::Relaxed);
        self.sum.fetch_add(nanoseconds, Ordering::Relaxed);
        self.max.fetch_max(nanoseconds, Ordering::Relaxed);
    }

    /// Returns the percentiles of all batches.
    pub(crate) fn stats(&self) -> BatchWait {
        let counts: Vec<u64> = self.buckets.iter().map(|b| b.load(Ordering::Relaxed)).collect();
        let count: u64 = counts.iter().sum();
        let max = self.max.load(Ordering::Relaxed);
        BatchWait {
            count,
            mean: Duration::from_nanos(self.sum.load(Ordering::Relaxed) / count.max(1)),
            p50: percentile(&counts, 50, max),
            p95: percentile(&counts, 95, max),
            p99: percentile(&counts, 99, max),
            max: Duration::from_nanos(max),
        }
    }

    /// Returns the times of waiting that occurred, in seconds, each with its number of batches.
    pub(crate) fn counts(&self) -> Vec<(f64, u64)> {
        let counts = self.buckets.iter().map(|bucket| bucket.load(Ordering::Relaxed)).enumerate();
        let occurred = counts.filter(|(_, count)| *count > 0);
        occurred.map(|(bucket, count)| (middle(bucket) as f64 / 1e9, count)).collect()
    }
}

/// Returns the bucket of a number.
fn bucket(number: u64) -> usize {
    let Some(octave) = (63 - number.max(1).leading_zeros()).checked_sub(FINE) else {
        return number as usize; // below 16 each number has a bucket
    };
    ((octave as usize) << FINE) + (number >> octave) as usize
}

/// Returns the middle of a bucket.
fn middle(bucket: usize) -> u64 {
    let Some(octave) = (bucket >> FINE).checked_sub(1) else { return bucket as u64 };
    let lowest = ((bucket & ((1 << FINE) - 1)) as u64 + (1 << FINE)) << octave;
    lowest + ((1u64 << octave) >> 1)
}

/// Returns the time that `per_cent` of 100 numbers do not exceed; zero if there are none.
fn percentile(counts: &[u64], per_cent: u64, max: u64) -> Duration {
    let count: u64 = counts.iter().sum();
    let rank = (count * per_cent).div_ceil(100).max(1);
    let mut seen = 0;
    for (bucket, count) in counts.iter().enumerate() {
        seen += count;
        if seen >= rank {
            return Duration::from_nanos(middle(bucket).min(max));
        }
    }
    Duration::ZERO
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The percentile of a sorted list: the oracle.
    fn exact(sorted: &[u64], per_cent: usize) -> u64 {
        sorted[(sorted.len() * per_cent).div_ceil(100) - 1]
    }

    proptest! {
        #[test]
        fn percentiles_differ_from_the_exact_ones_by_three_percent(
            mut waits in proptest::collection::vec(prop_oneof![0u64..100, 0u64..50_000_000, any::<u32>().prop_map(u64::from)], 1..300)
        ) {
            let histogram = WaitHistogram::default();
            waits.iter().for_each(|wait| histogram.add(Duration::from_nanos(*wait)));
            waits.sort_unstable();
            let found = histogram.stats();
            for (per_cent, found) in [(50, found.p50), (95, found.p95), (99, found.p99)] {
                let exact = exact(&waits, per_cent) as f64;
                let found = found.as_nanos() as f64;
                prop_assert!((found - exact).abs() <= exact / 32.0, "p{per_cent}: {found}, exactly {exact}");
            }
            prop_assert_eq!(found.count, waits.len() as u64);
            prop_assert_eq!(found.max.as_nanos() as u64, *waits.last().unwrap());
            prop_assert_eq!(found.mean.as_nanos() as u64, waits.iter().sum::<u64>() / found.count);
        }

        #[test]
        fn a_bucket_has_its_own_middle(number in any::<u64>()) {
            let of = bucket(number);
            prop_assert!(of < BUCKETS);
            prop_assert_eq!(bucket(middle(of)), of);
        }
    }

    #[test]
    fn every_power_of_two_and_its_neighbors_have_a_bucket_in_order() {
        let edges =
            (0..64).flat_map(|octave| [(1u64 << octave) - 1, 1 << octave, (1 << octave) + 1]);
        let mut edges: Vec<u64> = edges.collect();
        edges.sort_unstable();
        assert!(edges.is_sorted_by_key(|number| bucket(*number)));
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
        assert_eq!(WaitHistogram::default().stats(), BatchWait::default());
    }
}
