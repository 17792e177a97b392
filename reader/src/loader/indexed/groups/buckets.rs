//! `BucketProgress`: which samples of each bucket a loader with buckets has delivered.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use tarflume_formats::IgnorePoison;
use tarflume_types::Result;

use crate::order::{BucketShare, BucketSteps, Buckets, Ledger, LoaderState, Remainder};

/// What was delivered of each bucket, at a position of an epoch.
#[derive(Debug, Clone)]
struct Taken {
    position: u64,
    taken: Arc<[u64]>,
}

/// The batches of a loader with buckets, and how far it is.
#[derive(Debug)]
pub(crate) struct BucketProgress {
    share: BucketShare,
    remainder: Remainder,
    /// Where the next epoch begins, or the running one is.
    at: Mutex<Arc<[u64]>>,
    /// The batches of the running epoch that are planned and not delivered.
    planned: Mutex<VecDeque<Taken>>,
}

impl BucketProgress {
    /// Begins at what was `taken`.
    pub(crate) fn new(
        share: BucketShare,
        remainder: Remainder,
        taken: Option<Vec<u64>>,
    ) -> BucketProgress {
        let taken = taken.unwrap_or_else(|| vec![0; share.buckets().count()]);
        BucketProgress { share, remainder, at: Mutex::new(taken.into()), planned: Mutex::default() }
    }

    /// The bucket of each sample.
    pub(crate) fn buckets(&self) -> &Buckets {
        self.share.buckets()
    }

    /// Steps on this rank of an epoch that begins at its first sample, or where the state of it was.
    pub(crate) fn count(&self, epoch: u64, resumed: bool) -> Result<u64> {
        Ok(self.steps(epoch, resumed)?.count())
    }

    /// Begins an epoch.
    pub(crate) fn begin(&self, epoch: u64, resumed: bool) -> Result<BucketSteps> {
        let steps = self.steps(epoch, resumed)?;
        self.planned.lock().ignore_poison().clear();
        if !resumed {
            *self.at.lock().ignore_poison() = self.none();
        }
        Ok(steps)
    }

    /// The steps of an epoch that is not begun by that.
    pub(crate) fn steps(&self, epoch: u64, resumed: bool) -> Result<BucketSteps> {
        let taken = if resumed { self.at.lock().ignore_poison().clone() } else { self.none() };
        Ok(self.share.steps(epoch, &taken, self.remainder)?)
    }

    fn none(&self) -> Arc<[u64]> {
        vec![0; self.share.buckets().count()].into()
    }

    /// Notes that a batch was planned after which `taken` is delivered.
    pub(crate) fn plan(&self, taken: Arc<[u64]>) {
        let position = taken.iter().sum();
        self.planned.lock().ignore_poison().push_back(Taken { position, taken });
    }

    /// Notes that the batch that ends at `position` was delivered. After the last one, the next epoch begins.
    pub(crate) fn delivered(&self, position: u64, last: bool) {
        let mut planned = self.planned.lock().ignore_poison();
        while let Some(next) = planned.pop_front() {
            if next.position == position {
                *self.at.lock().ignore_poison() = next.taken;
                break;
            }
        }
        if last {
            planned.clear();
            *self.at.lock().ignore_poison() = self.none();
        }
    }

    /// The state with what was delivered of each bucket.
    pub(crate) fn state(&self, state: LoaderState) -> LoaderState {
        state.with_buckets(self.share.buckets(), &self.at.lock().ignore_poison())
    }

    /// The ledger of a whole epoch of all ranks.
    pub(crate) fn expected(&self, epoch: u64) -> Result<Ledger> {
        Ok(self.share.ledger(epoch, self.remainder)?)
    }
}
