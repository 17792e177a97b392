//! A sample whose excerpt could not be used: its parts are read whole, and it is written as without excerpts.
//!
//! That happens if bytes of the excerpt have changed, or its entry points are wrong. The whole parts then decide whether
//! the sample is bad.

use tarflume_types::{DecodeFault, Error, Result};

use crate::fetch::draw::RowDraw;
use crate::fetch::plan::{ReadPlan, UnreadableSample};
use crate::fetch::run_bytes::RunBytes;
use crate::loader::indexed::sample::FetchedSample;
use crate::loader::indexed::source::{
    IndexedSource, IndexedWorker, IndexedWorkspace, ReadBuffers, check_unchanged,
};
use crate::loader::indexed::substitute::{ENTRY_POINTS, single};
use crate::loader::pipeline::pending_batch::PendingBatch;
use crate::loader::pipeline::worker::WorkerState;

/// The outcome for a sample that was read whole.
enum Outcome {
    /// It is in its row. `mended`: its bytes were read a second time, which is counted.
    Written { mended: bool },
    /// It is bad.
    Bad(Error),
}

impl IndexedSource {
    /// Reads the parts of sample `excerpt` whole, and writes it into its row. Returns the sample if it is bad.
    pub(super) fn write_whole(
        &self,
        batch: &PendingBatch<IndexedWorkspace>,
        excerpt: &UnreadableSample,
        worker: &mut IndexedWorker,
    ) -> Option<UnreadableSample> {
        let UnreadableSample { row, ordinal, .. } = *excerpt;
        let mut plan = std::mem::take(&mut worker.buffers.substitute);
        let outcome = self.write_alone(batch, row, ordinal, &mut plan, worker);
        worker.buffers.substitute = plan;
        match outcome {
            Ok(Outcome::Written { mended }) => {
                if !mended {
                    self.count_reread(&excerpt.error);
                }
                None
            }
            Ok(Outcome::Bad(error)) => {
                Some(UnreadableSample { row, ordinal, error, excerpt: false })
            }
            Err(error) => {
                batch.fail(row, error);
                None
            }
        }
    }

    /// Reads and writes the one sample.
    ///
    /// # Errors
    /// Errors that do not concern the sample: a decoder's mistake, a shard that changed, the machine.
    fn write_alone(
        &self,
        batch: &PendingBatch<IndexedWorkspace>,
        row: usize,
        ordinal: u64,
        plan: &mut ReadPlan,
        worker: &mut IndexedWorker,
    ) -> Result<Outcome> {
        let pass = batch.planned(row).pass;
        let draw = [RowDraw { row, ordinal, pass }];
        plan.fill(&self.dataset, &draw, &self.columns().wanted, single(ENTRY_POINTS))?;
        if let Some(bad) = plan.take_bad().next() {
            return Ok(Outcome::Bad(bad.error));
        }
        let WorkerState { scratch, buffers: ReadBuffers { whole, .. }, .. } = worker;
        let run = plan.run(0);
        let item = plan.item(0);
        let mut bad = Vec::new();
        let granted = self.fetch(run, whole, &mut bad)?;
        if let Some(bad) = bad.pop() {
            return Ok(Outcome::Bad(bad.error));
        }
        let mended = self.rereads() && self.reread(batch, run, whole);
        let sample = FetchedSample { source: self, item, fetched: whole, pass };
        let written = self.writer.write(batch, &sample, scratch);
        let unchanged = check_unchanged(whole, granted.is_some());
        *whole = RunBytes::new(); // seldom needed, so not kept
        unchanged?;
        match written {
            Ok(()) => Ok(Outcome::Written { mended }),
            Err(error) if error.fault() == DecodeFault::Decoder => Err(error),
            Err(error) => Ok(Outcome::Bad(error)),
        }
    }
}
