//! `Epoch`: the iterator over the batches of one epoch.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use super::bad::BadSample;
use super::flow::Flow;
use super::inner::Inner;
use crate::batch::{Batch, Content, RowState};
use crate::error::{Error, Result};
use crate::pool::Work;

/// The batches of one epoch, in order. Dropping it ends the work for it.
pub struct Epoch {
    inner: Arc<Inner>,
    line: Option<(Arc<Flow>, Arc<dyn Work>)>,
    epoch: u64,
    steps: u64,
    taken: u64,
    /// When the last batch was handed out.
    since: Instant,
    /// True if it was begun at its beginning, and no row was good yet.
    all_bad: bool,
    /// Why it could not be begun.
    failed: Option<Error>,
    over: bool,
}

impl Epoch {
    pub(crate) fn begin(inner: Arc<Inner>, epoch: u64) -> Epoch {
        let begun = inner.pool.process().expect().and_then(|()| inner.begin(epoch));
        let (line, steps, all_bad, failed) = match begun {
            Ok((flow, steps, whole)) => {
                let flow = Arc::new(flow);
                let work: Arc<dyn Work> = flow.clone();
                inner.pool.add(work.clone());
                (Some((flow, work)), steps, whole, None)
            }
            Err(error) => (None, 0, false, Some(error)),
        };
        let (taken, since, over) = (0, Instant::now(), false);
        Epoch { inner, line, epoch, steps, taken, since, all_bad, failed, over }
    }

    /// Its number.
    pub fn number(&self) -> u64 {
        self.epoch
    }

    /// Batches still to come. A loader with `Remainder::Uneven` or a split by shard may have other
    /// numbers on other ranks; with any other they are equal.
    pub fn remaining(&self) -> u64 {
        self.steps - self.taken
    }

    /// Counts a batch as handed out. Bad samples are counted here and not where they are found, so
    /// that what is prepared ahead and by whom does not change which one is too many.
    fn took(&mut self, mut content: Box<Content>) -> Result<Batch> {
        for (row, why) in content.bad.drain(..) {
            let facts = content.facts[row];
            let by = (facts.state == RowState::Replaced).then_some(facts.ordinal);
            self.inner.bad.add(BadSample::new(&why, facts.planned, by))?;
        }
        self.all_bad &= content.slab.rows() == 0;
        if self.all_bad && self.taken + 1 == self.steps {
            return Err(self.inner.bad.all_bad());
        }
        self.taken += 1;
        {
            let mut ledger = self.inner.ledger();
            for row in content.facts.iter().filter(|row| !row.padding) {
                match row.state {
                    RowState::Whole => ledger.add(row.planned),
                    RowState::Replaced | RowState::Skipped => ledger.add_bad(row.planned),
                }
            }
        }
        self.inner.delivered(self.epoch, content.position, self.taken == self.steps);
        Ok(Batch::new(content, self.inner.names(), self.inner.shelf.clone()))
    }

    /// Nothing more is prepared.
    fn end(&mut self) {
        let Some((flow, work)) = self.line.take() else { return };
        // In a forked child nobody is left to work, and locks may be held for ever.
        if self.inner.pool.process().expect().is_ok() {
            flow.cancel();
            self.inner.pool.remove(&work);
        }
    }
}

impl Iterator for Epoch {
    type Item = Result<Batch>;

    /// Waits for the next batch. After an error the epoch is over; `Loader::state` then says where
    /// the failed batch began.
    fn next(&mut self) -> Option<Result<Batch>> {
        if self.over {
            return None;
        }
        let asked = Instant::now();
        let meter = self.inner.meter.clone();
        let own = asked - self.since;
        let here = self.inner.pool.process().expect().err();
        let next = match (&self.line, self.failed.take().or(here)) {
            (Some((flow, _)), None) => flow.next(),
            (_, failed) => failed.map(Err),
        };
        self.since = Instant::now();
        let waited = self.since - asked;
        meter.running.add(own + waited, 0, 0);
        if next.is_some() {
            meter.starved.add(waited, 1, 0);
            meter.consumer.add(own, 1, 0);
        }
        let next = next.map(|content| content.and_then(|content| self.took(content)));
        self.over = !matches!(next, Some(Ok(_)));
        if self.over {
            self.end();
        }
        next
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        // An error may come instead of all of them, or of none.
        let most = if self.over { 0 } else { self.remaining().max(1) };
        (0, usize::try_from(most).ok())
    }
}

impl Drop for Epoch {
    fn drop(&mut self) {
        self.end();
    }
}

impl fmt::Debug for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Epoch({}, {} of {} steps taken)", self.epoch, self.taken, self.steps)
    }
}
