//! `StreamLoader`: batches of a stream, epoch after epoch, without what needs an index.

use std::fmt;
use std::iter::FusedIterator;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tarflume_dataset::Stream;
use tarflume_device::batch::{Batch, BatchPool, Content};
use tarflume_types::Result;

use crate::loader::bad_samples::{BadList, BadSample, FoundBad};
use crate::loader::metrics::counters::Counters;
use crate::loader::metrics::stats::Stats;
use crate::loader::metrics::stats_file::{Progress, Reports, StatsFile, StatsReport};
use crate::loader::metrics::warning::Warning;
use crate::loader::pipeline::draws::{ColumnTransforms, drawn};
use crate::loader::pipeline::memory_budget::MemoryBudget;
use crate::loader::pipeline::mixer::Mixer;
use crate::loader::pipeline::mixer::object_mixers::ObjectMixers;
use crate::loader::pipeline::queue::{BatchQueue, QueueContext};
use crate::loader::pipeline::receiver::BatchReceiver;
use crate::loader::streaming::planner::{Notes, StreamPlanner};
use crate::loader::streaming::source::StreamSource;
use crate::pool::ThreadPool;

/// What a stream loader and its epochs share.
pub(crate) struct StreamShared {
    pub(crate) stream: Stream,
    pub(crate) source: Arc<StreamSource>,
    pub(crate) budget: MemoryBudget,
    /// Warning if the memory limit reduces the number of batches in preparation.
    pub(crate) warning: Option<Warning>,
    pub(crate) pool: Arc<ThreadPool>,
    pub(crate) counters: Arc<Counters>,
    pub(crate) batch_pool: Arc<BatchPool>,
    pub(crate) object_mixers: Arc<ObjectMixers>,
    pub(crate) mixer: Option<Arc<Mixer>>,
    pub(crate) bad: BadList,
    pub(crate) notes: Arc<Notes>,
    /// The epoch after the one that was last taken to its end.
    pub(crate) next_epoch: AtomicU64,
    /// Where the loader tells what it does, if it was asked to.
    pub(crate) stats_file: Option<StatsFile>,
}

impl Reports for StreamShared {
    fn report(&self) -> StatsReport {
        let epoch = Some(self.next_epoch.load(Ordering::Acquire));
        let progress = Progress { epoch, ..Progress::default() };
        let wait_counts = self.counters.batch_waits.counts();
        StatsReport { progress, wait_counts, stats: self.stats() }
    }
}

impl Drop for StreamShared {
    fn drop(&mut self) {
        if let Some(file) = &self.stats_file {
            file.end(|| self.report());
        }
    }
}

impl StreamShared {
    fn stats(&self) -> Stats {
        let warning = Warning::with_failure(self.warning.as_ref(), self.stats_file.as_ref());
        Stats { warning, ..self.counters.stats() }
    }

    fn begin(&self, epoch: u64) -> Result<BatchQueue<StreamSource>> {
        self.pool.check_not_forked()?;
        let notifier = self.pool.notifier();
        let notes = self.notes.clone();
        let layout = self.source.columns().layout.clone();
        let planner = StreamPlanner::new(
            &self.stream,
            epoch,
            layout.rows(),
            notifier.clone(),
            notes,
            self.budget,
        )?;
        let context = QueueContext {
            counters: self.counters.clone(),
            notifier,
            batch_pool: self.batch_pool.clone(),
            object_mixers: self.object_mixers.clone(),
            mixer: self.mixer.clone(),
        };
        let limits = self.budget.queue_limits(layout, None);
        Ok(BatchQueue::new(self.source.clone(), planner, context, limits))
    }
}

/// Batches of tars without an index.
///
/// ```
/// use tarflume::{Loader, Shuffle, Stream};
///
/// # fn main() -> tarflume::Result<()> {
/// # let dir = tempfile::tempdir().unwrap();
/// # let mut shard = tarflume_formats::ShardWriter::create(dir.path(), "0.tar")?;
/// # for n in 0..8u8 {
/// #     shard.begin(&[b'a' + n]);
/// #     shard.part(b"json", 2)?.copy_from_slice(b"{}");
/// #     shard.commit(None)?;
/// # }
/// # let durability = tarflume_formats::Durability::Cached;
/// # shard.finish()?.publish(dir.path(), "0.tar", durability)?;
/// # let shards = dir.path();
/// # let shards = shards.display();
/// let stream = Stream::open(format!("{shards}/*.tar"))?
///     .shuffle(Shuffle::Buffer { size: 1000, seed: 42 });
/// let loader = Loader::stream(stream).bytes("json").batch(4).build()?;
/// for batch in loader.epoch(0) {
///     println!("{} samples", batch?.len());
/// }
/// # Ok(())
/// # }
/// ```
///
/// Columns, policies and threads are those of [`Loader`](crate::Loader). The differences:
///
/// - The ordinal of a sample is the position of its shard in the stream's list times 2^40, plus its row in the shard.
/// - Its random numbers are a function of (seed, epoch, shard, row).
/// - Byte offsets in errors refer to the decompressed tar.
/// - The last batch of an epoch holds the remaining samples of the rank.
/// - A shard that cannot be read to its end ends the epoch with an error under every policy, in place of the batch with
///   the next sample.
/// - What needs an index does not exist: state and resume, number of steps, ledger, equal steps, access by ordinal.
///   [`Stream::refuse`] gives the error that explains why and how to make an index.
pub struct StreamLoader {
    pub(crate) shared: Arc<StreamShared>,
}

