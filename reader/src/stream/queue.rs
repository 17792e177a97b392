//! `Queue`: samples between the thread that reads them and the caller, bounded in bytes.
//!
//! Starts no thread and reads nothing. Whoever waits is woken when the other side is gone.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use super::pool::Pool;
use super::sample::StreamSample;
use crate::error::{Error, Result};
use tarflume_formats::poison::IgnorePoison;

/// What an error costs in the queue, in bytes, so that a million of them do not pile up.
const ERROR_COST: u64 = 1024;

/// Called, from the reading thread, whenever something new can be had, when only samples that the
/// caller holds are in the way of the next, and at the end.
pub(crate) type Bell = Arc<dyn Fn() + Send + Sync>;

/// What a caller gets that does not wait.
#[derive(Debug)]
pub enum Next<T = Result<StreamSample>> {
    /// A sample, or an error in its place.
    Ready(T),
    /// Nothing yet: the bell rings when there is.
    NotYet,
    /// Nothing any more.
    End,
}

/// What stands in an epoch's order.
#[derive(Debug)]
pub(crate) enum Item {
    /// A sample.
    Sample(StreamSample),
    /// A sample that can't be taken; those behind it can.
    Bad {
        /// The shard's place in the stream's list.
        shard_number: u64,
        /// The sample's place in its shard.
        row: u64,
        /// Why.
        error: Error,
    },
    /// What follows in this shard is lost.
    Broken(Error),
}

impl Item {
    /// The sample, or why there is none.
    pub(super) fn into_result(self) -> Result<StreamSample> {
        match self {
            Item::Sample(sample) => Ok(sample),
            Item::Bad { error, .. } | Item::Broken(error) => Err(error),
        }
    }
}

/// A queue of samples.
pub(super) struct Queue {
    pool: Arc<Pool>,
    bell: Option<Bell>,
    cancelled: Arc<AtomicBool>,
    state: Mutex<State>,
    more: Condvar,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Item>,
    ended: bool,
    /// Time that the reading thread waited for room.
    blocked: Duration,
}

impl Queue {
    /// An empty queue, whose bytes `pool` bounds.
    pub(super) fn new(pool: Arc<Pool>, bell: Option<Bell>) -> Queue {
        let (state, more) = (Mutex::default(), Condvar::new());
        Queue { pool, bell, cancelled: Arc::default(), state, more }
    }

    /// Set when the caller is gone.
    pub(super) fn cancelled(&self) -> &Arc<AtomicBool> {
        &self.cancelled
    }

    /// Puts one in, once there is room; false if the caller is gone.
    pub(super) fn push(&self, mut item: Item) -> bool {
        let cost = match &item {
            Item::Sample(sample) => sample.cost(),
            _ => ERROR_COST,
        };
        let before = Instant::now();
        if !self.pool.admit(cost, || self.ring()) {
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
        self.ring();
        true
    }

    /// Nothing more will come.
    pub(super) fn end(&self) {
        self.lock().ended = true;
        self.more.notify_all();
        self.ring();
    }

    /// The next one, without waiting.
    pub(super) fn try_next(&self) -> Next<Item> {
        let mut state = self.lock();
        let next = state.waiting.pop_front();
        let ended = state.ended;
        drop(state);
        match next {
            Some(item) => Next::Ready(self.left(item)),
            None if ended => Next::End,
            None => Next::NotYet,
        }
    }

    /// The next one; `None` at the end.
    pub(super) fn next(&self) -> Option<Result<StreamSample>> {
        match self.try_next() {
            Next::Ready(item) => return Some(item.into_result()),
            Next::End => return None,
            Next::NotYet => {}
        }
        // What the caller still holds must not keep the sample away that he waits for.
        self.pool.set_hungry(true);
        let mut state = self.lock();
        while state.waiting.is_empty() && !state.ended {
            state = self.more.wait(state).ignore_poison();
        }
        let next = state.waiting.pop_front();
        drop(state);
        self.pool.set_hungry(false);
        next.map(|item| self.left(item).into_result())
    }

    /// The caller is gone: lets the reading thread stop, and gives back what waits.
    pub(super) fn cancel(&self) {
        self.cancelled.store(true, Ordering::Release);
        self.pool.cancel();
        let waiting = std::mem::take(&mut self.lock().waiting);
        drop(waiting);
    }

    /// Time that the reading thread waited for room.
    pub(super) fn blocked(&self) -> Duration {
        self.lock().blocked
    }

    fn left(&self, item: Item) -> Item {
        self.pool.leave(if matches!(item, Item::Sample(_)) { 0 } else { ERROR_COST });
        item
    }

    fn ring(&self) {
        if let Some(bell) = &self.bell {
            // What is wrong with the bell is its owner's; the stream goes on.
            let _ = catch_unwind(AssertUnwindSafe(|| bell()));
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().ignore_poison()
    }
}
