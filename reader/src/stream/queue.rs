//! `Queue`: samples between the thread that reads them and the caller, bounded in bytes.
//!
//! Starts no thread and reads nothing. Whoever waits is woken when the other side is gone.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::pool::Pool;
use super::sample::StreamSample;
use crate::error::Result;

/// What an error costs in the queue, in bytes, so that a million of them do not pile up.
const ERROR_COST: u64 = 1024;

/// Called, from the reading thread, whenever something new can be had, and at the end.
pub type Bell = Arc<dyn Fn() + Send + Sync>;

/// What a caller gets that does not wait.
#[derive(Debug)]
pub enum Next {
    /// A sample, or an error in its place.
    Ready(Result<StreamSample>),
    /// Nothing yet: the bell rings when there is.
    NotYet,
    /// Nothing any more.
    End,
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
    waiting: VecDeque<Result<StreamSample>>,
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
    pub(super) fn push(&self, mut item: Result<StreamSample>) -> bool {
        let cost = item.as_ref().map_or(ERROR_COST, StreamSample::cost);
        let before = Instant::now();
        if !self.pool.admit(cost) {
            return false;
        }
        if let Ok(sample) = &mut item {
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
    pub(super) fn try_next(&self) -> Next {
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
            Next::Ready(item) => return Some(item),
            Next::End => return None,
            Next::NotYet => {}
        }
        // What the caller still holds must not keep the sample away that he waits for.
        self.pool.set_hungry(true);
        let mut state = self.lock();
        while state.waiting.is_empty() && !state.ended {
            state = self.more.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let next = state.waiting.pop_front();
        drop(state);
        self.pool.set_hungry(false);
        next.map(|item| self.left(item))
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

    fn left(&self, item: Result<StreamSample>) -> Result<StreamSample> {
        self.pool.leave(if item.is_err() { ERROR_COST } else { 0 });
        item
    }

    fn ring(&self) {
        if let Some(bell) = &self.bell {
            // What is wrong with the bell is its owner's; the stream goes on.
            let _ = catch_unwind(AssertUnwindSafe(|| bell()));
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
