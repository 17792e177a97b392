//! `Queue`: samples between the reading thread and the caller, bounded in bytes.
//!
//! Starts no thread and reads nothing. A waiting side wakes when the other side ends.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use super::buffers::BufferPool;
use super::sample::StreamSample;
use tarflume_formats::IgnorePoison;
use tarflume_types::{Error, Result};

/// Cost of an error in the queue in bytes, so that errors are bounded, too.
const ERROR_COST: u64 = 1024;

/// A function that the reading thread calls when a new result is available, when only samples held by the caller
/// prevent the next one, and at the end.
pub(crate) type Notify = Arc<dyn Fn() + Send + Sync>;

/// Result of a non-blocking call.
#[derive(Debug)]
pub enum Next<T = Result<StreamSample>> {
    /// A sample, or an error in its place.
    Ready(T),
    /// Nothing is ready. `notify` is called when something is.
    NotYet,
    /// The epoch has ended.
    End,
}

/// An entry of an epoch's order.
#[derive(Debug)]
pub enum Item {
    /// A sample.
    Sample(StreamSample),
    /// A sample that cannot be used. Later ones can.
    Bad {
        /// Number of the shard in the stream's list.
        shard_number: u64,
        /// Number of the sample in its shard.
        row: u64,
        /// The cause.
        error: Error,
    },
    /// An error that loses the rest of its shard.
    Broken(Error),
}

impl Item {
    /// The sample, or the error.
    pub(super) fn into_result(self) -> Result<StreamSample> {
        match self {
            Item::Sample(sample) => Ok(sample),
            Item::Bad { error, .. } | Item::Broken(error) => Err(error),
        }
    }
}

/// A queue of samples.
pub(super) struct SampleQueue {
    pool: Arc<BufferPool>,
    notify: Option<Notify>,
    cancelled: Arc<AtomicBool>,
    state: Mutex<SampleQueueState>,
    more: Condvar,
}

#[derive(Default)]
struct SampleQueueState {
    waiting: VecDeque<Item>,
    ended: bool,
    /// Time that the reading thread waited for room.
    blocked: Duration,
}

impl SampleQueue {
    /// An empty queue. `pool` bounds its bytes.
    pub(super) fn new(pool: Arc<BufferPool>, notify: Option<Notify>) -> SampleQueue {
        SampleQueue {
            pool,
            notify,
            cancelled: Arc::default(),
            state: Mutex::default(),
            more: Condvar::new(),
        }
    }

    /// A flag that is set when the caller is gone.
    pub(super) fn cancelled(&self) -> &Arc<AtomicBool> {
        &self.cancelled
    }

    /// Appends an entry once there is room. False if the caller is gone.
    pub(super) fn push(&self, mut item: Item) -> bool {
        let cost = match &item {
            Item::Sample(sample) => sample.cost(),
            _ => ERROR_COST,
        };
        let before = Instant::now();
        if !self.pool.admit(cost, || self.notify_caller()) {
            return false;
        }
        if let Item::Sample(sample) = &mut item {
            sample.charged = cost;
        }
        let mut state = self.lock();
        state.blocked += before.elapsed();
        state.waiting.push_back(item);
        drop(state);
        self.more.notify_one();
        self.notify_caller();
        true
    }

    /// Marks the end of the epoch.
    pub(super) fn end(&self) {
        self.lock().ended = true;
        self.more.notify_all();
        self.notify_caller();
    }

    /// The next entry, without blocking.
    pub(super) fn try_next(&self) -> Next<Item> {
        let mut state = self.lock();
        let next = state.waiting.pop_front();
        let ended = state.ended;
        drop(state);
        match next {
            Some(item) => Next::Ready(self.take_out(item)),
            None if ended => Next::End,
            None => Next::NotYet,
        }
    }

    /// The next sample or error; `None` at the end. Blocks.
    pub(super) fn next(&self) -> Option<Result<StreamSample>> {
        match self.try_next() {
            Next::Ready(item) => return Some(item.into_result()),
            Next::End => return None,
            Next::NotYet => {}
        }
        // Samples that the caller holds must not prevent the sample that it waits for.
        self.pool.set_hungry(true);
        let mut state = self.lock();
        while state.waiting.is_empty() && !state.ended {
            state = self.more.wait(state).ignore_poison();
        }
        let next = state.waiting.pop_front();
        drop(state);
        self.pool.set_hungry(false);
        next.map(|item| self.take_out(item).into_result())
    }

    /// Called when the caller is gone: stops the reading thread and drops the queued entries.
    pub(super) fn cancel(&self) {
        self.cancelled.store(true, Ordering::Release);
        self.pool.cancel();
        // Dropped after the lock is released: a sample's drop locks the pool and wakes its waiters.
        let waiting = std::mem::take(&mut self.lock().waiting);
        drop(waiting);
    }

    /// Time that the reading thread waited for room.
    pub(super) fn blocked(&self) -> Duration {
        self.lock().blocked
    }

    /// Removes an entry from the pool's account. A sample stays charged until it is dropped.
    fn take_out(&self, item: Item) -> Item {
        self.pool.leave(if matches!(item, Item::Sample(_)) { 0 } else { ERROR_COST });
        item
    }

    fn notify_caller(&self) {
        if let Some(notify) = &self.notify {
            // A panic in `notify` is the caller's error and must not end the stream.
            let _ = catch_unwind(AssertUnwindSafe(|| notify()));
        }
    }

    fn lock(&self) -> MutexGuard<'_, SampleQueueState> {
        self.state.lock().ignore_poison()
    }
}
