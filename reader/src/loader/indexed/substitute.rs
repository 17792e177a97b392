//! The sample that stands in for a bad one: which, how large it may be, and how it is written.
//!
//! It depends on (seed, pass, ordinal) and the data alone, never on the batch or the threads.

use crate::error::{Error, Result};
use crate::fetch::plan::{Bad, Draw, Item, Limits, Plan};
use crate::loader::indexed::worker::{IndexedWorker, Materials, WorkerState, whole};
use crate::loader::pipeline::pending_batch::{Dealt, PendingBatch};
use crate::order::{Key, below};

/// Substitutes that are tried before the sample is an error after all.
const TRIES: u64 = 16;
/// Samples whose middling size decides how large a substitute may be.
const PROBES: u64 = 64;
/// Bytes that it may have beyond that.
const MARGIN: u64 = 64;

/// Bytes of entry points that it brings at most: every thread keeps so many.
const SPARE_POINTS: u64 = 64 << 10;

/// Limits of a plan of one sample.
fn alone(entry_points: u64) -> Limits {
    Limits { entry_points, ..Limits::default() }
}

/// The first error of the machine among those of samples: a sample that is bad itself may be passed over.
fn machine_of(bad: impl Iterator<Item = Bad>) -> Result<()> {
    bad.map(|bad| bad.error).find(Error::is_machine).map_or(Ok(()), Err)
}

impl IndexedWorker {
    /// For each slab column the most bytes that a substitute may take there: what samples from all over
    /// the data set take on average. Every row of every batch has as much room, so that which sample
    /// stands in for another does not depend on the batch they are in.
    ///
    /// # Errors
    /// The machine failed while a sample was looked up.
    pub(crate) fn middling(&self) -> Result<&[u64]> {
        if let Some(known) = self.middling.get() {
            return Ok(known);
        }
        let Materials { dataset, order, recipe, .. } = &self.with;
        let (mut sums, mut found) = (vec![0u128; recipe.columns()], 0);
        let mut plan = Plan::default();
        for probe in 0..PROBES {
            let place = u128::from(order.epoch_samples()) * u128::from(probe);
            let place = (place / u128::from(PROBES)) as u64;
            let Ok(Some(ordinal)) = order.ordinal(0, place) else { continue };
            let draw = [Draw { slot: 0, ordinal }];
            plan.fill(dataset, &draw, &recipe.wanted, alone(0))?;
            machine_of(plan.take_bad())?;
            let Some(item) = plan.items().first() else { continue };
            found += 1;
            let key = plan.key(item).len();
            for (column, sum) in sums.iter_mut().enumerate() {
                *sum += u128::from(self.room(&plan, item, column, key));
            }
        }
        let each = |sum| u64::try_from(sum / found.max(1)).unwrap_or(u64::MAX);
        let each = sums.into_iter().map(|sum| each(sum).saturating_add(MARGIN)).collect();
        Ok(self.middling.get_or_init(|| each))
    }

    /// Bytes that a planned sample may take in a slab column; 0 in a fixed one.
    fn room(&self, plan: &Plan, item: &Item, column: usize, key: usize) -> u64 {
        let recipe = &self.with.recipe;
        match recipe.is_variable(column) {
            true => {
                let parts = plan.parts_of(item);
                recipe.room(column, key, |n| (parts[n].length, parts[n].pixels))
            }
            false => 0,
        }
    }

    /// Writes another sample into the row of a bad one: which one depends on (seed, pass, ordinal)
    /// and the data alone.
    ///
    /// # Errors
    /// What has nothing to do with the samples: the memory bound, a shard that was cut, the machine.
    pub(crate) fn substitute(
        &self,
        job: &PendingBatch,
        slot: usize,
        ordinal: u64,
        hand: &mut WorkerState,
    ) -> Result<Option<u64>> {
        let Dealt { pass, .. } = job.desk.dealt[slot];
        let key = Key::new(self.seed, pass, b"instead ").sub(ordinal);
        let Materials { dataset, order, recipe, .. } = &self.with;
        for attempt in 0..TRIES {
            let place = below(key.draw(attempt), order.epoch_samples());
            let Some(ordinal) = order.ordinal(0, place)? else { continue };
            let mut spare = std::mem::take(&mut hand.spare);
            let draw = [Draw { slot, ordinal }];
            let planned = spare.fill(dataset, &draw, &recipe.wanted, alone(SPARE_POINTS));
            let planned = planned.and_then(|()| machine_of(spare.take_bad()));
            let written = planned.and_then(|()| self.instead(job, (&spare, slot, pass), hand));
            hand.spare = spare;
            if written? {
                return Ok(Some(ordinal));
            }
        }
        Ok(None)
    }

    /// Reads and writes the one sample of `spare`; false if it is too large or bad, too.
    fn instead(
        &self,
        job: &PendingBatch,
        (spare, slot, pass): (&Plan, usize, u64),
        hand: &mut WorkerState,
    ) -> Result<bool> {
        let Some(item) = spare.items().first() else { return Ok(false) };
        let key = spare.key(item).len();
        let middling = self.middling()?.iter().enumerate();
        let mut rooms = middling.map(|(n, &most)| (self.room(spare, item, n, key), most));
        if rooms.any(|(room, most)| room > most) {
            return Ok(false);
        }
        let WorkerState { fetched, scratch, .. } = hand;
        let fetched = &mut fetched[0];
        let mut bad = Vec::new();
        let granted = self.fetch((spare, 0), fetched, &mut bad)?;
        machine_of(bad.drain(..))?;
        let to = (job, slot, pass);
        let written = fetched.has(0).then(|| self.write((spare, item), to, fetched, scratch));
        let refused = scratch.take_refusal();
        whole(fetched, granted.is_some())?;
        match written {
            Some(Err(error)) if refused || error.is_machine() => Err(error),
            written => Ok(matches!(written, Some(Ok(())))),
        }
    }
}
