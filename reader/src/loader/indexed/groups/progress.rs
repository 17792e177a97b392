//! `GroupProgress`: the batches of a loader with buckets or packs, and how far it is.

use tarflume_types::Result;

use super::buckets::BucketProgress;
use super::group_rows::{GroupRows, GroupSteps};
use super::packs::PackProgress;
use crate::loader::metrics::pack_stats::PackStats;
use crate::order::{Buckets, Ledger, Lengths, LoaderState, PackTotals};

/// The batches of a loader whose samples are no neighbors in the order.
#[derive(Debug)]
pub(crate) enum GroupProgress {
    Buckets(BucketProgress),
    Packs(PackProgress),
}

impl GroupProgress {
    /// The bucket of each sample, if there are buckets.
    pub(crate) fn buckets(&self) -> Option<&Buckets> {
        match self {
            GroupProgress::Buckets(progress) => Some(progress.buckets()),
            GroupProgress::Packs(_) => None,
        }
    }

    /// The length of each sample, if samples are packed.
    pub(crate) fn lengths(&self) -> Option<&Lengths> {
        match self {
            GroupProgress::Buckets(_) => None,
            GroupProgress::Packs(progress) => Some(progress.lengths()),
        }
    }

    /// What the running epoch became, if samples are packed.
    pub(crate) fn packs(&self) -> Option<PackStats> {
        match self {
            GroupProgress::Buckets(_) => None,
            GroupProgress::Packs(progress) => progress.stats(),
        }
    }

    /// What an epoch becomes, if samples are packed.
    pub(crate) fn totals(&self, epoch: u64) -> Result<Option<PackTotals>> {
        match self {
            GroupProgress::Buckets(_) => Ok(None),
            GroupProgress::Packs(progress) => progress.totals(epoch).map(Some),
        }
    }

    /// Steps on this rank of an epoch that begins at `position`.
    pub(crate) fn count(&self, epoch: u64, position: u64) -> Result<u64> {
        match self {
            GroupProgress::Buckets(progress) => progress.count(epoch, position > 0),
            GroupProgress::Packs(progress) => Ok(progress.steps(epoch, position)?.count()),
        }
    }

    /// Begins an epoch at `position`.
    pub(crate) fn begin(&self, epoch: u64, position: u64) -> Result<GroupSteps> {
        match self {
            GroupProgress::Buckets(progress) => Ok(progress.begin(epoch, position > 0)?.into()),
            GroupProgress::Packs(_) => self.steps(epoch, position),
        }
    }

    /// The steps of an epoch that is not begun by that.
    pub(crate) fn steps(&self, epoch: u64, position: u64) -> Result<GroupSteps> {
        match self {
            GroupProgress::Buckets(progress) => Ok(progress.steps(epoch, position > 0)?.into()),
            GroupProgress::Packs(progress) => Ok(progress.steps(epoch, position)?.into()),
        }
    }

    /// Notes that a batch was planned.
    pub(crate) fn plan(&self, rows: &GroupRows) {
        if let (GroupProgress::Buckets(progress), Some(taken)) = (self, &rows.taken) {
            progress.plan(taken.clone());
        }
    }

    /// Notes that the batch that ends at `position` was delivered. After the last one, the next epoch begins.
    pub(crate) fn delivered(&self, position: u64, last: bool) {
        if let GroupProgress::Buckets(progress) = self {
            progress.delivered(position, last);
        }
    }

    /// The state with what was delivered, and of which groups.
    pub(crate) fn state(&self, state: LoaderState) -> LoaderState {
        match self {
            GroupProgress::Buckets(progress) => progress.state(state),
            GroupProgress::Packs(progress) => progress.state(state),
        }
    }

    /// The ledger of a whole epoch of all ranks.
    pub(crate) fn expected(&self, epoch: u64) -> Result<Ledger> {
        match self {
            GroupProgress::Buckets(progress) => progress.expected(epoch),
            GroupProgress::Packs(progress) => progress.expected(epoch),
        }
    }
}
