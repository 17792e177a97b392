//! `BatchReceiver`: the consumer's end of a line of batches, for as long as an epoch runs.
//!
//! Knows of the pool, of forks and of who waits for whom; nothing of what stands in a batch.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::batch::Content;
use crate::error::{Error, Result};
use crate::loader::metrics::counters::Counters;
use crate::loader::pipeline::queue::BatchQueue;
use crate::pool::{Pool, Work, expect_outside};
use crate::range::{self, Range};

/// Takes the batches of a line. Dropping it ends the work for it.
pub(crate) struct BatchReceiver {
    pool: Arc<Pool>,
    meter: Arc<Counters>,
    line: Option<(Arc<BatchQueue>, Arc<dyn Work>)>,
    /// Why there is no line.
    failed: Option<Error>,
    /// When the last batch was handed out.
    since: Instant,
    /// When the next one was asked for first.
    asked: Option<Instant>,
    /// True after the first.
    begun: bool,
}

impl BatchReceiver {
    /// Has the pool work for this line; or there is none, and the first batch is why.
    pub(crate) fn begin(
        pool: Arc<Pool>,
        meter: Arc<Counters>,
        flow: Result<BatchQueue>,
    ) -> BatchReceiver {
        let (line, failed) = match flow {
            Ok(flow) => {
                let flow = Arc::new(flow);
                let work: Arc<dyn Work> = flow.clone();
                pool.add(work.clone());
                (Some((flow, work)), None)
            }
            Err(error) => (None, Some(error)),
        };
        BatchReceiver {
            pool,
            meter,
            line,
            failed,
            since: Instant::now(),
            asked: None,
            begun: false,
        }
    }

    /// Whether [`BatchReceiver::next`] would not wait; waits for that, but no longer than `most`. The time
    /// counts as that of a consumer who waits.
    pub(crate) fn ready(&mut self, most: Duration) -> bool {
        self.asks();
        match &self.line {
            Some((flow, _)) if self.expect_here().is_ok() => flow.ready(most),
            _ => true,
        }
    }

    pub(crate) fn meter(&self) -> &Counters {
        &self.meter
    }

    /// The line, for somebody else to take from; none if it was not begun, and why not.
    pub(crate) fn flow(&mut self) -> Result<Option<Arc<BatchQueue>>> {
        match self.failed.take() {
            Some(failed) => Err(failed),
            None => Ok(self.line.as_ref().map(|(flow, _)| flow.clone())),
        }
    }

    /// The next batch; waits for it. `None` after the last.
    pub(crate) fn next(&mut self) -> Option<Result<Box<Content>>> {
        self.timed(|line| line.map(BatchQueue::next))
    }

    /// What `next` gives of the line, waited for; the time counts as that of a consumer who waits.
    /// In another process, in a thread of the pool, or where there is no line, the reason comes instead.
    pub(crate) fn timed<T>(
        &mut self,
        next: impl FnOnce(Option<&BatchQueue>) -> Option<Option<Result<T>>>,
    ) -> Option<Result<T>> {
        let asked = self.asked.take().unwrap_or_else(Instant::now);
        let own = asked - self.since;
        let waiting = Range::begin(range::WAIT);
        let here = self.expect_here().err();
        let next = match self.failed.take().or(here) {
            None => next(self.line.as_ref().map(|(flow, _)| &**flow)).flatten(),
            failed => failed.map(Err),
        };
        drop(waiting);
        self.since = Instant::now();
        let waited = self.since - asked;
        self.meter.running.add(own + waited, 0, 0);
        if next.is_some() {
            if !std::mem::replace(&mut self.begun, true) {
                self.meter.startup.add(waited, 1, 0);
            }
            self.meter.starved.add(waited, 1, 0);
            self.meter.consumer.add(own, 1, 0);
        }
        next
    }

    /// Says that the caller may wait for this line: in this process, outside of the pool.
    fn expect_here(&self) -> Result<()> {
        self.pool.process().expect().and_then(|()| expect_outside())
    }

    /// True in a process that was forked: nothing of the line is here.
    pub(crate) fn is_elsewhere(&self) -> bool {
        self.pool.process().expect().is_err()
    }

    /// The consumer asks now, and is not answered yet.
    pub(crate) fn asks(&mut self) {
        self.asked.get_or_insert_with(Instant::now);
    }

    /// Counts what the consumer spent to make something else of a batch.
    pub(crate) fn charge(&self, busy: Duration) {
        self.meter.transform.add(busy, 1, 0);
    }

    /// Nothing more is prepared.
    pub(crate) fn end(&mut self) {
        let Some((flow, work)) = self.line.take() else { return };
        // In a forked child nobody is left to work, and locks may be held for ever.
        if self.pool.process().expect().is_ok() {
            flow.cancel();
            self.pool.remove(&work);
        } else {
            // Nor can the threads be waited for that the line holds.
            std::mem::forget(flow);
        }
    }
}

impl Drop for BatchReceiver {
    fn drop(&mut self) {
        self.end();
    }
}
