//! `Histogram`: how often numbers occur, in buckets whose width grows with the number.
//!
//! Numbers below 256 are exact. A larger bucket is at most 1/128 of its numbers wide, so memory is bounded: at most
//! 7,424 buckets for any `u64`.

use std::collections::BTreeMap;

use serde::Serialize;

/// Bits of a number that its bucket keeps.
const BITS: u32 = 8;

/// Counts by bucket. The order of the numbers does not matter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Histogram {
    buckets: BTreeMap<u64, u64>,
    count: u64,
    sum: u128,
    min: u64,
    max: u64,
}

/// The distribution of some numbers. Percentiles above 255 are the lower ends of their buckets, at most 0.8 % too small.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Distribution {
    /// How many numbers there are.
    pub count: u64,
    /// The smallest.
    pub min: u64,
    /// One tenth is not larger.
    pub p10: u64,
    /// The median; the lower one of two.
    pub median: u64,
    /// Nine tenths are not larger.
    pub p90: u64,
    /// The largest.
    pub max: u64,
    /// The mean, rounded down.
    pub mean: u64,
}

/// A bucket: numbers from `from` on, up to and without the next one that is possible.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Bucket {
    /// The smallest number of the bucket.
    pub from: u64,
    /// How many numbers are in it.
    pub count: u64,
}

impl Histogram {
    /// Adds a number.
    pub fn add(&mut self, value: u64) {
        self.min = if self.count == 0 { value } else { self.min.min(value) };
        self.max = self.max.max(value);
        self.count += 1;
        self.sum += u128::from(value);
        *self.buckets.entry(floor(value)).or_default() += 1;
    }

    /// Adds the numbers of another histogram.
    pub fn merge(&mut self, other: &Histogram) {
        if other.count == 0 {
            return;
        }
        self.min = if self.count == 0 { other.min } else { self.min.min(other.min) };
        self.max = self.max.max(other.max);
        self.count += other.count;
        self.sum += other.sum;
        for (&from, &count) in &other.buckets {
            *self.buckets.entry(from).or_default() += count;
        }
    }

    /// Returns the number of numbers.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the sum.
    pub fn sum(&self) -> u64 {
        u64::try_from(self.sum).unwrap_or(u64::MAX)
    }

    /// Returns how many numbers are in buckets that begin at `value` or above.
    pub fn at_least(&self, value: u64) -> u64 {
        self.buckets.range(value..).map(|(_, count)| count).sum()
    }

    /// Returns how many numbers are in buckets that begin below `value`.
    pub fn below(&self, value: u64) -> u64 {
        self.count - self.at_least(value)
    }

    /// Summarizes the numbers; `None` if there are none.
    pub fn distribution(&self) -> Option<Distribution> {
        let min = self.min;
        let max = self.max;
        let count = self.count;
        let mean = (self.sum / u128::from(count.max(1))) as u64;
        (count > 0).then(|| Distribution {
            count,
            min,
            p10: self.percentile(10),
            median: self.percentile(50),
            p90: self.percentile(90),
            max,
            mean,
        })
    }

    /// Returns bars for a chart without gaps, at most `most` if one bar for each power of two is not more.
    pub fn bars(&self, most: usize) -> Vec<Bucket> {
        if self.count == 0 {
            return Vec::new();
        }
        let mut all = (2..=BITS).rev();
        let bits = all.find(|&bits| self.starts(bits).take(most + 1).count() <= most).unwrap_or(1);
        let starts = self.starts(bits);
        let mut bars: Vec<Bucket> = starts.map(|from| Bucket { from, count: 0 }).collect();
        for (&from, &count) in &self.buckets {
            let at = bars.partition_point(|bar| bar.from <= from).saturating_sub(1);
            bars[at].count += count;
        }
        bars
    }

    /// Returns where the bars of `bits` bits begin.
    fn starts(&self, bits: u32) -> impl Iterator<Item = u64> {
        let first = Some(floor_to(self.min, bits));
        std::iter::successors(first, move |&from| from.checked_add(width_of(from, bits)))
            .take_while(|&from| from <= self.max)
    }

    fn percentile(&self, percent: u64) -> u64 {
        let wanted = (u128::from(self.count) * u128::from(percent)).div_ceil(100) as u64;
        self.quantile(wanted.max(1)).clamp(self.min, self.max)
    }

    fn quantile(&self, wanted: u64) -> u64 {
        let mut before = 0;
        let found = self.buckets.iter().find(|(_, count)| {
            before += **count;
            before >= wanted
        });
        found.map_or(self.max, |(&from, _)| from)
    }
}

/// Returns the lower end of a number's bucket.
pub(crate) fn floor(value: u64) -> u64 {
    floor_to(value, BITS)
}

/// Returns how many numbers a bucket has whose numbers keep `bits` bits.
fn width_of(from: u64, bits: u32) -> u64 {
    1 << (64 - from.leading_zeros()).saturating_sub(bits)
}

/// Clears all bits of a number but the `bits` highest ones.
fn floor_to(value: u64, bits: u32) -> u64 {
    let used = 64 - value.leading_zeros();
    let cleared = used.saturating_sub(bits);
    (value >> cleared) << cleared
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: impl IntoIterator<Item = u64>) -> Histogram {
        let mut histogram = Histogram::default();
        values.into_iter().for_each(|value| histogram.add(value));
        histogram
    }

    #[test]
    fn small_numbers_are_exact_and_large_ones_nearly() {
        let found = of(1..=200).distribution().unwrap();
        assert_eq!(
            (found.min, found.p10, found.median, found.p90, found.max),
            (1, 20, 100, 180, 200)
        );
        let found = of((1..=1000).map(|n| n * 12_345)).distribution().unwrap();
        for (got, want) in [(found.p10, 100), (found.median, 500), (found.p90, 900)] {
            let want = want * 12_345;
            assert!(got <= want && want - got <= want / 128, "{got} for {want}");
        }
        assert_eq!((found.min, found.max), (12_345, 12_345_000));
        assert!(Histogram::default().distribution().is_none());
    }

    #[test]
    fn merging_equals_adding_in_any_order() {
        let values: Vec<u64> = (0..5000).map(|n| n * n * 7919 % 1_000_003).collect();
        let (left, right) = values.split_at(1234);
        let mut merged = of(right.iter().copied());
        merged.merge(&of(left.iter().copied()));
        merged.merge(&Histogram::default());
        assert_eq!(merged, of(values.iter().rev().copied()));
        assert_eq!(merged.below(5000) + merged.at_least(5000), 5000);
    }

    #[test]
    fn bars_hold_every_number_and_are_few() {
        let histogram = of((0..10_000).map(|n| n * n));
        let bars = histogram.bars(40);
        assert!(bars.len() <= 40 && bars.len() > 10, "{}", bars.len());
        assert_eq!(bars.iter().map(|bar| bar.count).sum::<u64>(), 10_000);
        let wide = of([0, u64::MAX]).bars(4);
        assert_eq!((wide.len(), wide[0].count, wide[64].count), (65, 1, 1));
        let exact = of([3, 5, 5]).bars(32);
        let counts: Vec<(u64, u64)> = exact.iter().map(|bar| (bar.from, bar.count)).collect();
        assert_eq!(counts, [(3, 1), (4, 0), (5, 2)]);
    }
}
