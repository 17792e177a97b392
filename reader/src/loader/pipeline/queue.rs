//! `BatchQueue`: the batches of one epoch, planned in order, worked on by all threads, taken in order.
//!
//! Bounded by the number of batches in preparation and by the bytes of their variable columns. Holds no lock while a
//! [`BatchSource`] plans, reads or decodes.

mod state;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

pub(crate) use self::state::QueueLimits;
use self::state::{BoxedWorkspace, QueueState};
use crate::loader::metrics::counters::{Counters, StageTimer};
use crate::loader::pipeline::mixer::Mixer;
use crate::loader::pipeline::mixer::object_mixers::{ObjectMixers, ObjectWorkspace};
use crate::loader::pipeline::panics::catch_panic;
use crate::loader::pipeline::pending_batch::PendingBatch;
use crate::loader::pipeline::source::{BatchSource, Planned};
use crate::pool::{Notifier, Work};
use crate::sync::{AtomicBool, Condvar, Mutex, MutexGuard};
use tarflume_device::batch::{BatchPool, Content};
use tarflume_device::range;
use tarflume_device::slab::Slab;
use tarflume_formats::IgnorePoison;
use tarflume_transforms::mixing::MixPlan;
use tarflume_types::Result;

/// What a queue shares with the other queues of its loader.
#[derive(Clone)]
pub(crate) struct QueueContext {
    pub(crate) counters: Arc<Counters>,
    /// Wakes the threads of the pool.
    pub(crate) notifier: Arc<Notifier>,
    /// Where the contents of dropped batches return to.
    pub(crate) batch_pool: Arc<BatchPool>,
    /// Changes pictures and the objects on them.
    pub(crate) object_mixers: Arc<ObjectMixers>,
    /// Mixes the rows of batches.
    pub(crate) mixer: Option<Arc<Mixer>>,
}

/// The queue of batches of one epoch.
pub(crate) struct BatchQueue<S: BatchSource> {
    source: Arc<S>,
    context: QueueContext,
    limits: QueueLimits,
    cancelled: AtomicBool,
    /// Threads that are in a step.
    busy: AtomicUsize,
    state: Mutex<QueueState<S>>,
    /// Signaled when the first batch becomes ready, at the end, and at a cancellation.
    ready: Condvar,
}

impl<S: BatchSource> BatchQueue<S> {
    pub(crate) fn new(
        source: Arc<S>,
        planner: S::Planner,
        context: QueueContext,
        limits: QueueLimits,
    ) -> BatchQueue<S> {
        let state = Mutex::new(QueueState::new(Box::new(planner)));
        let cancelled = AtomicBool::new(false);
        let busy = AtomicUsize::new(0);
        BatchQueue { source, context, limits, cancelled, busy, state, ready: Condvar::new() }
    }

