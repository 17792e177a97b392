//! `Epoch`: the iterator over the batches of one epoch.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::bad::BadSample;
use super::inner::Inner;
use super::taking::Taking;
use crate::batch::{Batch, Content, RowState};
use crate::error::Result;

/// The batches of one epoch, in order. Dropping it ends the work for it.
pub struct Epoch {
    inner: Arc<Inner>,
    line: Taking,
    epoch: u64,
    steps: u64,
    taken: u64,
    /// True if it was begun at its beginning, and no row was good yet.
    all_bad: bool,
    over: bool,
}

impl Epoch {
    pub(crate) fn begin(inner: Arc<Inner>, epoch: u64) -> Epoch {
        let begun = inner.pool.process().expect().and_then(|()| inner.begin(epoch));
        let (flow, steps, all_bad) = match begun {
            Ok((flow, steps, whole)) => (Ok(flow), steps, whole),
            Err(error) => (Err(error), 0, false),
        };
        let line = Taking::begin(inner.pool.clone(), inner.meter.clone(), flow);
        Epoch { inner, line, epoch, steps, taken: 0, all_bad, over: false }
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

    /// Whether the next batch, the end or an error is there, so that `next` would not wait; waits for
    /// that, but no longer than `most`. For callers that must look at something else now and then.
    pub fn ready(&mut self, most: Duration) -> bool {
        self.over || self.line.ready(most)
    }

    /// Counts what the caller spent to make something else of the last batch: statistics then show it as
    /// a stage of its own, `transform`, and not as the consumer's work.
    pub fn charge(&self, busy: Duration) {
        self.line.charge(busy);
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
}

impl Iterator for Epoch {
    type Item = Result<Batch>;

    /// Waits for the next batch. After an error the epoch is over; `Loader::state` then says where
    /// the failed batch began.
    fn next(&mut self) -> Option<Result<Batch>> {
        if self.over {
            return None;
        }
        let next = self.line.next();
        let next = next.map(|content| content.and_then(|content| self.took(content)));
        self.over = !matches!(next, Some(Ok(_)));
        if self.over {
            self.line.end();
        }
        next
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        // An error may come instead of all of them, or of none.
        let most = if self.over { 0 } else { self.remaining().max(1) };
        (0, usize::try_from(most).ok())
    }
}

impl fmt::Debug for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Epoch({}, {} of {} steps taken)", self.epoch, self.taken, self.steps)
    }
}
