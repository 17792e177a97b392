//! `BucketShare`: the batches of one rank, each of one bucket.

use std::sync::{Arc, OnceLock};

use super::groups::{Group, Groups};
use super::same::SameBucket;
use super::steps::BucketSteps;
use crate::error::{Advice, Error, ErrorKind, Result};
use crate::job::split::{By, Split};
use crate::job::steps::Remainder;
use crate::record::ledger::Ledger;
use crate::samples::buckets::Buckets;
use crate::sequence::epochs::Order;

/// A rank's share of an order whose batches are of one bucket each.
///
/// The samples of a bucket come in the order of the epoch. A batch is complete where the order has enough samples of its
/// bucket, and batches come in the order in which they are complete. So the sequence is a function of order, buckets and
/// their rows. By [`SameBucket::Rank`], step `s` of rank `r` is batch `s * world + r` of it. What was delivered is one number
/// for each bucket, from which any number of ranks can go on.
///
/// ```
/// use std::sync::Arc;
/// use tarflume_order::{
///     BucketShare, Buckets, Contents, Fingerprint, Order, Remainder, SameBucket, Selection, Shuffle, Split,
/// };
///
/// # fn main() -> tarflume_order::Result<()> {
/// let contents = Contents::new(Fingerprint::of("data", ["v1"]), [100])?;
/// let order = Order::new(Arc::new(contents), Selection::all(100), Shuffle::Full { seed: 42 })?;
/// // Wide and tall pictures: batches of 8.
/// let buckets = Buckets::new(vec![8, 8], (0..100).map(|n| n % 2))?;
/// let share = BucketShare::new(&order, Split::new(1, 2)?, buckets, SameBucket::Rank)?;
/// let mut steps = share.steps(3, &[0, 0], Remainder::Drop)?;
/// assert_eq!(steps.count(), 6);
/// let batch = steps.next_batch().expect("a batch");
/// assert!(batch.rows.iter().all(|row| row.draw.ordinal % 2 == batch.bucket as u64));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct BucketShare {
    order: Order,
    split: Split,
    buckets: Buckets,
    same: SameBucket,
    /// Samples of each bucket in an epoch, if all epochs have the same.
    counts: Arc<OnceLock<Vec<u64>>>,
}

impl BucketShare {
    /// The share of `split` in `order`.
    ///
    /// # Errors
    /// A split by shard; buckets of another number of samples than the order has.
    pub fn new(
        order: &Order,
        split: Split,
        buckets: Buckets,
        same: SameBucket,
    ) -> Result<BucketShare> {
        if split.by() == By::Shard {
            let text = "batches of one bucket are distributed by batch; ";
            return Err(Error::usage(text).advise(Advice::NoSplitByShard));
        }
        if buckets.samples() != order.ordinals() {
            let known = buckets.samples();
            let samples = order.ordinals();
            let text = format!("buckets of {known} samples for a data set of {samples} samples");
            return Err(Error::usage(text));
        }
        Ok(BucketShare { order: order.clone(), split, buckets, same, counts: Arc::default() })
    }

    /// The buckets.
    pub fn buckets(&self) -> &Buckets {
        &self.buckets
    }

