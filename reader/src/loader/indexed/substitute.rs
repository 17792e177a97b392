//! The substitute of a bad sample: which sample it is, how large it may be, and how it is written.
//!
//! It depends on (seed, pass, ordinal) and the data alone, never on the batch or the threads.

use tarflume_types::{DecodeFault, Error, Result};

use crate::fetch::draw::{Limits, RowDraw};
use crate::fetch::plan::{ReadPlan, UnreadableSample};
use crate::loader::indexed::sample::{FetchedSample, item_bytes};
use crate::loader::indexed::source::{
    IndexedSource, IndexedWorker, IndexedWorkspace, ReadBuffers, check_unchanged,
};
use crate::loader::pipeline::pending_batch::PendingBatch;
use crate::loader::pipeline::worker::WorkerState;
use crate::order::{Key, below};

/// Substitutes that are tried before the bad sample is an error after all.
const TRIES: u64 = 16;
/// Samples among which one of a bucket is looked for.
const NEIGHBORS: usize = 1 << 12;
/// Samples whose average size decides how large a substitute may be.
const PROBES: u64 = 64;
/// Bytes that it may have beyond that.
const MARGIN: u64 = 64;

/// The most bytes of entry points of a substitute: every thread keeps a buffer for so many.
pub(super) const ENTRY_POINTS: u64 = 64 << 10;

/// Limits of a plan of one sample.
pub(super) fn single(entry_points: u64) -> Limits {
    Limits { entry_points, ..Limits::default() }
}

/// The first error that proves nothing about a sample. Other errors mean that a substitute is bad itself, and the next
/// one is tried.
fn sparing_error(bad: impl Iterator<Item = UnreadableSample>) -> Result<()> {
    bad.map(|bad| bad.error).find(Error::spares_samples).map_or(Ok(()), Err)
}

impl IndexedSource {
    /// For each slab column, the most bytes that a substitute may take: the average of samples from all over the data
    /// set. Every row of every batch has this much room, so that the choice of a substitute does not depend on the batch.
    ///
    /// # Errors
    /// The machine failed while a sample was looked up.
    pub(crate) fn substitute_bytes(&self) -> Result<&[u64]> {
        if let Some(known) = self.substitute_bytes.get() {
            return Ok(known);
        }
        let columns = self.columns();
        let mut sums = vec![0u128; columns.columns()];
        let mut found = 0;
        let mut plan = ReadPlan::default();
        for probe in 0..PROBES {
            let samples = u128::from(self.order.epoch_samples());
            let position = (samples * u128::from(probe) / u128::from(PROBES)) as u64;
            let Ok(Some(ordinal)) = self.order.ordinal(0, position) else { continue };
            plan.fill(
                &self.dataset,
                &[RowDraw { row: 0, ordinal, pass: 0 }],
                &columns.wanted,
                single(0),
            )?;
            sparing_error(plan.take_bad())?;
            if plan.items().is_empty() {
                continue;
            }
            found += 1;
            for (column, sum) in sums.iter_mut().enumerate() {
                *sum += u128::from(item_bytes(columns, column, plan.item(0)));
            }
        }
        let averages =
            sums.into_iter().map(|sum| u64::try_from(sum / found.max(1)).unwrap_or(u64::MAX));
        let most = averages.map(|average| average.saturating_add(MARGIN)).collect();
        Ok(self.substitute_bytes.get_or_init(|| most))
    }

    /// Writes a substitute of sample `ordinal` into row `row`, and returns the substitute's ordinal.
    ///
    /// # Errors
    /// Errors that do not concern the substitute: a decoder's mistake, a shard that changed, the machine.
    pub(crate) fn substitute(
        &self,
        batch: &PendingBatch<IndexedWorkspace>,
        row: usize,
        ordinal: u64,
        worker: &mut IndexedWorker,
    ) -> Result<Option<u64>> {
        let pass = batch.planned(row).pass;
        let key = Key::new(self.seed, pass, b"instead ").sub(ordinal);
        for attempt in 0..TRIES {
            let position = below(key.draw(attempt), self.order.epoch_samples());
            let Some(ordinal) = self.candidate(position, ordinal)? else { continue };
            let mut plan = std::mem::take(&mut worker.buffers.substitute);
            let draw = [RowDraw { row, ordinal, pass }];
            let wanted = &self.columns().wanted;
            let planned = plan.fill(&self.dataset, &draw, wanted, single(ENTRY_POINTS));
            let planned = planned.and_then(|()| sparing_error(plan.take_bad()));
            let written = planned.and_then(|()| self.write_substitute(batch, &plan, worker));
            worker.buffers.substitute = plan;
            if written? {
                return Ok(Some(ordinal));
            }
        }
        Ok(None)
    }

    /// The sample at `position` of the first epoch; with buckets, the first one from there on in the bucket of `bad`.
    fn candidate(&self, position: u64, bad: u64) -> Result<Option<u64>> {
        let Some(buckets) = &self.buckets else { return Ok(self.order.ordinal(0, position)?) };
        let bucket = buckets.bucket(bad);
        let mut found = self.order.cursor(0, position)?.take(NEIGHBORS).map(|draw| draw.ordinal);
        Ok(found.find(|&ordinal| buckets.bucket(ordinal) == bucket && ordinal != bad))
    }

    /// Reads and writes the one sample of `plan`. Returns false if it is too large or bad.
    fn write_substitute(
        &self,
        batch: &PendingBatch<IndexedWorkspace>,
        plan: &ReadPlan,
        worker: &mut IndexedWorker,
    ) -> Result<bool> {
        if plan.items().is_empty() {
            return Ok(false);
        }
        let item = plan.item(0);
        let mut limits = self.substitute_bytes()?.iter().enumerate();
        if limits.any(|(column, &most)| item_bytes(self.columns(), column, item) > most) {
            return Ok(false);
        }
        let WorkerState { scratch, buffers: ReadBuffers { fetched, .. }, .. } = worker;
        let fetched = &mut fetched[0];
        let mut bad = Vec::new();
        let granted = self.fetch(plan.run(0), fetched, &mut bad)?;
        sparing_error(bad.drain(..))?;
        let pass = batch.planned(item.row()).pass;
        let sample = FetchedSample { source: self, item, fetched, pass };
        let written = fetched.has(0).then(|| self.writer.write(batch, &sample, scratch));
        check_unchanged(fetched, granted.is_some())?;
        match written {
            Some(Err(error)) if error.fault() == DecodeFault::Decoder || error.spares_samples() => {
                Err(error)
            }
            written => Ok(matches!(written, Some(Ok(())))),
        }
    }
}
