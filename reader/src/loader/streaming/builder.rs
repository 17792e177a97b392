//! `StreamLoaderBuilder`: the options of a stream loader, checked before anything is read.

use std::sync::Arc;

use crate::batch::BatchPool;
use crate::decode::Decode;
use crate::decode::image::Image;
use crate::decode::json::Json;
use crate::decode::raw::Raw;
use crate::decode::text::Text;
use crate::error::{Error, Result};
use crate::loader::bad_samples::{BadList, OnBad};
use crate::loader::config::options::CommonOptions;
use crate::loader::metrics::stats::Setting;
use crate::loader::pipeline::columns::ColumnSet;
use crate::loader::pipeline::memory_budget::{
    MemoryBudget, SPARE_SLABS, default_beside_stream, fewer_batches,
};
use crate::loader::streaming::loader::{StreamLoader, StreamShared};
use crate::loader::streaming::source::StreamSource;
use crate::picture::geometry::Transform;
use crate::pool::ThreadPool;
use crate::size::Size;
use crate::stream::{Refusal, Stream};

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
#[derive(Debug, Clone)]
#[must_use]
pub struct StreamLoaderBuilder {
    stream: Stream,
    batch: u64,
    common: CommonOptions,
}

impl StreamLoaderBuilder {
    pub(crate) fn new(stream: Stream) -> StreamLoaderBuilder {
        let common = CommonOptions::default();
        StreamLoaderBuilder { stream, batch: 1, common }
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
        self.batch = rows;
        self
    }

