//! The worker of indexed shards: a task reads some runs of shards, a chunk at a time, and writes their samples into rows.

use std::ops::Range;

use crate::fetch::plan::UnreadableSample;
use crate::fetch::run_bytes::RunBytes;
use crate::loader::indexed::planner::IndexedPlanner;
use crate::loader::indexed::sample::FetchedSample;
use crate::loader::indexed::source::{
    IndexedSource, IndexedWorker, IndexedWorkspace, ReadBuffers, check_unchanged,
};
use crate::loader::pipeline::pending_batch::PendingBatch;
use crate::loader::pipeline::source::{BatchSource, Planned};
use crate::loader::pipeline::worker::WorkerState;
use tarflume_formats::IgnorePoison;
use tarflume_types::Result;

impl IndexedSource {
    /// Reads the runs of a chunk and writes their samples.
    fn run_chunk(
        &self,
        batch: &PendingBatch<IndexedWorkspace>,
        chunk: Range<usize>,
        worker: &mut IndexedWorker,
    ) {
        let plan = &batch.source().plan;
        let mut failed = std::mem::take(&mut worker.failed);
        let WorkerState { scratch, buffers: ReadBuffers { fetched, .. }, .. } = worker;
        if fetched.len() < chunk.len() {
            fetched.resize_with(chunk.len(), RunBytes::new);
        }
        let runs = chunk.map(|run| plan.run(run));
        let mut granted = None;
        for (run, fetched) in runs.clone().zip(fetched.iter_mut()) {
            // A run that needs a grant is longer than any chunk of several runs, so it is alone in its chunk.
            match self.fetch(run, fetched, &mut failed) {
                Ok(grant) => granted = grant,
                Err(error) => return batch.fail(run.first_row(), error),
            }
        }
        if self.rereads() {
            for (run, fetched) in runs.clone().zip(fetched.iter_mut()) {
                self.reread(batch, run, fetched);
            }
        }
        let samples = runs.clone().zip(&*fetched).flat_map(|(run, fetched)| {
            let items = run.items().filter(move |item| fetched.has(item.number()));
            items.map(move |item| {
                let pass = batch.planned(item.row()).pass;
                FetchedSample { source: self, item, fetched, pass }
            })
        });
        let count = runs.clone().map(|run| run.len() as u64).sum();
        self.writer.write_all(batch, samples, count, scratch, &mut failed);
        for (run, fetched) in runs.zip(fetched.iter_mut()) {
            if let Err(error) = check_unchanged(fetched, granted.is_some()) {
                // The shard changed while it was read: its bytes prove nothing, not even that a sample is bad.
                failed.retain(|bad| run.items().all(|item| item.row() != bad.row));
                batch.fail(run.first_row(), error);
            }
        }
        // Substitutes may need a grant of their own.
        drop(granted);
        for bad in failed.drain(..) {
            let bad = if bad.excerpt { self.write_whole(batch, &bad, worker) } else { Some(bad) };
            bad.into_iter().for_each(|bad| self.apply_policy(batch, bad, worker));
        }
        worker.failed = failed;
    }

    fn apply_policy(
        &self,
        batch: &PendingBatch<IndexedWorkspace>,
        bad: UnreadableSample,
        worker: &mut IndexedWorker,
    ) {
        self.writer
            .apply_policy(batch, bad, |row, ordinal| self.substitute(batch, row, ordinal, worker));
    }
}

impl BatchSource for IndexedSource {
    type Workspace = IndexedWorkspace;
    type Planner = IndexedPlanner;

    fn plan(
        &self,
        planner: &mut IndexedPlanner,
        batch: &mut PendingBatch<IndexedWorkspace>,
    ) -> Result<Planned> {
        planner.plan(self, batch)
    }

    fn run(&self, batch: &PendingBatch<IndexedWorkspace>, task: usize) {
        let mut worker = self.writer.take_state();
        let source = batch.source();
        match source.tasks.task(task) {
            Some(chunks) => {
                chunks.iter().for_each(|chunk| self.run_chunk(batch, chunk.clone(), &mut worker));
            }
            // One task more than there are chunks for: the samples that could not be planned.
            None => {
                let bad = std::mem::take(&mut *source.bad.lock().ignore_poison());
                bad.into_iter().for_each(|bad| self.apply_policy(batch, bad, &mut worker));
            }
        }
        worker.buffers.fetched.iter_mut().for_each(RunBytes::clear);
        self.writer.put_state(worker);
    }

    fn threads(&self) -> usize {
        self.writer.threads
    }
}
