//! `QueueState`: what the lock of a `BatchQueue` protects. Arithmetic and lists; calls nothing that waits.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use tarflume_device::batch::Content;
use tarflume_device::slab::{HostMemory, SlabLayout};
use tarflume_types::Result;

use crate::loader::metrics::idle::IdleCause;
use crate::loader::pipeline::pending_batch::{BatchWorkspace, PendingBatch};
use crate::loader::pipeline::source::BatchSource;

/// How many batches are prepared at once, and how large they may be.
#[derive(Debug, Clone)]
pub(crate) struct QueueLimits {
    /// The columns of each batch.
    pub(crate) layout: Arc<SlabLayout>,
    /// What allocates the slabs, if not the global allocator.
    pub(crate) memory: Option<Arc<dyn HostMemory>>,
    /// Batches in the queue at once.
    pub(crate) depth: usize,
    /// Bytes that the variable columns of all batches in the queue may take.
    pub(crate) variable_bytes: u64,
}

/// The lists of one batch of a source.
pub(super) type BoxedWorkspace<S> = Box<BatchWorkspace<<S as BatchSource>::Workspace>>;

/// A batch of a source in preparation.
type Pending<S> = PendingBatch<<S as BatchSource>::Workspace>;

/// The state of a queue.
pub(super) struct QueueState<S: BatchSource> {
    /// `None` while a thread plans, and after the end.
    pub(super) planner: Option<Box<S::Planner>>,
    /// True if no batch will be planned.
    pub(super) ended: bool,
    /// A planned batch that the limits have no room for yet, and the number of its tasks.
    pub(super) planned: Option<(Pending<S>, usize)>,
    /// Tasks that no thread has begun.
    pub(super) tasks: VecDeque<(Arc<Pending<S>>, usize)>,
    /// The batches that were not taken yet, in order. `None` is a batch in preparation.
    pub(super) batches: VecDeque<Option<Result<Box<Content>>>>,
    /// The number of the first of them.
    pub(super) first: u64,
    /// Bytes of their variable columns, and of each batch.
    variable_bytes: u64,
    pub(super) sizes: VecDeque<u64>,
    /// Threads that do a task, admit a batch, close a batch.
    pub(super) running: usize,
    pub(super) admitting: usize,
    pub(super) closing: usize,
    /// True if the source had no complete batch at the last call.
    pub(super) starved: bool,
    /// Lists for the next batches.
    #[allow(clippy::vec_box)] // moved from thread to thread by pointer
    pub(super) workspaces: Vec<BoxedWorkspace<S>>,
    /// The time up to which idle threads are counted.
    pub(super) idle_since: Instant,
    /// How often the queue locked it.
    #[cfg(test)]
    pub(super) locked: u64,
}

impl<S: BatchSource> QueueState<S> {
    pub(super) fn new(planner: Box<S::Planner>) -> QueueState<S> {
        QueueState {
            planner: Some(planner),
            ended: false,
            planned: None,
            tasks: VecDeque::new(),
            batches: VecDeque::new(),
            first: 0,
            variable_bytes: 0,
            sizes: VecDeque::new(),
            running: 0,
            admitting: 0,
            closing: 0,
            starved: false,
            workspaces: Vec::new(),
            idle_since: Instant::now(),
            #[cfg(test)]
            locked: 0,
        }
    }

    /// True if the queue holds no batch, and none will come.
    pub(super) fn is_over(&self) -> bool {
        self.batches.is_empty() && self.ended && self.planned.is_none()
    }

    /// True if the next batch can be taken.
    pub(super) fn is_first_ready(&self) -> bool {
        matches!(self.batches.front(), Some(Some(_)))
    }

    /// Returns how many batches are ready, in a row from the first.
    pub(super) fn ready(&self) -> usize {
        self.batches.iter().take_while(|batch| batch.is_some()).count()
    }

    /// Takes the first batch, if it is ready.
    pub(super) fn take_first(&mut self) -> Option<Result<Box<Content>>> {
        let batch = self.batches.front_mut().and_then(Option::take)?;
        self.batches.pop_front();
        self.first += 1;
        self.variable_bytes -= self.sizes.pop_front().expect("each batch has a size");
        Some(batch)
    }

    /// Threads that work for this queue. The thread that plans has the planner.
    pub(super) fn active(&self) -> usize {
        let planning = usize::from(self.planner.is_none() && !self.ended);
        self.running + self.admitting + self.closing + planning
    }

    /// What a thread without work lacks.
    pub(super) fn lack(&self, limits: &QueueLimits) -> IdleCause {
        let full = self.batches.len() >= limits.depth;
        if !self.tasks.is_empty() {
            return IdleCause::Wake;
        }
        if self.is_first_ready() && (self.ended || self.planned.is_some() || full) {
            return IdleCause::Consumer;
        }
        match &self.planned {
            Some((batch, _)) if self.has_room(batch.variable_bytes, limits.variable_bytes) => {
                IdleCause::Wake
            }
            Some(_) => IdleCause::Memory,
            None if self.ended => IdleCause::End,
            None if full => IdleCause::Prefetch,
            None if self.planner.is_none() => IdleCause::Plan,
            None if self.starved => IdleCause::Input,
            None => IdleCause::Wake,
        }
    }

    /// True if a batch whose variable columns take `size` bytes fits into `limit` beside the others. A batch alone always
    /// fits: the planner checked it against the budget, and nothing else would make room.
    fn has_room(&self, size: u64, limit: u64) -> bool {
        self.batches.is_empty() || self.variable_bytes + size <= limit
    }

    /// Takes the planned batch out and reserves its place, if its variable columns fit into `limit`.
    pub(super) fn admit_planned(&mut self, limit: u64) -> Option<(Pending<S>, usize)> {
        let size = self.planned.as_ref()?.0.variable_bytes;
        if !self.has_room(size, limit) {
            return None;
        }
        self.admitting += 1;
        self.variable_bytes += size;
        self.sizes.push_back(size);
        self.batches.push_back(None);
        self.planned.take()
    }
}
