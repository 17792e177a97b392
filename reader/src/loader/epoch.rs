//! `Epoch`: the iterator over the batches of one epoch.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::batch::{Batch, Content};
use crate::error::Result;
use crate::loader::pipeline::receiver::BatchReceiver;
use crate::loader::progress::EpochProgress;
use crate::loader::shared::LoaderShared;

/// The batches of one epoch, in order. Dropping it ends the work for it.
///
/// ```
/// use tarflume::Loader;
///
/// # fn main() -> tarflume::Result<()> {
/// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
/// # let shards = made.path();
/// let loader = Loader::builder(shards).bytes("txt").batch(4).build()?;
/// let mut epoch = loader.epoch(0); // an iterator
/// let first = epoch.next().unwrap()?;
/// assert_eq!((first.len(), epoch.count()), (4, 3));
/// # Ok(())
/// # }
/// ```
pub struct Epoch {
    inner: Arc<LoaderShared>,
    line: BatchReceiver,
    account: EpochProgress,
    over: bool,
}

impl Epoch {
    pub(crate) fn begin(inner: Arc<LoaderShared>, epoch: u64) -> Epoch {
        let here = inner.pool.process().expect();
        let begun = here.and_then(|()| inner.begin(epoch, None));
        let (flow, steps, all_bad) = match begun {
            Ok((flow, steps, whole)) => (Ok(flow), steps, whole),
            Err(error) => (Err(error), 0, false),
        };
        let line = BatchReceiver::begin(inner.pool.clone(), inner.meter.clone(), flow);
        let account = EpochProgress::new(inner.clone(), epoch, steps, all_bad);
        Epoch { inner, line, account, over: false }
    }

    /// Its number.
    pub fn number(&self) -> u64 {
        self.account.epoch
    }

    /// Batches still to come. With `Remainder::Uneven` ranks may have different numbers; with any
    /// other remainder they are equal.
    pub fn remaining(&self) -> u64 {
        self.account.remaining()
    }

    /// Whether the next batch, the end or an error is there, so that `next` would not wait; waits for
    /// that, but no longer than `most`. For callers that must look at something else now and then.
    pub fn ready(&mut self, most: Duration) -> bool {
        self.over || self.line.ready(most)
    }

    fn took(&mut self, mut content: Box<Content>) -> Result<Batch> {
        let bad = content.drain_bad();
        let position = content.position;
        let batch = Batch::new(content, self.inner.names(), self.inner.shelf.clone());
        self.account.took(&batch, bad, position)?;
        Ok(batch)
    }

    /// Counts what the caller spent to make something else of the last batch: statistics then show it as
    /// a stage of its own, `transform`, and not as the consumer's work.
    pub fn charge(&self, busy: Duration) {
        self.line.charge(busy);
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
        write!(f, "Epoch({}, {})", self.account.epoch, self.account)
    }
}
