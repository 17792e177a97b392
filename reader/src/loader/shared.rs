//! What a loader and its epochs share, and how an epoch begins.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::batch::{BatchPool, Names};
use crate::device::upload::slot::Slots;
use crate::error::Result;
use crate::loader::bad_samples::BadList;
use crate::loader::gpu::hybrid_columns::HybridColumns;
use crate::loader::gpu::resident_config::ResidentSize;
use crate::loader::gpu::resident_jpegs::ResidentJpegs;
use crate::loader::indexed::planner::IndexedPlanner;
use crate::loader::indexed::readahead::Readahead;
use crate::loader::indexed::worker::IndexedWorker;
use crate::loader::metrics::counters::Counters;
use crate::loader::pipeline::memory_budget::{MemoryBudget, SPARE_SLABS};
use crate::loader::pipeline::queue::{BatchQueue, QueueLimits};
use crate::order::{By, Ledger, LoaderState, Order, Remainder, Share, Steps};
use crate::pool::Pool;
use crate::slab::HostMemory;

/// How far the whole job is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct JobPosition {
    pub(crate) epoch: u64,
    /// Samples of that epoch that were delivered, on all ranks together.
    pub(crate) position: u64,
}

/// Fills what stays on the device, unless that was done; false if what it asks between batches said no.
pub(crate) type PreloadFn = Box<dyn Fn(&mut dyn FnMut(u64) -> bool) -> Result<bool> + Send + Sync>;

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
    /// Whether slabs were made before the first batch that goes to a device.
    pub(crate) stocked: AtomicBool,
    /// Slabs on the device, if batches go to one.
    pub(crate) slots: Option<Arc<Slots>>,
    /// What a device decodes.
    pub(crate) staging: HybridColumns,
    /// What a device decodes out of its own memory.
    pub(crate) recalled: Option<ResidentJpegs>,
    /// What stays on the device, and what fills it.
    pub(crate) resident: Option<(ResidentSize, PreloadFn)>,
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
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn progress(&self) -> MutexGuard<'_, JobPosition> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has what stays on the device brought there; false if `goes_on` said no.
    pub(crate) fn fill(&self, goes_on: &mut dyn FnMut(u64) -> bool) -> Result<bool> {
        self.resident.as_ref().map_or(Ok(true), |(_, fill)| fill(goes_on))
    }

    pub(crate) fn steps(&self, position: u64) -> Result<Steps> {
        self.share.steps(position, self.batch, self.remainder)
    }

    /// The line of batches of an epoch, how many there will be, and whether that is all of it.
    pub(crate) fn begin(&self, epoch: u64) -> Result<(BatchQueue, u64, bool)> {
        let resumed = self.resumed.lock().unwrap_or_else(PoisonError::into_inner).take();
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
        let memory = self.slots.clone().map(|slots| slots as Arc<dyn HostMemory>);
        let room = QueueLimits { layout, memory, depth, variable };
        let with = (self.meter.clone(), self.pool.bell(), self.shelf.clone());
        Ok((BatchQueue::new(Box::new(feed), self.labour.clone(), with, room), count, position == 0))
    }

    /// Has the host memory made that batches on their way to a device need, before the first of `steps`: to pin it
    /// later would hold the device up. Slabs go from epoch to epoch.
    ///
    /// # Errors
    /// There is no memory.
    pub(crate) fn stock(&self, flow: &BatchQueue, steps: u64) -> Result<()> {
        if self.slots.is_none() || steps == 0 || self.stocked.swap(true, Ordering::Relaxed) {
            return Ok(());
        }
        // One with each step, and what is planned or on its way back.
        let wanted = usize::try_from(steps + SPARE_SLABS).unwrap_or(usize::MAX);
        flow.stock(wanted.min(self.shelf.room()))
    }

    /// What ledgers add up to: by position those of all ranks, by shard this rank's own.
    pub(crate) fn expected(&self, epoch: u64) -> Result<Ledger> {
        self.share.order().ledger(epoch, self.steps(0)?.covered())
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
