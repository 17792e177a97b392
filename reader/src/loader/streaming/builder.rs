//! `StreamLoaderBuilder`: the options of a stream loader, checked before anything is read.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use tarflume_dataset::{Refusal, Stream};
use tarflume_device::batch::BatchPool;
use tarflume_formats::message;
use tarflume_formats::message::Phrase;
use tarflume_types::{Error, Result};

use crate::loader::bad_samples::{BadList, OnBad};
use crate::loader::config::builder::LoaderBuilder;
use crate::loader::config::options::CommonOptions;
use crate::loader::metrics::stats::Setting;
use crate::loader::metrics::stats_file::StatsFile;
use crate::loader::metrics::warning::Warning;
use crate::loader::pipeline::columns::ColumnSet;
use crate::loader::pipeline::memory_budget::{
    MemoryBudget, SPARE_SLABS, default_beside_stream, fewer_batches,
};
use crate::loader::streaming::loader::{StreamLoader, StreamShared};
use crate::loader::streaming::source::StreamSource;
use crate::pool::ThreadPool;

/// The options of a [`StreamLoader`]; made by [`Loader::stream`](crate::Loader::stream). Shuffle and ranks are options of
/// the [`Stream`]. Options that need an index, such as `resume`, do not exist here: see [`Refusal`].
///
/// ```
/// use tarflume::{Loader, Size, Stream};
///
/// # fn main() -> tarflume::Result<()> {
/// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
/// # let shards = made.path();
/// # let shards = shards.display();
/// let stream = Stream::open(format!("{shards}/*.tar"))?;
/// let loader = Loader::stream(stream)
///     .text("txt")
///     .label("json", "/class")
///     .batch(4)
///     .threads(2)
///     .prefetch(2)
///     .bad_budget(0)
///     .memory_limit(Size::new(1 << 30))
///     .build()?;
/// assert_eq!(loader.epoch(0).next().unwrap()?.len(), 4);
/// # Ok(())
/// # }
/// ```
pub type StreamLoaderBuilder = LoaderBuilder<Streamed>;

/// The options of a loader over a stream.
#[doc(hidden)]
#[derive(Debug, Clone)]
pub struct Streamed {
    stream: Stream,
    batch: u64,
}

impl LoaderBuilder<Streamed> {
    pub(crate) fn of_stream(stream: Stream) -> StreamLoaderBuilder {
        LoaderBuilder { of: Streamed { stream, batch: 1 }, common: CommonOptions::default() }
    }

    /// Rows of a batch on each rank. The last batch of an epoch holds the remaining samples.
    ///
    /// ```
    /// # use tarflume::*;
    /// # fn main() -> tarflume::Result<()> {
    /// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
    /// # let shards = made.path();
    /// # let stream = Stream::open(format!("{}/*.tar", shards.display()))?;
    /// let loader = Loader::stream(stream).bytes("txt").batch(5).build()?;
    /// assert_eq!(loader.epoch(0).last().unwrap()?.len(), 1); // 5, 5, 5 and 1 rows
    /// # Ok(())
    /// # }
    /// ```
    pub fn batch(mut self, rows: u64) -> Self {
        self.of.batch = rows;
        self
    }

    /// Checks the options and makes the loader. Reads nothing.
    ///
    /// # Errors
    /// Returns an error if an option needs an index ([`OnBad::Substitute`], a full or block shuffle), if there is no
    /// column, if a batch does not fit the memory limit, or if the shards cannot be split among the ranks.
    pub fn build(mut self) -> Result<StreamLoader> {
        self.check()?;
        self.common.add_made_columns()?;
        let rows = usize::try_from(self.of.batch).unwrap_or(usize::MAX);
        let LoaderBuilder { of: Streamed { stream, .. }, common } = &mut self;
        let mut columns = ColumnSet::new(std::mem::take(&mut common.columns), rows)?;
        let object_mixers = common.object_mixers(&mut columns)?;
        let columns = Arc::new(columns);
        let threads = common.threads()?;
        let prefetch = common.prefetch()?;
        let fixed = common.batch_bytes(&columns, &object_mixers);
        let of_stream = stream.memory_set();
        let default = default_beside_stream(fixed, prefetch, threads, of_stream);
        let memory = common.memory_or(default);
        let (bytes, budget) =
            MemoryBudget::beside_stream(memory, of_stream, fixed, prefetch, threads)?;
        let stream = self.of.stream.memory(bytes);
        stream.check()?;
        let setting = Setting {
            stream: true,
            copies: columns.copies(),
            mapped: false,
            requested: prefetch.max(1),
            depth: budget.depth,
        };
        let object_mixers = Arc::new(object_mixers.seeded(stream.seed()));
        let mixer = self.common.mixer(stream.seed(), &columns)?;
        let writer = self.common.writer(columns, threads, &budget, setting);
        let shared = StreamShared {
            budget,
            warning: Warning::of(fewer_batches(prefetch, &budget, fixed)),
            pool: ThreadPool::of_process(threads)?,
            counters: writer.counters.clone(),
            batch_pool: Arc::new(BatchPool::new(SPARE_SLABS as usize)),
            object_mixers,
            mixer,
            bad: BadList::new(self.common.bad_budget),
            notes: Arc::default(),
            next_epoch: AtomicU64::new(0),
            stats_file: StatsFile::of_process(),
            source: Arc::new(StreamSource { writer, seed: stream.seed() }),
            stream,
        };
        let shared = Arc::new(shared);
        if let Some(file) = &shared.stats_file {
            file.start(Arc::downgrade(&shared));
        }
        Ok(StreamLoader { shared })
    }

    /// Checks the options that need no look at the stream.
    fn check(&self) -> Result<()> {
        let substitute = (self.common.on_bad == OnBad::Substitute).then_some(Refusal::Substitute);
        if let Some(refusal) = substitute {
            return Err(self.of.stream.refuse(refusal));
        }
        if self.of.batch == 0 {
            return Err(Error::usage("a batch has at least one row"));
        }
        if self.common.columns.is_empty() {
            let text = message!(
                "a stream does not say beforehand which parts its samples have: name the columns, as with {bytes}";
                bytes = Phrase::BytesColumn
            );
            return Err(Error::usage(text));
        }
        Ok(())
    }
}