    /// Locks the state. Idle time is counted here: since the last lock the state did not change, so what idle threads
    /// lack now is what they lacked in all of that time.
    fn lock(&self) -> MutexGuard<'_, QueueState<S>> {
        let mut state = self.state.lock().ignore_poison();
        #[cfg(test)]
        (state.locked += 1);
        let now = Instant::now();
        let since = std::mem::replace(&mut state.idle_since, now);
        let idle = self.source.threads().saturating_sub(state.active());
        if idle > 0 && !self.cancelled.load(Ordering::Relaxed) && !state.is_over() {
            self.context.counters.idle(state.lack(&self.limits), (now - since) * idle as u32);
        }
        state
    }

    /// Waits for the next batch, in order. Returns `None` after the last one.
    pub(crate) fn next(&self) -> Option<Result<Box<Content>>> {
        let mut state = self.lock();
        loop {
            if let Some(batch) = state.take_first() {
                drop(state);
                // There is room to plan or admit one more batch, which is work for one thread.
                self.context.notifier.notify_one();
                return Some(batch);
            }
            if state.is_over() || self.cancelled.load(Ordering::Acquire) {
                return None;
            }
            state = self.ready.wait(state).ignore_poison();
        }
    }

    /// Returns how many batches can be taken, and how many are prepared at once.
    pub(crate) fn filled(&self) -> (usize, usize) {
        (self.state.lock().ignore_poison().ready(), self.limits.depth)
    }

    /// Waits until [`BatchQueue::next`] would not wait, but at most `timeout`; returns whether it would not.
    pub(crate) fn ready(&self, timeout: Duration) -> bool {
        let waited =
            self.ready.wait_timeout_while(self.lock(), timeout, |state: &mut QueueState<S>| {
                !state.is_first_ready()
                    && !state.is_over()
                    && !self.cancelled.load(Ordering::Acquire)
            });
        !waited.ignore_poison().1.timed_out()
    }

    /// Begins no further step. Contents go back to the pool, from which the next epoch takes them.
    pub(crate) fn cancel(&self) {
        self.cancelled.store(true, Ordering::SeqCst);
        let mut state = self.lock();
        let tasks = std::mem::take(&mut state.tasks);
        let planned = state.planned.take();
        let batches: Vec<_> = state.batches.iter_mut().filter_map(Option::take).collect();
        let planner = state.planner.take();
        drop(state);
        // Dropping a stream's planner joins the stream's thread, which must not happen under the lock.
        drop(planner);
        for batch in tasks.into_iter().filter_map(|(batch, _)| Arc::into_inner(batch)) {
            self.recycle(batch.content);
        }
        if let Some((batch, _)) = planned {
            self.recycle(batch.content);
        }
        batches.into_iter().flatten().for_each(|content| self.recycle(content));
        self.ready.notify_all();
    }

    /// After [`BatchQueue::cancel`]: waits until no thread is in a step, but at most `timeout`; returns whether none is.
    pub(crate) fn is_still(&self, timeout: Duration) -> bool {
        let begun = Instant::now();
        while self.busy.load(Ordering::SeqCst) > 0 {
            if begun.elapsed() > timeout {
                return false;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        true
    }

    /// Allocates slabs until the pool holds `wanted`.
    ///
    /// # Errors
    /// There is no memory.
    pub(crate) fn stock(&self, wanted: usize) -> Result<()> {
        let missing = self.context.batch_pool.kept()..wanted;
        let contents = missing.map(|_| self.allocate()).collect::<Result<Vec<_>>>()?;
        contents.into_iter().for_each(|content| self.recycle(content));
        Ok(())
    }

    fn allocate(&self) -> Result<Box<Content>> {
        let QueueLimits { layout, memory, .. } = &self.limits;
        Ok(Box::new(Content::new(Slab::in_memory(layout.clone(), memory.as_deref())?)))
    }

    fn recycle(&self, content: Box<Content>) {
        self.context.batch_pool.put(content);
    }

    /// Plans one batch with the planner that the state gave away. Returns false if the source has no complete batch yet.
    fn plan(
        &self,
        mut planner: Box<S::Planner>,
        number: u64,
        workspace: BoxedWorkspace<S>,
    ) -> bool {
        let watch = StageTimer::start(range::PLAN);
        let result = catch_panic("planning", || {
            let pooled = self.context.batch_pool.take();
            let content = pooled.map_or_else(|| self.allocate(), Ok)?;
            let mut batch = PendingBatch::new(number, content, workspace);
            self.source.plan(&mut planner, &mut batch).map(|planned| (batch, planned))
        });
        let planned = !matches!(result, Ok((_, Planned::NotYet | Planned::End)));
        self.context.counters.plan.add(watch.stop(), u64::from(planned), 0);
        let mut state = self.lock();
        match result {
            // `cancel` took the state apart while this thread planned: nothing may be put back.
            Ok((batch, Planned::Tasks(_))) if self.cancelled.load(Ordering::SeqCst) => {
                drop(state);
                self.recycle(batch.content);
                return true;
            }
            Ok((batch, Planned::Tasks(tasks))) => {
                state.planner = Some(planner);
                state.starved = false;
                state.planned = Some((batch, tasks));
            }
            Ok((batch, Planned::NotYet)) => {
                state.planner = Some(planner);
                state.starved = true;
                self.recycle(batch.content);
                state.workspaces.push(batch.workspace);
                return false;
            }
            Ok((batch, Planned::End)) => {
                state.ended = true;
                self.recycle(batch.content);
            }
            // The error takes the place of the batch: the consumer gets what was planned before.
            Err(error) => {
                state.ended = true;
                state.batches.push_back(Some(Err(error)));
                state.sizes.push_back(0);
            }
        }
        drop(state);
        self.ready.notify_all();
        true
    }

    /// Allocates the variable columns of a planned batch, for which the limits have room, and queues its tasks.
    fn admit(&self, mut batch: PendingBatch<S::Workspace>, tasks: usize) {
        let allocated = catch_panic("making room", || batch.make_room());
        let mut state = self.lock();
        state.admitting -= 1;
        if self.cancelled.load(Ordering::SeqCst) {
            drop(state);
            return self.recycle(batch.content);
        }
        let at = (batch.number - state.first) as usize;
        match allocated {
            Ok(()) if tasks > 0 => {
                let batch = Arc::new(batch);
                state.tasks.extend((0..tasks).map(|task| (batch.clone(), task)));
                drop(state);
                // This thread holds a reference, too, and other threads may have finished all tasks already. `finish`
                // drops it: a plain drop of the last reference would lose the batch.
                self.finish(batch);
                self.context.notifier.notify_all();
            }
            Ok(()) => {
                drop(state);
                self.finish(Arc::new(batch));
            }
            Err(error) => {
                state.ended = true;
                state.batches[at] = Some(Err(error));
                self.ready.notify_all();
            }
        }
    }

    /// Drops a reference to a batch. The thread that drops the last one closes the batch: no counter of tasks is needed.
    fn finish(&self, batch: Arc<PendingBatch<S::Workspace>>) {
        let Some(batch) = Arc::into_inner(batch) else { return };
        self.lock().closing += 1;
        let watch = StageTimer::start(range::BATCH);
        let number = batch.number;
        let first = batch.first;
        let (mut workspace, closed) = match catch_panic("closing a batch", || Ok(batch.close())) {
            Ok(closed) => closed,
            Err(error) => (Box::default(), Err(error)),
        };
        let bytes = closed.as_ref().map_or(0, |content| content.slab.used_bytes() as u64);
        self.context.counters.batch.add(watch.stop(), 1, bytes);
        let objects = &mut workspace.objects;
        let closed = closed.and_then(|content| self.change(content, objects, first));
        let closed = closed.and_then(|content| self.mix(content, &mut workspace.mix, first));
        let mut state = self.lock();
        state.closing -= 1;
        state.workspaces.push(workspace);
        if self.cancelled.load(Ordering::SeqCst) {
            drop(state);
            return closed.into_iter().for_each(|content| self.recycle(content));
        }
        let at = (number - state.first) as usize;
        if let Some(place) = state.batches.get_mut(at) {
            *place = Some(closed);
        }
        // The consumer waits for the first batch alone.
        if at == 0 {
            self.ready.notify_all();
        }
    }

    /// Makes mosaics of the rows of a closed batch and pastes objects over them, if the loader does.
    fn change(
        &self,
        content: Box<Content>,
        workspace: &mut ObjectWorkspace,
        first: u64,
    ) -> Result<Box<Content>> {
        let mixers = &self.context.object_mixers;
        if mixers.is_idle() {
            return Ok(content);
        }
        let watch = StageTimer::start(range::MIX);
        let changed = catch_panic("changing the pictures of a batch", || {
            let mut content = content;
            let bytes = mixers.change(&mut content, workspace, first)?;
            Ok((content, bytes))
        });
        let (content, bytes) = changed?;
        self.context.counters.mix.add(watch.stop(), 1, bytes);
        Ok(content)
    }

    /// Mixes the rows of a closed batch, if the loader does. Other batches are prepared, closed and mixed meanwhile.
    fn mix(&self, content: Box<Content>, plan: &mut MixPlan, first: u64) -> Result<Box<Content>> {
        let Some(mixer) = &self.context.mixer else { return Ok(content) };
        let watch = StageTimer::start(range::MIX);
        let mixed = catch_panic("mixing a batch", || {
            let mut content = content;
            let bytes = mixer.mix(&mut content, plan, first)?;
            Ok((content, bytes))
        });
        let (content, bytes) = mixed?;
        self.context.counters.mix.add(watch.stop(), 1, bytes);
        Ok(content)
    }

    fn run(&self, batch: Arc<PendingBatch<S::Workspace>>, task: usize) {
        let run = catch_panic("a thread", || {
            self.source.run(&batch, task);
            Ok(())
        });
        if let Err(error) = run {
            batch.fail(0, error);
        }
        self.lock().running -= 1;
        self.finish(batch);
    }

    /// Does one step: admitting comes before planning, and planning before the tasks, so that the tasks of the next batch
    /// are ready before threads run out of those of this batch.
    fn do_step(&self) -> bool {
        let mut state = self.lock();
        if let Some((batch, tasks)) = state.admit_planned(self.limits.variable_bytes) {
            drop(state);
            self.admit(batch, tasks);
            return true;
        }
        let may_plan = !state.ended && state.planned.is_none();
        if may_plan
            && state.batches.len() < self.limits.depth
            && let Some(planner) = state.planner.take()
        {
            let number = state.first + state.batches.len() as u64;
            let workspace = state.workspaces.pop().unwrap_or_default();
            drop(state);
            if self.plan(planner, number, workspace) {
                return true;
            }
            state = self.lock();
        }
        if state.running < self.source.threads()
            && let Some((batch, task)) = state.tasks.pop_front()
        {
            state.running += 1;
            drop(state);
            self.run(batch, task);
            return true;
        }
        false
    }
}

impl<S: BatchSource> Work for BatchQueue<S> {
    fn step(&self) -> bool {
        // Counted before the flag is read: after `cancel`, `is_still` sees either this step or none.
        self.busy.fetch_add(1, Ordering::SeqCst);
        let done = !self.cancelled.load(Ordering::SeqCst) && self.do_step();
        self.busy.fetch_sub(1, Ordering::SeqCst);
        done
    }
}

#[cfg(test)]
mod explored;
#[cfg(test)]
mod tests;
