//! `PackProgress`: the packs of a loader.

use tarflume_types::Result;

use crate::loader::metrics::pack_stats::PackStats;
use crate::order::{Ledger, Lengths, LoaderState, PackShare, PackSteps, PackTotals, Remainder};

/// The packs of a loader. Where it is, is the position of the job alone.
#[derive(Debug)]
pub(crate) struct PackProgress {
    share: PackShare,
    /// Packs of a batch.
    each: u64,
    remainder: Remainder,
    /// Samples that are longer than a pack, and were left out or are cut.
    too_long: u64,
}

impl PackProgress {
    /// Batches of `each` packs.
    pub(crate) fn new(
        share: PackShare,
        each: u64,
        remainder: Remainder,
        too_long: u64,
    ) -> PackProgress {
        PackProgress { share, each, remainder, too_long }
    }

    /// What the epoch that was planned last became.
    pub(crate) fn stats(&self) -> Option<PackStats> {
        let totals = self.share.known_totals()?;
        Some(PackStats { totals, too_long: self.too_long })
    }

    /// The length of each sample.
    pub(crate) fn lengths(&self) -> &Lengths {
        self.share.lengths()
    }

    /// How many packs an epoch has, and how full they are.
    pub(crate) fn totals(&self, epoch: u64) -> Result<PackTotals> {
        Ok(self.share.totals(epoch)?)
    }

    /// The steps of an epoch from a position on.
    pub(crate) fn steps(&self, epoch: u64, position: u64) -> Result<PackSteps> {
        Ok(self.share.steps(epoch, position, self.each, self.remainder)?)
    }

    /// The state with what identifies the packs.
    pub(crate) fn state(&self, state: LoaderState) -> LoaderState {
        state.with_packs(self.lengths())
    }

    /// The ledger of a whole epoch of all ranks.
    pub(crate) fn expected(&self, epoch: u64) -> Result<Ledger> {
        Ok(self.share.ledger(epoch, self.each, self.remainder)?)
    }
}