    /// The steps of this rank in an epoch. `taken` has the number of samples of each bucket that the whole job has delivered.
    ///
    /// # Errors
    /// [`SameBucket::Step`] with [`Remainder::Uneven`]; `taken` is of other buckets, or more than an epoch has; with [`Remainder::Drop`], no step is full; an epoch that cannot
    /// be counted.
    pub fn steps(&self, epoch: u64, taken: &[u64], remainder: Remainder) -> Result<BucketSteps> {
        if (self.same, remainder) == (SameBucket::Step, Remainder::Uneven) {
            let text = "ranks that may have other numbers of rows and steps cannot have the same shapes in each step: \
                        keep the rest in another way, or let each rank have its own buckets";
            return Err(Error::usage(text));
        }
        let counts = self.counts(epoch)?;
        let fits = taken.len() == counts.len()
            && taken.iter().zip(&counts).all(|(taken, count)| taken <= count);
        if !fits {
            let text = "the state has other numbers of samples in buckets than this epoch: the buckets \
                        were others; give the same buckets, or start without the state";
            return Err(Error::new(ErrorKind::Stale, text));
        }
        let left: Vec<u64> = counts.iter().zip(taken).map(|(count, taken)| count - taken).collect();
        let batches = self.batches();
        let groups = left.iter().enumerate().map(|(bucket, &left)| {
            let rows = self.buckets.rows(bucket).saturating_mul(batches);
            if remainder == Remainder::Drop { left / rows } else { left.div_ceil(rows) }
        });
        let groups = groups.sum();
        let steps = self.steps_of(groups, remainder);
        let is_whole = taken.iter().all(|&taken| taken == 0);
        if remainder == Remainder::Drop && is_whole && steps == 0 {
            return Err(self.all_dropped(left.iter().sum()));
        }
        let cursor = self.order.cursor(epoch, 0)?;
        let keep = remainder != Remainder::Drop;
        let scan = Groups::new(&self.buckets, cursor, batches, taken.into(), keep);
        Ok(BucketSteps::new(scan, self.split, &self.buckets, remainder, self.same, steps, taken))
    }

    /// The number of samples of each bucket in an epoch.
    ///
    /// # Errors
    /// An epoch so late that its samples cannot be counted.
    pub fn counts(&self, epoch: u64) -> Result<Vec<u64>> {
        let mut counts = vec![0; self.buckets.count()];
        let Some(passes) = self.order.whole_passes() else {
            for draw in self.order.cursor(epoch, 0)? {
                counts[self.buckets.bucket(draw.ordinal)] += 1;
            }
            return Ok(counts);
        };
        let known = self.counts.get_or_init(|| {
            for ordinal in self.order.pass_ordinals() {
                counts[self.buckets.bucket(ordinal)] += passes;
            }
            counts
        });
        Ok(known.clone())
    }

    /// The ledger that all ranks together must have after an epoch.
    ///
    /// # Errors
    /// As [`BucketShare::steps`].
    pub fn ledger(&self, epoch: u64, remainder: Remainder) -> Result<Ledger> {
        if remainder != Remainder::Drop {
            return self.order.ledger(epoch, 0..self.order.epoch_samples());
        }
        let taken: Arc<[u64]> = vec![0; self.buckets.count()].into();
        let steps = self.steps(epoch, &taken, remainder)?.count();
        let delivered = if self.same == SameBucket::Step { steps } else { steps * self.world() };
        let cursor = self.order.cursor(epoch, 0)?;
        let mut groups = Groups::new(&self.buckets, cursor, self.batches(), taken, false);
        let mut ledger = Ledger::new(self.order.data());
        let mut group = Group::default();
        for _ in 0..delivered {
            if !groups.next_into(&mut group) {
                break;
            }
            group.draws.iter().for_each(|draw| ledger.add(draw.ordinal));
        }
        Ok(ledger)
    }

    fn world(&self) -> u64 {
        self.split.world()
    }

    /// Batches of a group.
    fn batches(&self) -> u64 {
        if self.same == SameBucket::Step { self.world() } else { 1 }
    }

    /// Steps of this rank that `groups` groups are.
    fn steps_of(&self, groups: u64, remainder: Remainder) -> u64 {
        let world = self.world();
        let rank = self.split.rank();
        match (self.same, remainder) {
            (SameBucket::Rank, Remainder::Drop) => groups / world,
            (SameBucket::Rank, Remainder::Pad | Remainder::Even) => groups.div_ceil(world),
            (SameBucket::Rank, Remainder::Uneven) => {
                groups / world + u64::from(rank < groups % world)
            }
            (SameBucket::Step, _) => groups,
        }
    }

    fn all_dropped(&self, samples: u64) -> Error {
        let world = self.world();
        Error::usage(format!(
            "no bucket has a batch for each of {world} ranks among {samples} samples, and all would be \
             dropped; make the batches smaller, take fewer buckets, or keep what does not fill a batch"
        ))
    }
}
