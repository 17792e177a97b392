//! What a loader and its epochs share, and how an epoch begins.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};

use crate::batch::{BatchPool, Names};
use crate::error::Result;
use crate::loader::bad_samples::BadList;
use crate::loader::indexed::planner::IndexedPlanner;
use crate::loader::indexed::readahead::Readahead;
use crate::loader::indexed::worker::IndexedWorker;
use crate::loader::metrics::counters::Counters;
use crate::loader::metrics::stats::Stats;
use crate::loader::pipeline::memory_budget::MemoryBudget;
use crate::loader::pipeline::queue::{BatchQueue, QueueLimits};
use crate::order::{By, Ledger, LoaderState, Order, Remainder, Share, Steps};
use crate::pool::Pool;
use crate::slab::HostMemory;
use tarflume_formats::poison::IgnorePoison;

/// How far the whole job is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct JobPosition {
    pub(crate) epoch: u64,
    /// Samples of that epoch that were delivered, on all ranks together.
    pub(crate) position: u64,
}

/// What a loader and its epochs share.
pub(crate) struct LoaderShared {
    pub(crate) labour: Arc<IndexedWorker>,
    /// The order of the whole job.
    pub(crate) order: Order,
    /// What this rank has of it.
    pub(crate) share: Share,
    pub(crate) remainder: Remainder,
    pub(crate) batch: u64,
    /// Samples that the shuffle deals together; see `scout`.
    pub(crate) reach: u64,
    pub(crate) shares: MemoryBudget,
    /// What the memory bound costs.
    pub(crate) warning: Option<String>,
    pub(crate) pool: Arc<Pool>,
    pub(crate) meter: Arc<Counters>,
    pub(crate) shelf: Arc<BatchPool>,
    pub(crate) bad: Arc<BadList>,
    pub(crate) progress: Mutex<JobPosition>,
    /// Where the first epoch begins, if a state was given.
    pub(crate) resumed: Mutex<Option<JobPosition>>,
    pub(crate) ledger: Mutex<Ledger>,
}

impl LoaderShared {
    pub(crate) fn names(&self) -> Names {
        self.labour.with.recipe.names.clone()
    }

    pub(crate) fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().ignore_poison()
    }

    pub(crate) fn progress(&self) -> MutexGuard<'_, JobPosition> {
        self.progress.lock().ignore_poison()
    }

    pub(crate) fn steps(&self, position: u64) -> Result<Steps> {
        Ok(self.share.steps(position, self.batch, self.remainder)?)
    }

    /// Begins an epoch: its queue of batches, the number of steps, and whether that is all of the epoch. Slabs come from
    /// `memory`, if given.
    pub(crate) fn begin(
        &self,
        epoch: u64,
        memory: Option<Arc<dyn HostMemory>>,
    ) -> Result<(BatchQueue, u64, bool)> {
        let resumed = self.resumed.lock().ignore_poison().take();
        let position = resumed.filter(|at| at.epoch == epoch).map_or(0, |at| at.position);
        *self.progress() = JobPosition { epoch, position };
        let steps = self.steps(position)?;
        let cursor = self.share.order().cursor(epoch, steps.covered().start)?;
        let count = steps.count();
        let split = self.share.split();
        let ranks = if split.by() == By::Position { split.world() } else { 1 };
        let ahead = self.share.order().cursor(epoch, steps.covered().start)?;
        let samples = self.batch.saturating_mul(ranks);
        let scout = Readahead::new(self.reach, samples, steps.clone(), ahead);
        let dealt = (steps, cursor, scout);
        let feed = IndexedPlanner::new(self.labour.clone(), dealt, self.shares, epoch);
        let layout = self.labour.with.recipe.layout.clone();
        let MemoryBudget { depth, variable, .. } = self.shares;
        let room = QueueLimits { layout, memory, depth, variable };
        let with = (self.meter.clone(), self.pool.bell(), self.shelf.clone());
        Ok((BatchQueue::new(Box::new(feed), self.labour.clone(), with, room), count, position == 0))
    }

    /// Where the time goes, on the host.
    pub(crate) fn stats(&self) -> Stats {
        Stats { warning: self.warning.clone(), ..self.meter.stats() }
    }

    /// What ledgers add up to: by position those of all ranks, by shard this rank's own.
    pub(crate) fn expected(&self, epoch: u64) -> Result<Ledger> {
        Ok(self.share.order().ledger(epoch, self.steps(0)?.covered())?)
    }

    pub(crate) fn state(&self) -> LoaderState {
        let JobPosition { epoch, position } = *self.progress();
        LoaderState::new(&self.order, self.share.split(), epoch, position)
    }

    /// A batch was handed out that ends at `position`; after the last one, the next epoch begins.
    pub(crate) fn delivered(&self, epoch: u64, position: u64, last: bool) {
        *self.progress() = match last {
            true => JobPosition { epoch: epoch + 1, position: 0 },
            false => JobPosition { epoch, position },
        };
    }
}

impl fmt::Debug for LoaderShared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let split = self.share.split();
        let (samples, rank, world) = (self.order.epoch_samples(), split.rank(), split.world());
        write!(f, "Loader({samples} samples an epoch, rank {rank} of {world})")
    }
}
