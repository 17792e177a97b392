//! `StreamLoader`: batches of a stream, epoch after epoch, and the refusal of what needs an index.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::batch::{Batch, BatchPool, Content};
use crate::error::Result;
use crate::loader::bad_samples::{BadList, BadSample};
use crate::loader::metrics::counters::Counters;
use crate::loader::metrics::stats::Stats;
use crate::loader::pipeline::memory_budget::MemoryBudget;
use crate::loader::pipeline::queue::{BatchQueue, QueueLimits};
use crate::loader::pipeline::receiver::BatchReceiver;
use crate::loader::streaming::planner::{Notes, StreamPlanner};
use crate::loader::streaming::worker::StreamWorker;
use crate::order::{Ledger, LoaderState, Order};
use crate::pool::Pool;
use crate::stream::{Refusal, Stream};

/// What a loader and its epochs share.
pub(crate) struct StreamInner {
    pub(crate) stream: Stream,
    pub(crate) labour: Arc<StreamWorker>,
    pub(crate) shares: MemoryBudget,
    /// What the memory bound costs.
    pub(crate) warning: Option<String>,
    pub(crate) pool: Arc<Pool>,
    pub(crate) meter: Arc<Counters>,
    pub(crate) shelf: Arc<BatchPool>,
    pub(crate) bad: BadList,
    pub(crate) notes: Arc<Notes>,
}

impl StreamInner {
    fn begin(&self, epoch: u64) -> Result<BatchQueue> {
        self.pool.process().expect()?;
        let with = (self.pool.bell(), self.notes.clone());
        let feed =
            StreamPlanner::new((&self.stream, epoch), self.labour.clone(), with, self.shares)?;
        let layout = self.labour.recipe.layout.clone();
        let MemoryBudget { depth, variable, .. } = self.shares;
        let room = QueueLimits { layout, memory: None, depth, variable };
        let with = (self.meter.clone(), self.pool.bell(), self.shelf.clone());
        Ok(BatchQueue::new(Box::new(feed), self.labour.clone(), with, room))
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
/// # let durability = tarflume_formats::shard::Durability::Cached;
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
/// Columns, policies and threads are those of [`crate::loader::Loader`]. What is different: a sample's ordinal
/// is its shard's place in the stream's list times 2^40 plus its row there, and its random numbers are
/// of (seed, epoch, shard, row); bytes in errors are counted in the unpacked tar. The last batch of an
/// epoch holds what is left, on each rank. A shard that can't be read on ends the epoch with an error
/// whatever the policy, in the place of the batch that would have held the next sample.
pub struct StreamLoader {
    pub(crate) inner: Arc<StreamInner>,
}

impl StreamLoader {
    /// The batches of epoch number `epoch` for this rank. An epoch that can't be begun gives its error
    /// as its only batch.
    pub fn epoch(&self, epoch: u64) -> StreamEpoch {
        let inner = self.inner.clone();
        let line =
            BatchReceiver::begin(inner.pool.clone(), inner.meter.clone(), inner.begin(epoch));
        StreamEpoch { inner, line, epoch, taken: 0, all_bad: true, over: false }
    }

    /// Where the time goes, and what limits the rate of batches. `read` is the one thread that reads, also
    /// while it waits for a pipe; its items are samples.
    pub fn stats(&self) -> Stats {
        Stats { warning: self.inner.warning.clone(), ..self.inner.meter.stats() }
    }

    /// All samples that were bad so far.
    pub fn bad_samples(&self) -> Vec<BadSample> {
        self.inner.bad.all()
    }

    /// What one should know of its epochs and is no error, a sentence each.
    pub fn notes(&self) -> Vec<String> {
        self.inner.notes.all()
    }

    /// The stream.
    pub fn stream(&self) -> &Stream {
        &self.inner.stream
    }

    /// Refused: where the job is can't be said so that it goes on at the next sample.
    ///
    /// # Errors
    /// Always: [`Refusal::Resume`].
    pub fn state(&self) -> Result<LoaderState> {
        Err(self.inner.stream.refuse(Refusal::Resume))
    }

    /// Refused: how many batches an epoch has is known only at its end.
    ///
    /// # Errors
    /// Always: [`Refusal::Length`].
    pub fn steps(&self) -> Result<u64> {
        Err(self.inner.stream.refuse(Refusal::Length))
    }

    /// Refused: there is no proof of which samples were seen.
    ///
    /// # Errors
    /// Always: [`Refusal::Ledger`].
    pub fn ledger(&self) -> Result<Ledger> {
        Err(self.inner.stream.refuse(Refusal::Ledger))
    }

    /// Refused, as [`StreamLoader::ledger`].
    ///
    /// # Errors
    /// Always: [`Refusal::Ledger`].
    pub fn expected(&self, _epoch: u64) -> Result<Ledger> {
        Err(self.inner.stream.refuse(Refusal::Ledger))
    }

    /// Refused: no sample can be had by its place.
    ///
    /// # Errors
    /// Always: [`Refusal::RandomAccess`].
    pub fn order(&self) -> Result<&Order> {
        Err(self.inner.stream.refuse(Refusal::RandomAccess))
    }
}

impl fmt::Debug for StreamLoader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StreamLoader({:?})", self.inner.stream)
    }
}

/// The batches of one epoch of a stream. Dropping it ends the work for it, and the reading.
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
    inner: Arc<StreamInner>,
    line: BatchReceiver,
    epoch: u64,
    taken: u64,
    /// True if no row was good yet.
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

    /// Whether the next batch, the end or an error is there, so that `next` would not wait; waits for
    /// that, but no longer than `most`. For callers that must look at something else now and then.
    pub fn ready(&mut self, most: Duration) -> bool {
        self.over || self.line.ready(most)
    }

    /// Counts what the caller spent to make something else of the last batch; see
    /// [`crate::loader::Epoch::charge`].
    pub fn charge(&self, busy: Duration) {
        self.line.charge(busy);
    }

    /// Counts a batch as handed out, and its bad samples, here and not where they are found: which
    /// one is too many does not depend on threads.
    fn took(&mut self, mut content: Box<Content>) -> Result<Batch> {
        for (row, why) in content.bad.drain(..) {
            self.inner.bad.add(BadSample::new(&why, content.facts[row].planned, None))?;
        }
        self.all_bad &= content.slab.rows() == 0;
        self.taken += 1;
        let names = self.inner.labour.recipe.names.clone();
        Ok(Batch::new(content, names, self.inner.shelf.clone()))
    }
}

impl Iterator for StreamEpoch {
    type Item = Result<Batch>;

    /// Waits for the next batch. After an error the epoch is over. One in which no sample was good
    /// ends in an error that says so.
    fn next(&mut self) -> Option<Result<Batch>> {
        if self.over {
            return None;
        }
        let next = match self.line.next() {
            Some(content) => Some(content.and_then(|content| self.took(content))),
            None if self.all_bad && self.taken > 0 => Some(Err(self.inner.bad.all_bad())),
            None => None,
        };
        self.over = !matches!(next, Some(Ok(_)));
        if self.over {
            self.line.end();
        }
        next
    }
}

impl fmt::Debug for StreamEpoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StreamEpoch({}, {} batches taken)", self.epoch, self.taken)
    }
}