    /// Column `image`, as [`crate::loader::LoaderBuilder::image`].
    ///
    /// ```
    /// # use tarflume::*;
    /// # fn main() -> tarflume::Result<()> {
    /// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
    /// # let shards = made.path();
    /// # let stream = Stream::open(format!("{}/*.tar", shards.display()))?;
    /// let loader = Loader::stream(stream).image("jpg", RandomResizedCrop::new(64)).batch(4).build()?;
    /// let batch = loader.epoch(0).next().unwrap()?;
    /// assert_eq!(batch.column("image")?.shape(), [4, 64, 64, 3]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn image(self, ext: &str, transform: impl Transform) -> Self {
        self.column("image", Image::new(ext, transform))
    }

    /// Column `label`, as [`crate::loader::LoaderBuilder::label`].
    ///
    /// ```
    /// # use tarflume::*;
    /// # fn main() -> tarflume::Result<()> {
    /// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
    /// # let shards = made.path();
    /// # let stream = Stream::open(format!("{}/*.tar", shards.display()))?;
    /// let loader = Loader::stream(stream).label("json", "/class").build()?;
    /// assert_eq!(loader.epoch(0).next().unwrap()?.column("label")?.elements::<i64>()?, [0]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn label(self, ext: &str, pointer: &str) -> Self {
        self.column("label", Json::new(ext, pointer))
    }

    /// Column `ext`: the part's bytes.
    ///
    /// ```
    /// # use tarflume::*;
    /// # fn main() -> tarflume::Result<()> {
    /// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
    /// # let shards = made.path();
    /// # let stream = Stream::open(format!("{}/*.tar", shards.display()))?;
    /// let loader = Loader::stream(stream).bytes("txt").build()?;
    /// assert_eq!(loader.epoch(0).next().unwrap()?.column("txt")?.row(0), b"photo 0");
    /// # Ok(())
    /// # }
    /// ```
    pub fn bytes(self, ext: &str) -> Self {
        self.column(ext, Raw::new(ext))
    }

    /// Column `ext`: the part as UTF-8 text.
    ///
    /// ```
    /// # use tarflume::*;
    /// # fn main() -> tarflume::Result<()> {
    /// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
    /// # let shards = made.path();
    /// # let stream = Stream::open(format!("{}/*.tar", shards.display()))?;
    /// let loader = Loader::stream(stream).text("txt").build()?;
    /// assert_eq!(loader.epoch(0).next().unwrap()?.column("txt")?.row(0), b"photo 0");
    /// # Ok(())
    /// # }
    /// ```
    pub fn text(self, ext: &str) -> Self {
        self.column(ext, Text::new(ext))
    }

    /// A column `name` whose rows `decode` writes.
    ///
    /// ```
    /// # use tarflume::*;
    /// # fn main() -> tarflume::Result<()> {
    /// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
    /// # let shards = made.path();
    /// # let stream = Stream::open(format!("{}/*.tar", shards.display()))?;
    /// let loader = Loader::stream(stream).column("caption", Json::new("json", "/caption").text()).build()?;
    /// assert_eq!(loader.epoch(0).next().unwrap()?.column("caption")?.row(0), b"photo 0");
    /// # Ok(())
    /// # }
    /// ```
    pub fn column(mut self, name: &str, decode: impl Decode) -> Self {
        self.common.add_column(name, decode);
        self
    }

    /// The policy for bad samples; by default they are errors. [`OnBad::Substitute`] needs an index and is an error.
    ///
    /// ```
    /// # use tarflume::*;
    /// # fn main() -> tarflume::Result<()> {
    /// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
    /// # let shards = made.path();
    /// # let stream = Stream::open(format!("{}/*.tar", shards.display()))?;
    /// let loader = Loader::stream(stream).bytes("txt").on_bad(OnBad::Skip).build()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn on_bad(mut self, on_bad: OnBad) -> Self {
        self.common.on_bad = on_bad;
        self
    }

    /// Maximum number of bad samples; 1,000 by default.
    ///
    /// ```
    /// # use tarflume::*;
    /// # fn main() -> tarflume::Result<()> {
    /// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
    /// # let shards = made.path();
    /// # let stream = Stream::open(format!("{}/*.tar", shards.display()))?;
    /// let loader = Loader::stream(stream).bytes("txt").on_bad(OnBad::Skip).bad_budget(10).build()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn bad_budget(mut self, samples: u64) -> Self {
        self.common.bad_budget = samples;
        self
    }

    /// The most memory for the stream and the batches in preparation together, as `"2GiB"`. The default
    /// is 2 GiB, and more where it is needed: 48 MiB a thread and twice `prefetch + 2` batches, and as
    /// much again for the stream. The stream has what [`Stream::memory_limit`] allows it, or half; samples of a batch in
    /// preparation stay in the stream's memory until the batch is done. What the consumer holds on to
    /// comes on top.
    ///
    /// ```
    /// # use tarflume::*;
    /// # fn main() -> tarflume::Result<()> {
    /// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
    /// # let shards = made.path();
    /// # let stream = Stream::open(format!("{}/*.tar", shards.display()))?;
    /// let loader = Loader::stream(stream).bytes("txt").memory_limit("1GiB".parse()?).build()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn memory_limit(mut self, limit: Size) -> Self {
        self.common.set_memory(limit);
        self
    }

    /// Threads that decode for this loader at once; by default one a core. One more reads.
    ///
    /// ```
    /// # use tarflume::*;
    /// # fn main() -> tarflume::Result<()> {
    /// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
    /// # let shards = made.path();
    /// # let stream = Stream::open(format!("{}/*.tar", shards.display()))?;
    /// let loader = Loader::stream(stream).bytes("txt").threads(2).build()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn threads(mut self, threads: usize) -> Self {
        self.common.set_threads(threads);
        self
    }

    /// Batches in preparation at once; 4 by default, fewer if memory has no room. 0 counts as 1; more than 65,536 are an
    /// error of `build`.
    ///
    /// ```
    /// # use tarflume::*;
    /// # fn main() -> tarflume::Result<()> {
    /// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
    /// # let shards = made.path();
    /// # let stream = Stream::open(format!("{}/*.tar", shards.display()))?;
    /// let loader = Loader::stream(stream).bytes("txt").prefetch(8).build()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn prefetch(mut self, batches: usize) -> Self {
        self.common.set_prefetch(batches);
        self
    }

    /// Checks the options and makes the loader. Reads nothing.
    ///
    /// # Errors
    /// Returns an error if an option needs an index ([`OnBad::Substitute`], a full or block shuffle), if there is no
    /// column, if a batch does not fit the memory limit, or if the shards cannot be split among the ranks.
    pub fn build(mut self) -> Result<StreamLoader> {
        self.check()?;
        let rows = usize::try_from(self.batch).unwrap_or(usize::MAX);
        let StreamLoaderBuilder { stream, common, .. } = &mut self;
        let columns = Arc::new(ColumnSet::new(std::mem::take(&mut common.columns), rows)?);
        let (threads, prefetch) = (common.threads()?, common.prefetch()?);
        let (fixed, of_stream) = (columns.batch_bytes(), stream.memory_set());
        let default = default_beside_stream(fixed, prefetch, threads, of_stream);
        let memory = (common.memory_or(default), of_stream);
        let (bytes, budget) = MemoryBudget::beside_stream(memory, fixed, prefetch, threads)?;
        let stream = self.stream.memory(bytes);
        stream.check()?;
        let setting = Setting {
            stream: true,
            copies: columns.copies(),
            mapped: false,
            requested: prefetch.max(1),
            depth: budget.depth,
        };
        let writer = self.common.writer(columns, threads, &budget, setting);
        let shared = StreamShared {
            budget,
            warning: fewer_batches(prefetch, &budget, fixed),
            pool: ThreadPool::of_process(threads)?,
            counters: writer.counters.clone(),
            batch_pool: Arc::new(BatchPool::new(SPARE_SLABS as usize)),
            bad: BadList::new(self.common.bad_budget),
            notes: Arc::default(),
            source: Arc::new(StreamSource { writer, seed: stream.seed() }),
            stream,
        };
        Ok(StreamLoader { shared: Arc::new(shared) })
    }

    /// Checks the options that need no look at the stream.
    fn check(&self) -> Result<()> {
        let substitute = (self.common.on_bad == OnBad::Substitute).then_some(Refusal::Substitute);
        if let Some(refusal) = substitute {
            return Err(self.stream.refuse(refusal));
        }
        if self.batch == 0 {
            return Err(Error::usage("a batch has at least one row"));
        }
        if self.common.columns.is_empty() {
            let text = "a stream does not say beforehand which parts its samples have: name the \
                        columns, as with .bytes(\"jpg\")";
            return Err(Error::usage(text));
        }
        Ok(())
    }
}
