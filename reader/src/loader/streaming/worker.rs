//! The worker of streams: a task decodes samples, which are in memory already, into their rows.

use tarflume_types::Result;

use crate::fetch::plan::UnreadableSample;
use crate::loader::pipeline::pending_batch::PendingBatch;
use crate::loader::pipeline::source::{BatchSource, Planned};
use crate::loader::pipeline::worker::WorkerState;
use crate::loader::streaming::planner::StreamPlanner;
use crate::loader::streaming::sample::ArrivedSample;
use crate::loader::streaming::samples::StreamSamples;
use crate::loader::streaming::source::StreamSource;

impl StreamSource {
    /// Applies the policy to a bad sample.
    pub(super) fn apply_policy(&self, batch: &PendingBatch<StreamSamples>, bad: UnreadableSample) {
        // The builder refuses substitutes: they need an index.
        self.writer.apply_policy(batch, bad, |_, _| Ok(None));
    }
}

impl BatchSource for StreamSource {
    type Workspace = StreamSamples;
    type Planner = StreamPlanner;

    fn plan(
        &self,
        planner: &mut StreamPlanner,
        batch: &mut PendingBatch<StreamSamples>,
    ) -> Result<Planned> {
        planner.plan(self, batch)
    }

    fn run(&self, batch: &PendingBatch<StreamSamples>, task: usize) {
        let mut worker = self.writer.take_state();
        let WorkerState { scratch, failed, .. } = &mut worker;
        let rows = batch.source().task(task);
        let samples = rows.filter_map(|row| ArrivedSample::of_row(self, batch, row));
        let count = samples.clone().count() as u64;
        self.writer.write_all(batch, samples, count, scratch, failed);
        failed.drain(..).for_each(|bad| self.apply_policy(batch, bad));
        self.writer.put_state(worker);
    }

    fn threads(&self) -> usize {
        self.writer.threads
    }
}
