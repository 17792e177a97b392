//! `SampleWriter`: what the workers of every source do with samples that are in memory. It writes them into the rows of a
//! batch, and applies the policy to bad samples.
//!
//! Knows neither shards nor streams: a source hands in [`SampleView`]s.

use std::sync::{Arc, Mutex};

use crate::decode::{Memory, Scratch};
use crate::fetch::plan::UnreadableSample;
use crate::loader::bad_samples::OnBad;
use crate::loader::metrics::clocks::Clocks;
use crate::loader::metrics::counters::{Counters, StageTimer};
use crate::loader::pipeline::columns::{ColumnSet, MAX_GROUP, SampleView};
use crate::loader::pipeline::pending_batch::{PendingBatch, SourceWorkspace};
use tarflume_device::range;
use tarflume_formats::IgnorePoison;
use tarflume_types::{DecodeFault, Result};

/// What a thread needs for a task. It is kept from task to task; `B` are the buffers of a source.
pub(crate) struct WorkerState<B> {
    pub(crate) scratch: Scratch,
    /// Samples of the task that are bad.
    pub(crate) failed: Vec<UnreadableSample>,
    pub(crate) buffers: B,
}

/// Writes samples into batches.
pub(crate) struct SampleWriter<B> {
    pub(crate) columns: Arc<ColumnSet>,
    pub(crate) on_bad: OnBad,
    pub(crate) counters: Arc<Counters>,
    pub(crate) threads: usize,
    /// The memory that decoders take from.
    pub(crate) decode_memory: Arc<dyn Memory>,
    /// States that no thread uses at the moment.
    states: Mutex<Vec<WorkerState<B>>>,
}

impl<B: Default> SampleWriter<B> {
    pub(crate) fn new(
        columns: Arc<ColumnSet>,
        on_bad: OnBad,
        counters: Arc<Counters>,
        threads: usize,
        decode_memory: Arc<dyn Memory>,
    ) -> SampleWriter<B> {
        SampleWriter { columns, on_bad, counters, threads, decode_memory, states: Mutex::default() }
    }

    /// A state for one task.
    pub(crate) fn take_state(&self) -> WorkerState<B> {
        let kept = self.states.lock().ignore_poison().pop();
        kept.unwrap_or_else(|| WorkerState {
            scratch: Scratch::with_memory(self.decode_memory.clone()),
            failed: Vec::new(),
            buffers: B::default(),
        })
    }

    /// Keeps a state for the next task. The state of a task that panicked is not kept: it may be inconsistent.
    pub(crate) fn put_state(&self, state: WorkerState<B>) {
        self.states.lock().ignore_poison().push(state);
    }

    /// Writes samples into their rows, a group at a time, and adds those that can't be decoded to `failed`. Counts them
    /// as `count` samples: those that could not be read belong to the task, too.
    pub(crate) fn write_all<W: SourceWorkspace, V: SampleView>(
        &self,
        batch: &PendingBatch<W>,
        mut samples: impl Iterator<Item = V>,
        count: u64,
        scratch: &mut Scratch,
        failed: &mut Vec<UnreadableSample>,
    ) {
        let measured = Clocks::seldom();
        let watch = StageTimer::start(range::DECODE);
        loop {
            // On the stack: groups are small, and this runs for every few samples.
            let mut group = [None; MAX_GROUP];
            let next = samples.by_ref().take(self.columns.group());
            let taken = group.iter_mut().zip(next).map(|(to, sample)| *to = Some(sample)).count();
            if taken == 0 {
                break;
            }
            if taken > 1 {
                self.columns.prepare(&group, scratch);
            }
            for sample in group.iter().flatten() {
                self.write_or_list(batch, sample, scratch, failed);
            }
        }
        self.counters.decode.add(watch.stop(), count, 0);
        self.counters.count(scratch);
        if let Some((since, before)) = measured {
            self.counters.sampled(since.spent(), before);
        }
    }

    fn write_or_list<W: SourceWorkspace, V: SampleView>(
        &self,
        batch: &PendingBatch<W>,
        sample: &V,
        scratch: &mut Scratch,
        failed: &mut Vec<UnreadableSample>,
    ) {
        match self.write(batch, sample, scratch) {
            // A mistake of the decoder would make every sample bad, so no policy applies.
            Err(error) if error.fault() == DecodeFault::Decoder => batch.fail(sample.row(), error),
            Err(error) => {
                let row = sample.row();
                let ordinal = sample.ordinal();
                let excerpt = error.fault() == DecodeFault::Excerpt;
                failed.push(UnreadableSample { row, ordinal, error, excerpt });
            }
            Ok(()) => {}
        }
    }

    /// Writes one sample into its row.
    ///
    /// # Errors
    /// A checksum does not match; a decoder's error, with the place of the sample.
    pub(crate) fn write<W: SourceWorkspace, V: SampleView>(
        &self,
        batch: &PendingBatch<W>,
        sample: &V,
        scratch: &mut Scratch,
    ) -> Result<()> {
        sample.verify()?;
        let mut row = batch.content.slab.lend(sample.row());
        let written = self.columns.write(sample, &mut row, scratch);
        written.map_err(|(need, error)| sample.locate(need, error))
    }

    /// Applies the policy to a bad sample. `substitute` writes another sample into its row and returns the ordinal, or
    /// `None` if no sample could be written.
    pub(crate) fn apply_policy<W: SourceWorkspace>(
        &self,
        batch: &PendingBatch<W>,
        bad: UnreadableSample,
        substitute: impl FnOnce(usize, u64) -> Result<Option<u64>>,
    ) {
        let UnreadableSample { row, ordinal, error, .. } = bad;
        match self.on_bad {
            // The sample itself may be good: no policy applies.
            _ if error.spares_samples() => batch.fail(row, error),
            OnBad::Error => batch.fail(row, error),
            OnBad::Skip => batch.replace_row(row, error, None),
            OnBad::Substitute => match substitute(row, ordinal) {
                Ok(Some(ordinal)) => batch.replace_row(row, error, Some(ordinal)),
                Ok(None) => batch.fail(row, error),
                Err(refusal) => batch.fail(row, refusal),
            },
        }
    }
}
