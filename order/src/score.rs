//! How well a pass mixes, and what it costs in reads: figures for the choice of a shuffle.
//!
//! Steps through a pass and counts; decides nothing.
//!
//! ```
//! use tarflume_order::score::mixing;
//! use tarflume_order::{Pass, Shuffle};
//!
//! let starts = [0, 1000, 2000, 3000].into();
//! let pass = Pass::new(starts, Shuffle::Shards { seed: 42 }, 0);
//! let mixing = mixing(&pass, 100, 30); // batches of 100; 30 classes, one after the other
//! assert!(mixing.effective < 2.0); // a batch has about one class, so it is worth about one sample
//! ```

pub mod labels;

use crate::pass::Pass;

/// Batches that a reader fetches together, in [`Mixing::reads_ahead`].
pub const AHEAD: [u64; 3] = [16, 64, 1024];

/// The result of [`mixing`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mixing {
    /// How many independent samples a batch is worth, by the classes in it: about the batch for an
    /// exact shuffle, 1 where a batch holds a single class.
    pub effective: f64,
    /// Reads a batch needs when it is fetched alone: runs of neighboring indexes in it.
    pub reads_per_batch: f64,
    /// Reads a batch when as many batches as [`AHEAD`] has are fetched together, so that neighbors
    /// among all of them share a read.
    pub reads_ahead: [f64; 3],
    /// The longest distance in indexes from one sample of the order to the next.
    pub longest_jump: u64,
}

/// Goes over all of `pass` in batches of `batch` samples, whose indexes fall into `classes` classes of
/// equal size in index order: the worst case, a data set that was written class by class.
///
/// The score is Kish's effective sample size. A batch of `b` independent samples would have
/// fractions `f` of the classes around `p` with `E sum (f - p)^2 = (1 - sum p^2) / b`; how many times
/// more it is, is the design effect, and `effective` is `b` divided by it. A last partial batch is
/// left out. Sorting makes it slow beside the pass itself: about a second for ten million samples.
pub fn mixing(pass: &Pass, batch: u64, classes: u64) -> Mixing {
    mixing_of(pass.clone().cursor(0), pass.len(), batch, classes)
}

/// The same of any order: `indexes` gives each index below `len` once.
pub fn mixing_of(
    indexes: impl IntoIterator<Item = u64>,
    len: u64,
    batch: u64,
    classes: u64,
) -> Mixing {
    let batch = batch.clamp(1, len.max(1));
    let classes = classes.clamp(1, len.max(1));
    let mut tally = Tally::new(len, classes);
    let mut order = indexes.into_iter();
    let mut indexes = Vec::new();
    let mut ahead = AHEAD.map(|_| Vec::new());
    let mut last = None;
    let mut alone = 0;
    let mut together = AHEAD.map(|_| 0);
    let mut longest_jump = 0;
    let batches = len / batch;
    for number in 1..=batches {
        indexes.clear();
        indexes.extend(order.by_ref().take(batch as usize));
        for &index in &indexes {
            longest_jump = longest_jump.max(last.map_or(0, |last| index.abs_diff(last)));
            last = Some(index);
        }
        tally.batch(&indexes);
        for (i, fetch) in AHEAD.into_iter().enumerate() {
            ahead[i].extend_from_slice(&indexes);
            if number % fetch == 0 || number == batches {
                together[i] += runs(&mut ahead[i]);
                ahead[i].clear();
            }
        }
        alone += runs(&mut indexes);
    }
    let batches_or_one = batches.max(1) as f64;
    Mixing {
        effective: tally.effective(batch, batches),
        reads_per_batch: alone as f64 / batches_or_one,
        reads_ahead: together.map(|reads: u64| reads as f64 / batches_or_one),
        longest_jump,
    }
}

/// Runs of neighbors in a set of indexes, which it sorts.
fn runs(indexes: &mut [u64]) -> u64 {
    indexes.sort_unstable();
    let breaks = indexes.windows(2).filter(|pair| pair[1] != pair[0] + 1).count() as u64;
    breaks + u64::from(!indexes.is_empty())
}

/// Sums `(f - p)^2` over all batches; O(batch) each, however many classes there are.
struct Tally {
    len: u64,
    classes: u64,
    counts: Vec<u32>,
    shares: Vec<f64>,
    shares_squared: f64,
    total: f64,
}

impl Tally {
    fn new(len: u64, classes: u64) -> Tally {
        let starts: Vec<u64> = (0..=u128::from(classes))
            .map(|class| (class * u128::from(len)).div_ceil(u128::from(classes.max(1))) as u64)
            .collect();
        let shares: Vec<f64> =
            starts.windows(2).map(|pair| (pair[1] - pair[0]) as f64 / len.max(1) as f64).collect();
        let shares_squared = shares.iter().map(|p| p * p).sum();
        Tally {
            len,
            classes,
            counts: vec![0; classes as usize],
            shares,
            shares_squared,
            total: 0.0,
        }
    }

    fn class(&self, index: u64) -> usize {
        (u128::from(index) * u128::from(self.classes) / u128::from(self.len)) as usize
    }

    fn batch(&mut self, indexes: &[u64]) {
        for &index in indexes {
            let class = self.class(index);
            self.counts[class] += 1;
        }
        // sum (f - p)^2 = sum p^2 + sum over classes that are there of f^2 - 2 f p
        let mut sum = self.shares_squared;
        for &index in indexes {
            let class = self.class(index);
            let share = f64::from(std::mem::take(&mut self.counts[class])) / indexes.len() as f64;
            sum += share * (share - 2.0 * self.shares[class]);
        }
        self.total += sum;
    }

    fn effective(&self, batch: u64, batches: u64) -> f64 {
        let independent = (1.0 - self.shares_squared) / batch as f64;
        let found = self.total / batches.max(1) as f64;
        batch as f64 / (found / independent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shuffle::Shuffle;

    fn score(shuffle: Shuffle) -> Mixing {
        let starts: Vec<u64> = (0..=100).map(|shard| shard * 1000).collect();
        mixing(&Pass::new(starts.into(), shuffle, 0), 100, 100)
    }

    #[test]
    fn a_batch_of_one_class_is_worth_one_sample() {
        let none = score(Shuffle::None);
        assert!((none.effective - 1.0).abs() < 1e-9, "{none:?}");
        assert_eq!((none.reads_per_batch, none.longest_jump), (1.0, 1));
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri takes minutes for so many cases")]
    fn a_batch_of_an_exact_shuffle_is_worth_all_its_samples() {
        let full = score(Shuffle::Full { seed: 1 });
        assert!((95.0..105.0).contains(&full.effective), "{full:?}");
        assert!(full.reads_per_batch > 99.0 && full.longest_jump > 90_000, "{full:?}");
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri takes minutes for so many cases")]
    fn block_shuffle_costs_between_the_others_and_reads_whole_runs() {
        let blocks = score(Shuffle::Blocks { block: 16, window: 100, seed: 1 });
        // Two samples of a batch share a run with probability 15/1599, so 100 / (1 + 99 * 15/1599).
        assert!((49.0..55.0).contains(&blocks.effective), "{blocks:?}");
        assert!(blocks.reads_ahead[0] < 100.0 / 16.0 + 1.0, "{blocks:?}");
    }

    #[test]
    fn an_empty_pass_has_no_reads() {
        let pass = Pass::new(Vec::new().into(), Shuffle::Full { seed: 1 }, 0);
        assert_eq!(mixing(&pass, 256, 1000).reads_per_batch, 0.0);
    }
}