impl StreamLoader {
    /// The batches of epoch number `epoch` for this rank. An epoch that cannot start yields one error.
    pub fn epoch(&self, epoch: u64) -> StreamEpoch {
        let shared = self.shared.clone();
        let pool = shared.pool.clone();
        let counters = shared.counters.clone();
        let receiver = BatchReceiver::begin(pool, counters, shared.begin(epoch));
        StreamEpoch { shared, receiver, epoch, taken: 0, all_bad: true, over: false }
    }

    /// The epoch that an iteration over `&loader` delivers: 0 at first, and the next one after an epoch was taken to its
    /// end without an error.
    pub fn current_epoch(&self) -> u64 {
        self.shared.next_epoch.load(Ordering::Acquire)
    }

    /// What was drawn for the rows of a batch of this loader; see
    /// [`LoaderBuilder::keep_transforms`](crate::LoaderBuilder::keep_transforms).
    ///
    /// # Errors
    /// Returns an error if the loader does not keep it.
    pub fn transforms(&self, batch: &Batch) -> Result<Vec<ColumnTransforms>> {
        drawn(batch, self.shared.source.writer.columns.decoders())
    }

    /// The time of each stage, and the bottleneck. Stage `read` is the one reading thread, including its waits for a pipe;
    /// its items are samples.
    pub fn stats(&self) -> Stats {
        self.shared.stats()
    }

    /// All samples that were bad so far.
    pub fn bad_samples(&self) -> Vec<BadSample> {
        self.shared.bad.all()
    }

    /// Remarks about the epochs that are not errors, one sentence each.
    pub fn notes(&self) -> Vec<String> {
        self.shared.notes.all()
    }

    /// The stream.
    pub fn stream(&self) -> &Stream {
        &self.shared.stream
    }
}

/// The batches of the epoch that [`StreamLoader::current_epoch`] names.
///
/// ```
/// # use tarflume::*;
/// # fn main() -> tarflume::Result<()> {
/// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
/// # let shards = made.path();
/// # let shards = shards.display();
/// let stream = Stream::open(format!("{shards}/*.tar"))?;
/// let loader = Loader::stream(stream).bytes("txt").batch(4).build()?;
/// for batch in &loader {
///     assert_eq!(batch?.len(), 4);
/// }
/// assert_eq!(loader.current_epoch(), 1);
/// # Ok(())
/// # }
/// ```
impl IntoIterator for &StreamLoader {
    type Item = Result<Batch>;
    type IntoIter = StreamEpoch;

    fn into_iter(self) -> StreamEpoch {
        self.epoch(self.current_epoch())
    }
}

impl fmt::Debug for StreamLoader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StreamLoader({:?})", self.shared.stream)
    }
}

/// The batches of one epoch of a stream. Dropping it cancels the epoch and stops reading.
///
/// ```
/// use tarflume::{Loader, Stream};
///
/// # fn main() -> tarflume::Result<()> {
/// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
/// # let shards = made.path();
/// # let shards = shards.display();
/// let loader = Loader::stream(Stream::open(format!("{shards}/*.tar"))?).bytes("txt").batch(4).build()?;
/// assert_eq!(loader.epoch(0).count(), 4);
/// # Ok(())
/// # }
/// ```
pub struct StreamEpoch {
    shared: Arc<StreamShared>,
    receiver: BatchReceiver<StreamSource>,
    epoch: u64,
    taken: u64,
    /// True until a row is good.
    all_bad: bool,
    over: bool,
}

impl StreamEpoch {
    /// Its number.
    pub fn number(&self) -> u64 {
        self.epoch
    }

    /// Batches that were taken.
    pub fn taken(&self) -> u64 {
        self.taken
    }

    /// Waits at most `most` until `next` would not wait: a batch, the end or an error is ready. Returns whether it is. For
    /// callers that must also handle other events, such as signals.
    pub fn ready(&mut self, most: Duration) -> bool {
        self.over || self.receiver.ready(most)
    }

    /// Adds the time that the caller spent on transforming the last batch; see
    /// [`crate::loader::Epoch::charge`].
    pub fn charge(&self, busy: Duration) {
        self.receiver.charge(busy);
    }

    /// Counts a batch and its bad samples as delivered. Bad samples are counted here and not where they are found, so that
    /// the one that exceeds the limit does not depend on threads.
    fn took(&mut self, mut content: Box<Content>) -> Result<Batch> {
        for (row, why) in content.bad.drain(..) {
            self.shared.bad.add(FoundBad::new(&why, content.facts[row].planned, None))?;
        }
        self.all_bad &= content.slab.rows() == 0;
        self.taken += 1;
        let names = self.shared.source.columns().names.clone();
        Ok(Batch::new(content, names, self.shared.batch_pool.clone()))
    }
}

impl Iterator for StreamEpoch {
    type Item = Result<Batch>;

    /// Waits for the next batch. After an error the epoch is over. An epoch without a good sample ends with an error.
    fn next(&mut self) -> Option<Result<Batch>> {
        if self.over {
            return None;
        }
        let next = match self.receiver.next() {
            Some(content) => Some(content.and_then(|content| self.took(content))),
            None if self.all_bad && self.taken > 0 => Some(Err(self.shared.bad.all_bad())),
            None => None,
        };
        self.over = !matches!(next, Some(Ok(_)));
        if self.over {
            self.receiver.end();
        }
        if next.is_none() {
            self.shared.next_epoch.store(self.epoch.saturating_add(1), Ordering::Release);
        }
        next
    }
}

impl FusedIterator for StreamEpoch {}

impl fmt::Debug for StreamEpoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StreamEpoch({}, {} batches taken)", self.epoch, self.taken)
    }
}
