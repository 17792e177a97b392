//! The line of batches of one epoch: planned in order, worked on by all threads, taken in order.
//!
//! Bounded by the number of batches in the line and by the bytes of their variable columns. Holds no
//! lock while it plans, reads or decodes. What happens in a step is said elsewhere: [`BatchPlanner`] fills a
//! job, [`BatchWorker`] does its tasks.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::batch::{BatchPool, Content};
use crate::error::Result;
use crate::loader::metrics::counters::{Counters, Watch};
use crate::loader::metrics::idle::Lack;
use crate::loader::pipeline::panics::caught;
use crate::loader::pipeline::pending_batch::{PendingBatch, Workspace};
use crate::pool::{Bell, Work};
use crate::range;
use crate::slab::{HostMemory, Layout, Slab};
use crate::sync::{AtomicBool, Condvar, Mutex, MutexGuard};
use tarflume_formats::poison::IgnorePoison;

/// What a feed has to say.
pub(crate) enum Planned {
    /// The job is full, and consists of this many tasks.
    Tasks(usize),
    /// Nothing is there yet; the feed rings the bell when there is.
    NotYet,
    /// There are no more batches.
    End,
}

/// Where batches come from.
pub(crate) trait BatchPlanner: Send {
    /// Decides what the next batch holds, and sets the job's `variable`.
    ///
    /// # Errors
    /// The epoch can't go on.
    fn plan(&mut self, job: &mut PendingBatch) -> Result<Planned>;
}

/// How a job is done.
pub(crate) trait BatchWorker: Send + Sync {
    /// Does task `task`. What goes wrong is told to the job.
    fn task(&self, job: &PendingBatch, task: usize);

    /// Threads that may be in [`BatchWorker::task`] at once.
    fn threads(&self) -> usize;
}

/// How many batches stand in the line, and how large they may be.
#[derive(Debug, Clone)]
pub(crate) struct QueueLimits {
    /// Where the columns of each stand.
    pub(crate) layout: Arc<Layout>,
    /// What their slabs are made of, if not of any memory.
    pub(crate) memory: Option<Arc<dyn HostMemory>>,
    pub(crate) depth: usize,
    pub(crate) variable: u64,
}

/// The line of batches of one epoch.
pub(crate) struct BatchQueue {
    labour: Arc<dyn BatchWorker>,
    meter: Arc<Counters>,
    bell: Arc<Bell>,
    shelf: Arc<BatchPool>,
    room: QueueLimits,
    cancelled: AtomicBool,
    /// Threads that are in a step.
    busy: AtomicUsize,
    line: Mutex<QueueState>,
    ready: Condvar,
}

struct QueueState {
    /// Away while somebody plans.
    feed: Option<Box<dyn BatchPlanner>>,
    ended: bool,
    /// A planned job that has no room yet, and its tasks.
    pending: Option<(PendingBatch, usize)>,
    tasks: VecDeque<(Arc<PendingBatch>, usize)>,
    /// The batches not yet taken, in order; `None` is one that is being worked on.
    batches: VecDeque<Option<Result<Box<Content>>>>,
    /// Number of the first of them.
    first: u64,
    /// Bytes of their variable columns, and of each.
    variable: u64,
    sizes: VecDeque<u64>,
    /// Threads that do a task, make room for a batch, close one.
    working: usize,
    admitting: usize,
    closing: usize,
    /// The feed had nothing when it was asked last.
    hungry: bool,
    #[allow(clippy::vec_box)] // moved from thread to thread by pointer
    desks: Vec<Box<Workspace>>,
    /// Until when idle threads were counted.
    counted: Instant,
    /// How often it was locked by [`BatchQueue::line`].
    #[cfg(test)]
    locked: u64,
}

impl BatchQueue {
    pub(crate) fn new(
        feed: Box<dyn BatchPlanner>,
        labour: Arc<dyn BatchWorker>,
        (meter, bell, shelf): (Arc<Counters>, Arc<Bell>, Arc<BatchPool>),
        room: QueueLimits,
    ) -> BatchQueue {
        let line = QueueState {
            feed: Some(feed),
            ended: false,
            pending: None,
            tasks: VecDeque::new(),
            batches: VecDeque::new(),
            first: 0,
            variable: 0,
            sizes: VecDeque::new(),
            working: 0,
            admitting: 0,
            closing: 0,
            hungry: false,
            desks: Vec::new(),
            counted: Instant::now(),
            #[cfg(test)]
            locked: 0,
        };
        let (cancelled, line, ready) = (AtomicBool::new(false), Mutex::new(line), Condvar::new());
        let busy = AtomicUsize::new(0);
        BatchQueue { labour, meter, bell, shelf, room, cancelled, busy, line, ready }
    }

