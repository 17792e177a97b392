//! `BatchSource`: where the batches of an epoch come from. Indexed shards and streams implement it.
//!
//! The only thing that the pipeline knows of a source.

use tarflume_types::Result;

use crate::loader::pipeline::pending_batch::{PendingBatch, SourceWorkspace};

/// What [`BatchSource::plan`] did.
pub(crate) enum Planned {
    /// The batch is planned, and consists of this many tasks.
    Tasks(usize),
    /// The next batch is not complete yet; the source notifies the pool when more of it has arrived.
    NotYet,
    /// The epoch has no more batches.
    End,
}

/// Where batches come from: it decides what a batch holds, and does the tasks of which the batch consists.
pub(crate) trait BatchSource: Send + Sync + 'static {
    /// What one batch is planned in.
    type Workspace: SourceWorkspace;
    /// The position in one epoch. One thread at a time plans, so this needs no lock.
    type Planner: Send;

    /// Plans the next batch, and sets its `variable_bytes`.
    ///
    /// # Errors
    /// The epoch can't continue.
    fn plan(
        &self,
        planner: &mut Self::Planner,
        batch: &mut PendingBatch<Self::Workspace>,
    ) -> Result<Planned>;

    /// Does task `task` of `batch`. Reports errors to the batch.
    fn run(&self, batch: &PendingBatch<Self::Workspace>, task: usize);

    /// The most threads that may be in [`BatchSource::run`] at once.
    fn threads(&self) -> usize;
}
