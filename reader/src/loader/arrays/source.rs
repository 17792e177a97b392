//! `ArraySource`: what workers and planners of arrays share. A task reads some rows of a batch and writes them.

use std::ops::Range;

use tarflume_device::range;
use tarflume_types::{Error, Result};

use crate::fetch::plan::UnreadableSample;
use crate::loader::arrays::buffers::ArrayBuffers;
use crate::loader::arrays::row::ArrayRow;
use crate::loader::arrays::rows::ArrayRows;
use crate::loader::indexed::source::IndexedWorkspace;
use crate::loader::metrics::clocks::slept;
use crate::loader::metrics::counters::StageTimer;
use crate::loader::pipeline::pending_batch::PendingBatch;
use crate::loader::pipeline::worker::{SampleWriter, WorkerState};

/// The most bytes of a task: they are written while they are in the cache of a core.
const MOST: usize = 256 << 10;
/// No task reads fewer bytes, so that a batch of small rows has few tasks.
const LEAST: usize = 64 << 10;

/// Makes batches of rows of arrays.
pub(crate) struct ArraySource {
    pub(crate) writer: SampleWriter<ArrayBuffers>,
    pub(crate) arrays: ArrayRows,
    pub(crate) seed: u64,
}

impl ArraySource {
    /// The number of tasks of a batch of `rows` rows.
    pub(super) fn tasks(&self, rows: usize) -> usize {
        rows.div_ceil(self.rows_of_task(rows))
    }

    /// The rows of a task of a batch of `rows` rows: as many as every thread needs for a part of the batch, within limits.
    fn rows_of_task(&self, rows: usize) -> usize {
        let size = self.arrays.row_bytes().max(1);
        let share = rows.div_ceil(2 * self.writer.threads);
        share.clamp((LEAST / size).max(1), (MOST / size).max(1))
    }

    /// Does task `task` of `batch`; see [`BatchSource::run`](crate::loader::pipeline::source::BatchSource::run).
    pub(super) fn run(&self, batch: &PendingBatch<IndexedWorkspace>, task: usize) {
        let all = batch.workspace.rows.planned.len();
        let each = self.rows_of_task(all);
        let rows = task * each..(task * each + each).min(all);
        let mut worker = self.writer.take_state();
        if let Err(error) = self.write(batch, rows.clone(), &mut worker) {
            self.write_one_by_one(batch, rows, error, &mut worker);
        }
        for bad in worker.failed.drain(..) {
            // The builder refuses substitutes.
            self.writer.apply_policy(batch, bad, |_, _| Ok(None));
        }
        self.writer.put_state(worker);
    }

    /// Reads rows and writes them into the batch.
    ///
    /// # Errors
    /// A row cannot be read; none is written then.
    fn write(
        &self,
        batch: &PendingBatch<IndexedWorkspace>,
        rows: Range<usize>,
        worker: &mut WorkerState<ArrayBuffers>,
    ) -> Result<()> {
        let WorkerState { scratch, failed, buffers } = worker;
        let watch = StageTimer::start(range::READ);
        let read = buffers.read(&self.arrays, rows.clone().map(|row| batch.planned(row).ordinal));
        let took = watch.stop();
        let bytes = (rows.len() * self.arrays.row_bytes()) as u64;
        self.writer.counters.read.add(took, 1, bytes);
        self.writer.counters.reads_asleep.add(slept(took, bytes), 1, 0);
        read?;
        let samples = rows.clone().enumerate().map(|(at, row)| {
            let planned = batch.planned(row);
            ArrayRow { arrays: &self.arrays, buffers, seed: self.seed, row, at, planned }
        });
        self.writer.write_all(batch, samples, rows.len() as u64, scratch, failed);
        Ok(())
    }

    /// Finds the rows of a task that cannot be read. `error` is that of the first of them.
    fn write_one_by_one(
        &self,
        batch: &PendingBatch<IndexedWorkspace>,
        rows: Range<usize>,
        error: Error,
        worker: &mut WorkerState<ArrayBuffers>,
    ) {
        if error.spares_samples() {
            return batch.fail(rows.start, error);
        }
        for row in rows {
            if let Err(error) = self.write(batch, row..row + 1, worker) {
                let ordinal = batch.planned(row).ordinal;
                let error = error.with_key(ordinal.to_string());
                worker.failed.push(UnreadableSample { row, ordinal, error, excerpt: false });
            }
        }
    }
}
