//! `BatchReceiver`: the consumer's end of a queue of batches, while an epoch runs.
//!
//! Knows the pool, forks and the waiting times; nothing of what a batch holds.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tarflume_device::batch::Content;
use tarflume_device::range;
use tarflume_device::range::Range;
use tarflume_types::{Error, Result};

use crate::fork::ForkGuard;
use crate::loader::metrics::counters::Counters;
use crate::loader::pipeline::queue::BatchQueue;
use crate::loader::pipeline::source::BatchSource;
use crate::pool::{ThreadPool, Work, check_outside_pool};

/// Takes the batches of a queue. Dropping it ends the work for the queue.
pub(crate) struct BatchReceiver<S: BatchSource> {
    pool: Arc<ThreadPool>,
    counters: Arc<Counters>,
    queue: Option<ForkGuard<RegisteredQueue<S>>>,
    /// Why the epoch has no queue.
    failed: Option<Error>,
    /// When the last batch was handed out.
    since: Instant,
    /// The request for the next batch, once it was made.
    requested: Option<Request>,
    /// True after the first batch.
    begun: bool,
}

/// A request of the consumer for a batch.
#[derive(Clone, Copy)]
pub(crate) struct Request {
    /// When it was made.
    since: Instant,
    /// Batches that were ready then, and the most that are prepared at once.
    ready: usize,
    depth: usize,
}

/// A queue that the pool works for. Dropping it cancels the queue.
struct RegisteredQueue<S: BatchSource> {
    pool: Arc<ThreadPool>,
    queue: Arc<BatchQueue<S>>,
    /// The same queue, as the pool knows it.
    work: Arc<dyn Work>,
}

impl<S: BatchSource> Drop for RegisteredQueue<S> {
    fn drop(&mut self) {
        self.queue.cancel();
        self.pool.remove(&self.work);
    }
}

impl<S: BatchSource> Drop for BatchReceiver<S> {
    /// A batch that was requested and is not taken any more is not waited for.
    fn drop(&mut self) {
        if self.requested.is_some() {
            self.counters.end_wait();
        }
    }
}

impl<S: BatchSource> BatchReceiver<S> {
    /// Registers a queue with the pool. Without a queue, the first batch is the error.
    pub(crate) fn begin(
        pool: Arc<ThreadPool>,
        counters: Arc<Counters>,
        queue: Result<BatchQueue<S>>,
    ) -> BatchReceiver<S> {
        let (queue, failed) = match queue {
            Ok(queue) => {
                let queue = Arc::new(queue);
                let work: Arc<dyn Work> = queue.clone();
                pool.add(work.clone());
                (Some(ForkGuard::new(RegisteredQueue { pool: pool.clone(), queue, work })), None)
            }
            Err(error) => (None, Some(error)),
        };
        BatchReceiver {
            pool,
            counters,
            queue,
            failed,
            since: Instant::now(),
            requested: None,
            begun: false,
        }
    }

    /// Waits until [`BatchReceiver::next`] would not wait, but at most `timeout`; returns whether it would not. The time
    /// counts as the consumer's waiting time.
    pub(crate) fn ready(&mut self, timeout: Duration) -> bool {
        self.request();
        // An error is ready at once.
        match &self.queue {
            Some(queue) if check_outside_pool().is_ok() => {
                queue.get().map_or(true, |registered| registered.queue.ready(timeout))
            }
            _ => true,
        }
    }

    pub(crate) fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The queue, for another thread to take from. `None` after the end.
    ///
    /// # Errors
    /// Why the epoch has no queue.
    pub(crate) fn queue(&mut self) -> Result<Option<Arc<BatchQueue<S>>>> {
        match self.failed.take() {
            Some(failed) => Err(failed),
            None => self.queue.as_ref().map(|q| Ok(q.get()?.queue.clone())).transpose(),
        }
    }

    /// Waits for the next batch. Returns `None` after the last one.
    pub(crate) fn next(&mut self) -> Option<Result<Box<Content>>> {
        self.timed(|queue| queue.and_then(BatchQueue::next))
    }

    /// Calls `next` with the queue and counts the time as the consumer's waiting time. In a forked child, in a thread of
    /// the pool, and without a queue, the result is an error instead.
    pub(crate) fn timed<T>(
        &mut self,
        next: impl FnOnce(Option<&BatchQueue<S>>) -> Option<Result<T>>,
    ) -> Option<Result<T>> {
        let Request { since: requested, ready, depth } = self.request();
        self.requested = None;
        let own = requested - self.since;
        let waiting = Range::begin(range::WAIT);
        let here = self.check_here().err();
        let next = match self.failed.take().or(here) {
            None => next(self.queue.as_ref().and_then(|q| q.get().ok()).map(|r| &*r.queue)),
            failed => failed.map(Err),
        };
        drop(waiting);
        self.counters.end_wait();
        self.since = Instant::now();
        let waited = self.since - requested;
        self.counters.running.add(own + waited, 0, 0);
        if next.is_some() {
            if !std::mem::replace(&mut self.begun, true) {
                self.counters.startup.add(waited, 1, 0);
            }
            self.counters.count_ready(ready, depth);
            self.counters.starved.add(waited, 1, 0);
            self.counters.batch_waits.add(waited);
            self.counters.consumer.add(own, 1, 0);
        }
        next
    }

    /// Checks that the caller may wait for a batch: in the process of the threads, and in none of them.
    fn check_here(&self) -> Result<()> {
        self.pool.check_not_forked().and_then(|()| check_outside_pool())
    }

    /// True in a forked child, where no thread works for the queue.
    pub(crate) fn is_forked_child(&self) -> bool {
        self.pool.check_not_forked().is_err()
    }

    /// Notes that the consumer waits for a batch from now on, unless it does already.
    pub(crate) fn request(&mut self) -> Request {
        if let Some(request) = self.requested {
            return request;
        }
        let since = Instant::now();
        let queue = self.queue.as_ref().and_then(|queue| queue.get().ok());
        let (ready, depth) = queue.map_or((0, 0), |registered| registered.queue.filled());
        if queue.is_some() {
            self.counters.begin_wait();
        }
        *self.requested.insert(Request { since, ready, depth })
    }

    /// Counts the time in which the consumer transformed a batch.
    pub(crate) fn charge(&self, busy: Duration) {
        self.counters.transform.add(busy, 1, 0);
    }

    /// Ends the work for the queue.
    pub(crate) fn end(&mut self) {
        self.queue = None;
    }
}
