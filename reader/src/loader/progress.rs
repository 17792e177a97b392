//! `EpochProgress`: what an epoch has handed out, counted where the consumer takes it.
//!
//! Bad samples are counted here and not where they are found, so that what is prepared ahead and by
//! whom does not change which one is too many.

use std::fmt;
use std::sync::Arc;

use crate::batch::{Batch, RowFacts, RowState};
use crate::error::{Error, Result};
use crate::loader::bad_samples::BadSample;
use crate::loader::shared::LoaderShared;

/// How far an epoch is.
pub(crate) struct EpochProgress {
    inner: Arc<LoaderShared>,
    pub(crate) epoch: u64,
    steps: u64,
    taken: u64,
    /// True if it was begun at its beginning, and no row was good yet.
    all_bad: bool,
}

impl EpochProgress {
    pub(crate) fn new(
        inner: Arc<LoaderShared>,
        epoch: u64,
        steps: u64,
        all_bad: bool,
    ) -> EpochProgress {
        EpochProgress { inner, epoch, steps, taken: 0, all_bad }
    }

    /// Batches still to come.
    pub(crate) fn remaining(&self) -> u64 {
        self.steps - self.taken
    }

    /// Counts a batch as handed out, with its bad rows, that ends at `position` of the epoch.
    ///
    /// # Errors
    /// One bad sample is too many; all of them were bad.
    pub(crate) fn took(
        &mut self,
        batch: &Batch,
        bad: Vec<(RowFacts, Error)>,
        position: u64,
    ) -> Result<()> {
        for (facts, why) in bad {
            let by = (facts.state == RowState::Replaced).then_some(facts.ordinal);
            self.inner.bad.add(BadSample::new(&why, facts.planned, by))?;
        }
        self.all_bad &= batch.is_empty();
        if self.all_bad && self.taken + 1 == self.steps {
            return Err(self.inner.bad.all_bad());
        }
        self.taken += 1;
        {
            let mut ledger = self.inner.ledger();
            for row in batch.planned().iter().filter(|row| !row.padding) {
                match row.state {
                    RowState::Whole => ledger.add(row.planned),
                    RowState::Replaced | RowState::Skipped => ledger.add_bad(row.planned),
                }
            }
        }
        self.inner.delivered(self.epoch, position, self.taken == self.steps);
        Ok(())
    }
}

impl fmt::Display for EpochProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} steps taken", self.taken, self.steps)
    }
}
