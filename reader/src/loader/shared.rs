//! What a loader and its epochs share, and how an epoch begins.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};

use crate::loader::arrays::any_source::{AnyPlanner, AnySource};
use crate::loader::arrays::planner::ArrayPlanner;
use crate::loader::bad_samples::BadList;
use crate::loader::indexed::ahead::reach::Reach;
use crate::loader::indexed::ahead::readahead::Readahead;
use crate::loader::indexed::groups::group_rows::GroupRows;
use crate::loader::indexed::groups::progress::GroupProgress;
use crate::loader::indexed::groups::step_rows::StepRows;
use crate::loader::indexed::planner::IndexedPlanner;
use crate::loader::indexed::source::RereadList;
use crate::loader::metrics::counters::Counters;
use crate::loader::metrics::stats::Stats;
use crate::loader::metrics::stats_file::{Progress, Reports, StatsFile, StatsReport};
use crate::loader::metrics::warning::Warning;
use crate::loader::pipeline::memory_budget::MemoryBudget;
use crate::loader::pipeline::mixer::Mixer;
use crate::loader::pipeline::mixer::object_mixers::ObjectMixers;
use crate::loader::pipeline::queue::{BatchQueue, QueueContext};
use crate::order::{By, Ledger, LoaderState, Order, Remainder, Share, Shuffle, Steps};
use crate::pool::ThreadPool;
use tarflume_device::batch::{BatchPool, Names};
use tarflume_device::slab::HostMemory;
use tarflume_formats::IgnorePoison;
use tarflume_types::Result;

/// The position of the whole job, all ranks together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct JobPosition {
    pub(crate) epoch: u64,
    /// Samples of that epoch that were delivered.
    pub(crate) position: u64,
}

/// What a loader and its epochs share.
pub(crate) struct LoaderShared {
    pub(crate) source: Arc<AnySource>,
    /// The order of the whole job.
    pub(crate) order: Order,
    /// The part of it that this rank reads.
    pub(crate) share: Share,
    pub(crate) remainder: Remainder,
    /// Rows of a batch; with buckets and packs, the most.
    pub(crate) batch: u64,
    /// The batches of buckets or packs.
    pub(crate) groups: Option<Arc<GroupProgress>>,
    /// The shuffle of the order, for [`LoaderShared::reach`].
    pub(crate) shuffle: Shuffle,
    pub(crate) budget: MemoryBudget,
    /// What the memory limit costs.
    pub(crate) warning: Option<Warning>,
    pub(crate) pool: Arc<ThreadPool>,
    pub(crate) counters: Arc<Counters>,
    pub(crate) batch_pool: Arc<BatchPool>,
    pub(crate) object_mixers: Arc<ObjectMixers>,
    pub(crate) mixer: Option<Arc<Mixer>>,
    pub(crate) bad: Arc<BadList>,
    pub(crate) position: Mutex<JobPosition>,
    /// Where the first epoch begins, if a state was given.
    pub(crate) resumed: Mutex<Option<JobPosition>>,
    pub(crate) ledger: Mutex<Ledger>,
    /// Where the loader tells what it does, if it was asked to.
    pub(crate) stats_file: Option<StatsFile>,
}

impl LoaderShared {
    /// Shares it, and begins to tell what it does.
    pub(crate) fn started(self) -> Arc<LoaderShared> {
        let shared = Arc::new(self);
        if let Some(file) = &shared.stats_file {
            let weak = Arc::downgrade(&shared);
            file.start(weak);
        }
        shared
    }

    pub(crate) fn names(&self) -> Names {
        self.source.columns().names.clone()
    }

