//! `Epoch`: the iterator over the batches of one epoch.

use std::fmt;
use std::iter::FusedIterator;
use std::sync::Arc;
use std::time::Duration;

use tarflume_device::batch::{Batch, Content};
use tarflume_types::Result;

use crate::loader::arrays::any_source::AnySource;
use crate::loader::pipeline::receiver::BatchReceiver;
use crate::loader::progress::EpochProgress;
use crate::loader::shared::LoaderShared;

/// The batches of one epoch, in order.
///
/// Dropping it cancels the epoch, and does not wait: no further sample is begun, and calls of decoders and of user code
/// that run at that time end later in the threads of the loader. The same is true when the loader is dropped. The threads
/// end when no loader of the process uses them.
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
    shared: Arc<LoaderShared>,
    receiver: BatchReceiver<AnySource>,
    progress: EpochProgress,
    over: bool,
}

impl Epoch {
    pub(crate) fn begin(shared: Arc<LoaderShared>, epoch: u64) -> Epoch {
        let (queue, steps, from_start) = match shared.begin(epoch, None) {
            Ok((queue, steps, from_start)) => (Ok(queue), steps, from_start),
            Err(error) => (Err(error), 0, false),
        };
        let receiver = BatchReceiver::begin(shared.pool.clone(), shared.counters.clone(), queue);
        let progress = EpochProgress::new(shared.clone(), epoch, steps, from_start);
        Epoch { shared, receiver, progress, over: false }
    }

    /// Its number.
    pub fn number(&self) -> u64 {
        self.progress.epoch
    }

    /// Number of remaining batches. It is equal on all ranks, unless the remainder is `Remainder::Uneven`.
    pub fn remaining(&self) -> u64 {
        self.progress.remaining()
    }

    /// Waits at most `most` until `next` would not wait: a batch, the end or an error is ready. Returns whether it is. For
    /// callers that must also handle other events, such as signals.
    pub fn ready(&mut self, most: Duration) -> bool {
        self.over || self.receiver.ready(most)
    }

    fn took(&mut self, mut content: Box<Content>) -> Result<Batch> {
        let bad = content.drain_bad();
        let position = content.position;
        let batch = Batch::new(content, self.shared.names(), self.shared.batch_pool.clone());
        self.progress.took(&batch, bad, position)?;
        Ok(batch)
    }

    /// Adds the time that the caller spent on transforming the last batch. Statistics show it as the stage `transform`
    /// instead of as time of the consumer.
    pub fn charge(&self, busy: Duration) {
        self.receiver.charge(busy);
    }
}

impl Iterator for Epoch {
    type Item = Result<Batch>;

    /// Waits for the next batch. After an error the epoch is over, and `Loader::state` is the position of the
    /// failed batch.
    fn next(&mut self) -> Option<Result<Batch>> {
        if self.over {
            return None;
        }
        let next = self.receiver.next();
        let next = next.map(|content| content.and_then(|content| self.took(content)));
        self.over = !matches!(next, Some(Ok(_)));
        if self.over {
            self.receiver.end();
        }
        next
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        // An error may come instead of all of them, or of none.
        let most = if self.over { 0 } else { self.remaining().max(1) };
        (0, usize::try_from(most).ok())
    }
}

impl FusedIterator for Epoch {}

impl fmt::Debug for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Epoch({}, {})", self.progress.epoch, self.progress)
    }
}
