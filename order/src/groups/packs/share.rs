//! `PackShare`: the packs of one rank.

use std::sync::{Arc, Mutex, PoisonError};

use super::plan::{EpochPlan, PackTotals};
use super::steps::{PackBatch, PackSteps, StepsOf};
use super::windows::Windows;
use crate::error::{Advice, Error, Result};
use crate::job::split::{By, Split};
use crate::job::steps::Remainder;
use crate::record::ledger::Ledger;
use crate::samples::lengths::Lengths;
use crate::sequence::epochs::Order;

/// A rank's share of an order whose samples are packed.
///
/// The samples of each window of the order are put into packs, longest first, each into the pack with the
/// least room that is enough. The packs of all windows are one sequence, a function of order, lengths and limits: it does not depend on the number of ranks.
/// With batches of `each` packs, step `s` of rank `r` has the packs from `(s * world + r) * each` on. What was delivered is one
/// number of samples, from which any number of ranks can go on.
///
/// ```
/// use std::sync::Arc;
/// use tarflume_order::{
///     Contents, Fingerprint, Lengths, Order, PackBatch, PackLimits, PackShare, Remainder, Selection, Shuffle, Split,
/// };
///
/// # fn main() -> tarflume_order::Result<()> {
/// let contents = Contents::new(Fingerprint::of("data", ["v1"]), [1000])?;
/// let order = Order::new(Arc::new(contents), Selection::all(1000), Shuffle::Full { seed: 42 })?;
/// let limits = PackLimits { capacity: 512, samples: 32, window: 256 };
/// let lengths = Lengths::new(limits, (0..1000).map(|n| 1 + n * 37 % 400))?;
/// let share = PackShare::new(&order, Split::new(1, 2)?, lengths)?;
/// assert!(share.totals(3)?.filled() > 0.98);
///
/// let mut steps = share.steps(3, 0, 4, Remainder::Drop)?; // epoch 3, from its first sample, 4 packs a batch
/// let mut batch = PackBatch::default();
/// assert!(steps.next_into(&mut batch));
/// assert_eq!(batch.packs, 4);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct PackShare {
    order: Order,
    split: Split,
    lengths: Lengths,
    /// The plan of the epoch that was asked for last.
    plan: Arc<Mutex<Option<Arc<EpochPlan>>>>,
}

impl PackShare {
    /// The share of `split` in `order`.
    ///
    /// # Errors
    /// A split by shard; lengths of another number of samples than the order has.
    pub fn new(order: &Order, split: Split, lengths: Lengths) -> Result<PackShare> {
        if split.by() == By::Shard {
            let text = "packs are distributed one by one; ";
            return Err(Error::usage(text).advise(Advice::NoSplitByShard));
        }
        if lengths.samples() != order.ordinals() {
            let known = lengths.samples();
            let samples = order.ordinals();
            let text = format!("lengths of {known} samples for a data set of {samples} samples");
            return Err(Error::usage(text));
        }
        Ok(PackShare { order: order.clone(), split, lengths, plan: Arc::default() })
    }

    /// The lengths and limits.
    pub fn lengths(&self) -> &Lengths {
        &self.lengths
    }

    /// How many packs an epoch has, and how full they are.
    ///
    /// # Errors
    /// An epoch so late that its samples cannot be counted.
    pub fn totals(&self, epoch: u64) -> Result<PackTotals> {
        Ok(self.plan(epoch)?.totals)
    }

    /// As [`PackShare::totals`] for the epoch that was asked for last; `None` before that.
    pub fn known_totals(&self) -> Option<PackTotals> {
        let known = self.plan.lock().unwrap_or_else(PoisonError::into_inner);
        known.as_ref().map(|plan| plan.totals)
    }

    /// The steps of this rank in an epoch, with `each` packs a batch. `position` is the number of samples that the whole job
    /// has delivered.
    ///
    /// # Errors
    /// [`ErrorKind::Stale`](crate::ErrorKind::Stale): no pack ends at `position`. With [`Remainder::Drop`], no step is full. An epoch that cannot be counted.
    pub fn steps(
        &self,
        epoch: u64,
        position: u64,
        each: u64,
        remainder: Remainder,
    ) -> Result<PackSteps> {
        let plan = self.plan(epoch)?;
        let mut windows = self.windows(epoch)?;
        let taken = plan.packs_before(position, &mut windows)?;
        let packs = plan.totals.packs;
        let split = self.split;
        let steps = PackSteps::new(StepsOf { plan, windows, split, each, remainder, taken });
        if remainder == Remainder::Drop && position == 0 && steps.count() == 0 {
            let world = self.split.world();
            return Err(Error::usage(format!(
                "the {packs} packs of the epoch are fewer than {each} for each of {world} ranks, and all would be dropped; \
                 make the batches smaller, or keep what does not fill a batch"
            )));
        }
        Ok(steps)
    }

    /// The ledger that all ranks together must have after an epoch of batches of `each` packs.
    ///
    /// # Errors
    /// As [`PackShare::steps`].
    pub fn ledger(&self, epoch: u64, each: u64, remainder: Remainder) -> Result<Ledger> {
        if remainder != Remainder::Drop {
            return self.order.ledger(epoch, 0..self.order.epoch_samples());
        }
        let alone = PackShare { split: Split::alone(), ..self.clone() };
        let group = each.saturating_mul(self.split.world());
        let mut steps = alone.steps(epoch, 0, group, remainder)?;
        let mut ledger = Ledger::new(self.order.data());
        let mut batch = PackBatch::default();
        while steps.next_into(&mut batch) {
            batch.rows.iter().for_each(|row| ledger.add(row.draw.ordinal));
        }
        Ok(ledger)
    }

    fn windows(&self, epoch: u64) -> Result<Windows> {
        Ok(Windows::new(&self.lengths, self.order.cursor(epoch, 0)?))
    }

    fn plan(&self, epoch: u64) -> Result<Arc<EpochPlan>> {
        // The lock is held while an epoch is packed: others that ask for it wait for the same plan.
        let mut known = self.plan.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(plan) = known.as_ref().filter(|plan| plan.epoch == epoch) {
            return Ok(plan.clone());
        }
        let plan = Arc::new(EpochPlan::new(&self.order, &self.lengths, epoch)?);
        *known = Some(plan.clone());
        Ok(plan)
    }
}
