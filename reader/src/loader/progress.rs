//! `EpochProgress`: what an epoch has delivered, counted where the consumer takes it.
//!
//! Bad samples are counted here and not where they are found, so that the one that exceeds the limit does not depend on
//! prefetch and threads.

use std::fmt;
use std::sync::Arc;

use tarflume_device::batch::{Batch, RowFacts, RowState};
use tarflume_types::{Error, Result};

use crate::loader::bad_samples::FoundBad;
use crate::loader::shared::LoaderShared;

/// How much of an epoch was delivered.
pub(crate) struct EpochProgress {
    shared: Arc<LoaderShared>,
    pub(crate) epoch: u64,
    steps: u64,
    taken: u64,
    /// True until a row is good, in an epoch that began at its first sample.
    all_bad: bool,
}

impl EpochProgress {
    pub(crate) fn new(
        shared: Arc<LoaderShared>,
        epoch: u64,
        steps: u64,
        from_start: bool,
    ) -> EpochProgress {
        EpochProgress { shared, epoch, steps, taken: 0, all_bad: from_start }
    }

    /// Batches still to come.
    pub(crate) fn remaining(&self) -> u64 {
        self.steps - self.taken
    }

    /// Counts a batch that ends at `position` of the epoch as delivered, with its bad rows.
    ///
    /// # Errors
    /// There are more bad samples than the loader allows, or all samples of the epoch were bad.
    pub(crate) fn took(
        &mut self,
        batch: &Batch,
        bad: Vec<(RowFacts, Error)>,
        position: u64,
    ) -> Result<()> {
        for (facts, why) in bad {
            let substitute = (facts.state == RowState::Replaced).then_some(facts.ordinal);
            self.shared.bad.add(FoundBad::new(&why, facts.planned, substitute))?;
        }
        self.all_bad &= batch.is_empty();
        if self.all_bad && self.taken + 1 == self.steps {
            return Err(self.shared.bad.all_bad());
        }
        self.taken += 1;
        {
            let mut ledger = self.shared.ledger();
            for row in batch.planned().iter().filter(|row| !row.padding) {
                match row.state {
                    RowState::Whole => ledger.add(row.planned),
                    // Replaced or skipped: the row does not hold the planned sample.
                    _ => ledger.add_bad(row.planned),
                }
            }
        }
        self.shared.delivered(self.epoch, position, self.taken == self.steps);
        Ok(())
    }
}

impl fmt::Display for EpochProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} steps taken", self.taken, self.steps)
    }
}