    /// The line, locked. It is as it was left: what idle threads lacked since then is counted.
    fn line(&self) -> MutexGuard<'_, QueueState> {
        let mut line = self.line.lock().ignore_poison();
        #[cfg(test)]
        (line.locked += 1);
        let now = Instant::now();
        let since = std::mem::replace(&mut line.counted, now);
        let idle = self.labour.threads().saturating_sub(line.active());
        if idle > 0 && !self.cancelled.load(Ordering::Relaxed) && !line.is_over() {
            self.meter.idle(line.lack(&self.room), (now - since) * idle as u32);
        }
        line
    }

    /// The next batch, in order; waits for it. `None` after the last.
    pub(crate) fn next(&self) -> Option<Result<Box<Content>>> {
        let mut line = self.line();
        loop {
            if let Some(batch) = line.batches.front_mut().and_then(Option::take) {
                line.taken();
                drop(line);
                self.bell.ring();
                return Some(batch);
            }
            if line.is_over() {
                return None;
            }
            if self.cancelled.load(Ordering::Acquire) {
                return None;
            }
            line = self.ready.wait(line).ignore_poison();
        }
    }

    /// Whether [`BatchQueue::next`] would not wait; waits for that, but no longer than `most`.
    pub(crate) fn ready(&self, most: Duration) -> bool {
        let waits = |line: &mut QueueState| {
            let here = matches!(line.batches.front(), Some(Some(_)));
            !here && !line.is_over() && !self.cancelled.load(Ordering::Acquire)
        };
        let waited = self.ready.wait_timeout_while(self.line(), most, waits);
        !waited.ignore_poison().1.timed_out()
    }

    /// No further step is begun. Slabs go back to where the next epoch takes them from.
    pub(crate) fn cancel(&self) {
        self.cancelled.store(true, Ordering::SeqCst);
        let mut line = self.line();
        let tasks = std::mem::take(&mut line.tasks);
        let pending = line.pending.take();
        let batches: Vec<_> = line.batches.iter_mut().filter_map(Option::take).collect();
        let feed = line.feed.take();
        drop(line);
        // A stream's thread ends with its feed, and must not be waited for under the lock.
        drop(feed);
        for job in tasks.into_iter().filter_map(|(job, _)| Arc::into_inner(job)) {
            self.shelf.put(job.content);
        }
        if let Some((job, _)) = pending {
            self.shelf.put(job.content);
        }
        batches.into_iter().flatten().for_each(|content| self.shelf.put(content));
        self.ready.notify_all();
    }

    /// After [`BatchQueue::cancel`]: whether no thread is in a step any more; waits for that, but no longer than `most`.
    pub(crate) fn is_still(&self, most: Duration) -> bool {
        let begun = Instant::now();
        while self.busy.load(Ordering::SeqCst) > 0 {
            if begun.elapsed() > most {
                return false;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        true
    }

    /// Has so many slabs made, unless they are there.
    ///
    /// # Errors
    /// There is no memory.
    pub(crate) fn stock(&self, wanted: usize) -> Result<()> {
        let slabs = (self.shelf.len()..wanted).map(|_| self.content());
        slabs.collect::<Result<Vec<_>>>()?.into_iter().for_each(|slab| self.shelf.put(slab));
        Ok(())
    }

    fn content(&self) -> Result<Box<Content>> {
        let QueueLimits { layout, memory, .. } = &self.room;
        Ok(Box::new(Content::new(Slab::in_memory(layout.clone(), memory.as_deref())?)))
    }

    /// Plans one batch with the feed that the line gave away.
    fn plan(&self, mut feed: Box<dyn BatchPlanner>, number: u64, desk: Box<Workspace>) -> bool {
        let watch = Watch::start(range::PLAN);
        let filled = caught("planning", || {
            let content = self.shelf.take().map_or_else(|| self.content(), Ok)?;
            let mut job = PendingBatch::new(number, content, desk);
            feed.plan(&mut job).map(|fill| (job, fill))
        });
        let planned = !matches!(filled, Ok((_, Planned::NotYet | Planned::End)));
        self.meter.plan.add(watch.stop(), u64::from(planned), 0);
        let mut line = self.line();
        match filled {
            Ok((job, Planned::Tasks(_))) if self.cancelled.load(Ordering::SeqCst) => {
                drop(line);
                self.shelf.put(job.content);
                return true;
            }
            Ok((job, Planned::Tasks(tasks))) => {
                line.feed = Some(feed);
                line.hungry = false;
                line.pending = Some((job, tasks));
            }
            Ok((job, Planned::NotYet)) => {
                line.feed = Some(feed);
                line.hungry = true;
                self.shelf.put(job.content);
                line.desks.push(job.desk);
                return false;
            }
            Ok((job, Planned::End)) => {
                line.ended = true;
                self.shelf.put(job.content);
            }
            Err(error) => {
                line.ended = true;
                line.batches.push_back(Some(Err(error)));
                line.sizes.push_back(0);
            }
        }
        drop(line);
        self.ready.notify_all();
        true
    }

    /// Puts a job into the line; there is room for it.
    fn admit(&self, mut job: PendingBatch, tasks: usize) {
        let made = caught("making room", || job.make_room());
        let mut line = self.line();
        line.admitting -= 1;
        if self.cancelled.load(Ordering::SeqCst) {
            drop(line);
            return self.shelf.put(job.content);
        }
        let at = (job.number - line.first) as usize;
        match made {
            Ok(()) if tasks > 0 => {
                let job = Arc::new(job);
                line.tasks.extend((0..tasks).map(|task| (job.clone(), task)));
                drop(line);
                // The line must not be the last to let go of a job.
                self.finish(job);
                self.bell.ring_all();
            }
            Ok(()) => {
                drop(line);
                self.finish(Arc::new(job));
            }
            Err(error) => {
                line.ended = true;
                line.batches[at] = Some(Err(error));
                self.ready.notify_all();
            }
        }
    }

    /// Lets go of a job; whoever is the last closes the batch.
    fn finish(&self, job: Arc<PendingBatch>) {
        let Some(job) = Arc::into_inner(job) else { return };
        self.line().closing += 1;
        let watch = Watch::start(range::BATCH);
        let number = job.number;
        let (desk, batch) = match caught("closing a batch", || Ok(job.close())) {
            Ok(closed) => closed,
            Err(error) => (Box::default(), Err(error)),
        };
        let bytes = batch.as_ref().map_or(0, |content| content.slab.used_bytes() as u64);
        self.meter.batch.add(watch.stop(), 1, bytes);
        let mut line = self.line();
        line.closing -= 1;
        line.desks.push(desk);
        if self.cancelled.load(Ordering::SeqCst) {
            drop(line);
            return batch.into_iter().for_each(|content| self.shelf.put(content));
        }
        let at = (number - line.first) as usize;
        if let Some(place) = line.batches.get_mut(at) {
            *place = Some(batch);
        }
        if at == 0 {
            self.ready.notify_all();
        }
    }

    fn work(&self, job: Arc<PendingBatch>, task: usize) {
        if let Err(error) = caught("a thread", || {
            self.labour.task(&job, task);
            Ok(())
        }) {
            job.fail(0, error);
        }
        self.line().working -= 1;
        self.finish(job);
    }
}

impl QueueState {
    /// No batch is in it, and none will come.
    fn is_over(&self) -> bool {
        self.batches.is_empty() && self.ended && self.pending.is_none()
    }

    /// The first batch was taken.
    fn taken(&mut self) {
        self.batches.pop_front();
        self.first += 1;
        self.variable -= self.sizes.pop_front().unwrap_or(0);
    }

    /// Threads that are busy with it. Who plans has the feed.
    fn active(&self) -> usize {
        let planning = usize::from(self.feed.is_none() && !self.ended);
        self.working + self.admitting + self.closing + planning
    }

    /// What a thread that has nothing to do lacks.
    fn lack(&self, room: &QueueLimits) -> Lack {
        let ready = matches!(self.batches.front(), Some(Some(_)));
        if !self.tasks.is_empty() {
            return Lack::Wake;
        }
        if ready && (self.ended || self.pending.is_some() || self.batches.len() >= room.depth) {
            return Lack::Consumer;
        }
        match &self.pending {
            Some((job, _)) if self.has_room(job.variable, room.variable) => Lack::Wake,
            Some(_) => Lack::Memory,
            None if self.ended => Lack::End,
            None if self.batches.len() >= room.depth => Lack::Prefetch,
            None if self.feed.is_none() => Lack::Plan,
            None if self.hungry => Lack::Input,
            None => Lack::Wake,
        }
    }

    /// Whether a batch whose variable columns take `size` bytes may join those in the line.
    fn has_room(&self, size: u64, variable: u64) -> bool {
        self.batches.is_empty() || self.variable + size <= variable
    }

    /// Takes the pending job out, if it has room now among `variable` bytes.
    fn with_room(&mut self, variable: u64) -> Option<(PendingBatch, usize)> {
        let size = self.pending.as_ref()?.0.variable;
        if !self.has_room(size, variable) {
            return None;
        }
        self.admitting += 1;
        self.variable += size;
        self.sizes.push_back(size);
        self.batches.push_back(None);
        self.pending.take()
    }
}

impl Work for BatchQueue {
    fn step(&self) -> bool {
        self.busy.fetch_add(1, Ordering::SeqCst);
        let done = !self.cancelled.load(Ordering::SeqCst) && self.do_step();
        self.busy.fetch_sub(1, Ordering::SeqCst);
        done
    }
}

impl BatchQueue {
    fn do_step(&self) -> bool {
        let mut line = self.line();
        if let Some((job, tasks)) = line.with_room(self.room.variable) {
            drop(line);
            self.admit(job, tasks);
            return true;
        }
        let may_plan = !line.ended && line.pending.is_none();
        if may_plan
            && line.batches.len() < self.room.depth
            && let Some(feed) = line.feed.take()
        {
            let number = line.first + line.batches.len() as u64;
            let desk = line.desks.pop().unwrap_or_default();
            drop(line);
            if self.plan(feed, number, desk) {
                return true;
            }
            line = self.line();
        }
        if line.working < self.labour.threads()
            && let Some((job, task)) = line.tasks.pop_front()
        {
            line.working += 1;
            drop(line);
            self.work(job, task);
            return true;
        }
        false
    }
}

#[cfg(test)]
#[cfg(feature = "shuttle")]
mod explored;
#[cfg(test)]
#[cfg(not(feature = "shuttle"))]
mod tests;