    pub(crate) fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().ignore_poison()
    }

    pub(crate) fn position(&self) -> MutexGuard<'_, JobPosition> {
        self.position.lock().ignore_poison()
    }

    /// The steps of a loader without buckets or packs.
    fn steps(&self, position: u64) -> Result<Steps> {
        Ok(self.share.steps(position, self.batch, self.remainder)?)
    }

    /// Where an epoch that is begun now begins: at the position of a state of it that was loaded, or at its first sample.
    fn first_position(&self, epoch: u64) -> u64 {
        let resumed = *self.resumed.lock().ignore_poison();
        resumed.filter(|at| at.epoch == epoch).map_or(0, |at| at.position)
    }

    /// Steps on this rank of an epoch that is begun now.
    pub(crate) fn steps_of(&self, epoch: u64) -> Result<u64> {
        let position = self.first_position(epoch);
        match &self.groups {
            Some(groups) => groups.count(epoch, position),
            None => Ok(self.steps(position)?.count()),
        }
    }

    /// Steps of a whole epoch on this rank; with buckets and packs, of the epoch that is next or runs.
    pub(crate) fn epoch_steps(&self) -> Result<u64> {
        match &self.groups {
            Some(groups) => groups.count(self.position().epoch, 0),
            None => Ok(self.steps(0)?.count()),
        }
    }

    /// Begins an epoch: returns its queue of batches, the number of steps, and whether it begins at its first sample.
    /// `memory` allocates the slabs, if it is given.
    ///
    /// # Errors
    /// This process is a forked child, or the epoch can't be planned.
    pub(crate) fn begin(
        &self,
        epoch: u64,
        memory: Option<Arc<dyn HostMemory>>,
    ) -> Result<(BatchQueue<AnySource>, u64, bool)> {
        self.pool.check_not_forked()?;
        let position = self.first_position(epoch);
        *self.resumed.lock().ignore_poison() = None;
        *self.position() = JobPosition { epoch, position };
        let planner = match &self.groups {
            Some(groups) => self.planner_of_groups(epoch, position, groups)?,
            None => self.planner(epoch, self.steps(position)?)?,
        };
        let count = planner.steps();
        let limits = self.budget.queue_limits(self.source.columns().layout.clone(), memory);
        let context = QueueContext {
            counters: self.counters.clone(),
            notifier: self.pool.notifier(),
            batch_pool: self.batch_pool.clone(),
            object_mixers: self.object_mixers.clone(),
            mixer: self.mixer.clone(),
        };
        let queue = BatchQueue::new(self.source.clone(), planner, context, limits);
        Ok((queue, count, position == 0))
    }

    fn planner(&self, epoch: u64, steps: Steps) -> Result<AnyPlanner> {
        let order = self.share.order();
        let start = steps.covered().start;
        let cursor = order.cursor(epoch, start)?;
        if let AnySource::Arrays(..) = *self.source {
            let planner = ArrayPlanner::new(steps, cursor, self.budget, epoch);
            return Ok(AnyPlanner::Arrays(Box::new(planner)));
        }
        let dataset = self.source.dataset();
        dataset.begin_epoch();
        let reach = self.reach(dataset.readahead());
        // Readahead moves a separate cursor, far before that of the planner.
        let ahead = order.cursor(epoch, start)?;
        let readahead = Readahead::new(reach, self.stride(), steps.clone(), ahead);
        let shards = dataset.shards().len();
        let steps = StepRows::Neighbors { steps, cursor };
        let planner = IndexedPlanner::new(shards, steps, readahead, self.budget, epoch);
        Ok(AnyPlanner::Shards(Box::new(planner)))
    }

    fn planner_of_groups(
        &self,
        epoch: u64,
        position: u64,
        groups: &Arc<GroupProgress>,
    ) -> Result<AnyPlanner> {
        let ahead = groups.steps(epoch, position)?;
        let steps = groups.begin(epoch, position)?;
        let dataset = self.source.dataset();
        dataset.begin_epoch();
        let reach = self.reach(dataset.readahead());
        let readahead = Readahead::by_groups(reach, self.share.split().world(), ahead);
        let shards = dataset.shards().len();
        let rows = GroupRows::default();
        let steps = StepRows::Groups { steps, progress: groups.clone(), rows, next: position };
        let planner = IndexedPlanner::new(shards, steps, readahead, self.budget, epoch);
        Ok(AnyPlanner::Shards(Box::new(planner)))
    }

    /// Ranks whose batches are neighbors in the order.
    fn ranks_together(&self) -> u64 {
        let split = self.share.split();
        if split.by() == By::Position { split.world() } else { 1 }
    }

    /// Positions of a step of these ranks.
    pub(crate) fn stride(&self) -> u64 {
        self.batch.saturating_mul(self.ranks_together())
    }

    /// How far ahead samples are looked up, with `room` bytes for what is read ahead.
    pub(crate) fn reach(&self, room: Option<u64>) -> Reach {
        Reach::new(&self.shuffle, self.ranks_together(), room, self.source.dataset())
    }

    /// Where the time goes, on the host.
    pub(crate) fn stats(&self) -> Stats {
        let reread = match &*self.source {
            AnySource::Shards(source) => source.reread.lock().ignore_poison().clone(),
            AnySource::Arrays(..) => RereadList::default(),
        };
        Stats {
            warning: Warning::with_failure(self.warning.as_ref(), self.stats_file.as_ref()),
            fetch: self.source.dataset().fetch_stats(),
            packs: self.groups.as_ref().and_then(|groups| groups.packs()),
            reread: reread.count,
            reread_texts: reread.first,
            ..self.counters.stats()
        }
    }

    /// The sum of the ledgers of an epoch: of all ranks with a split by position, of this rank with a split by shard.
    pub(crate) fn expected(&self, epoch: u64) -> Result<Ledger> {
        match &self.groups {
            Some(groups) => groups.expected(epoch),
            None => Ok(self.share.order().ledger(epoch, self.steps(0)?.covered())?),
        }
    }

    pub(crate) fn state(&self) -> LoaderState {
        let JobPosition { epoch, position } = *self.position();
        let state = LoaderState::new(&self.order, self.share.split(), epoch, position);
        match &self.groups {
            Some(groups) => groups.state(state),
            None => state,
        }
    }

    /// Notes that a batch was delivered that ends at `position`. After the last one, the next epoch begins.
    pub(crate) fn delivered(&self, epoch: u64, position: u64, last: bool) {
        if let Some(groups) = &self.groups {
            groups.delivered(position, last);
        }
        *self.position() = if last {
            JobPosition { epoch: epoch + 1, position: 0 }
        } else {
            JobPosition { epoch, position }
        };
    }
}

impl Reports for LoaderShared {
    fn report(&self) -> StatsReport {
        let split = self.share.split();
        let at = *self.position();
        let progress = Progress {
            rank: Some(split.rank()),
            world_size: Some(split.world()),
            epoch: Some(at.epoch),
            position: Some(at.position),
            epoch_samples: Some(self.order.epoch_samples()),
            epoch_steps: self.epoch_steps().ok(),
        };
        let wait_counts = self.counters.batch_waits.counts();
        StatsReport { progress, wait_counts, stats: self.stats() }
    }
}

impl Drop for LoaderShared {
    fn drop(&mut self) {
        if let Some(file) = &self.stats_file {
            file.end(|| self.report());
        }
    }
}

impl fmt::Debug for LoaderShared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let split = self.share.split();
        let samples = self.order.epoch_samples();
        let rank = split.rank();
        let world = split.world();
        write!(f, "Loader({samples} samples an epoch, rank {rank} of {world})")
    }
}
