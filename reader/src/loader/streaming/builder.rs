//! `StreamLoaderBuilder`: what the user wants of a stream, checked before anything is read.

use std::sync::{Arc, Mutex};

use crate::batch::BatchPool;
use crate::decode::Decode;
use crate::decode::image::Image;
use crate::decode::json::Json;
use crate::decode::raw::Raw;
use crate::decode::text::Text;
use crate::error::{Error, Result};
use crate::loader::bad_samples::{BadList, OnBad};
use crate::loader::config::build::threads;
use crate::loader::config::builder::{BAD_BUDGET, PREFETCH};
use crate::loader::metrics::counters::Counters;
use crate::loader::metrics::stats::Setting;
use crate::loader::pipeline::columns::ColumnSet;
use crate::loader::pipeline::memory_budget::{
    MemoryBudget, MemoryShare, SPARE_SLABS, default_beside_stream, fewer_batches,
};
use crate::loader::streaming::loader::{StreamInner, StreamLoader};
use crate::loader::streaming::worker::StreamWorker;
use crate::order::{LoaderState, Remainder, Split};
use crate::picture::geometry::Transform;
use crate::pool::Pool;
use crate::size::Size;
use crate::stream::{Refusal, Stream};

/// What a loader of a stream is to do; see [`crate::loader::Loader::stream`]. Shuffle and ranks are said to
/// the stream.
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
#[must_use]
pub struct StreamLoaderBuilder {
    stream: Stream,
    columns: Vec<(String, Arc<dyn Decode>)>,
    batch: u64,
    on_bad: OnBad,
    bad_budget: u64,
    memory: Option<Size>,
    threads: Option<usize>,
    prefetch: usize,
    /// What was asked for first that a stream can't do.
    refused: Option<Refusal>,
}

impl StreamLoaderBuilder {
    pub(crate) fn new(stream: Stream) -> StreamLoaderBuilder {
        StreamLoaderBuilder {
            stream,
            columns: Vec::new(),
            batch: 1,
            on_bad: OnBad::default(),
            bad_budget: BAD_BUDGET,
            memory: None,
            threads: None,
            prefetch: PREFETCH,
            refused: None,
        }
    }

    /// Rows of a batch on each rank. The last batch of an epoch holds what is left.
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

    /// Column `ext`: the part's bytes as they are.
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
        self.columns.push((name.to_string(), Arc::new(decode)));
        self
    }

    /// What is done about bad samples; by default they are errors. `Substitute` is refused, for it
    /// needs an index.
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
        self.on_bad = on_bad;
        self
    }

    /// How many bad samples are put up with; 1,000 by default.
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
        self.bad_budget = samples;
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
        self.memory = Some(limit);
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
        self.threads = Some(threads);
        self
    }

    /// Batches in preparation at once; 4 by default, fewer if memory has no room.
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
        self.prefetch = batches;
        self
    }

    /// Refused by [`StreamLoaderBuilder::build`]: [`Refusal::Resume`].
    pub fn resume(self, _: LoaderState) -> Self {
        self.refuse(Refusal::Resume)
    }

    /// Refused by [`StreamLoaderBuilder::build`], for splitting by position is
    /// [`Refusal::SplitByPosition`]: shards are dealt to ranks with [`Stream::split`].
    pub fn split(self, _: Split) -> Self {
        self.refuse(Refusal::SplitByPosition)
    }

    /// All but `Uneven` are refused by [`StreamLoaderBuilder::build`]: [`Refusal::EqualSteps`].
    pub fn remainder(self, remainder: Remainder) -> Self {
        match remainder {
            Remainder::Uneven => self,
            _ => self.refuse(Refusal::EqualSteps),
        }
    }

    fn refuse(mut self, what: Refusal) -> Self {
        self.refused.get_or_insert(what);
        self
    }

    /// The loader.
    ///
    /// # Errors
    /// What can't be met is said here, before anything is read: what needs an index, no column, a
    /// batch larger than memory, an impossible split.
    pub fn build(self) -> Result<StreamLoader> {
        let substitute = (self.on_bad == OnBad::Substitute).then_some(Refusal::Substitute);
        if let Some(what) = self.refused.or(substitute) {
            return Err(self.stream.refuse(what));
        }
        if self.batch == 0 {
            return Err(Error::usage("a batch has at least one row"));
        }
        if self.columns.is_empty() {
            let text = "a stream does not say beforehand which parts its samples have: name the \
                        columns, as with .bytes(\"jpg\")";
            return Err(Error::usage(text));
        }
        let rows = usize::try_from(self.batch).unwrap_or(usize::MAX);
        let recipe = Arc::new(ColumnSet::new(self.columns, rows)?);
        let threads = threads(self.threads)?;
        let fixed = recipe.batch_bytes();
        let said = self.stream.memory_said();
        let default = default_beside_stream(fixed, self.prefetch, threads, said);
        let memory = self.memory.map_or(default, Size::bytes);
        let (bytes, shares) =
            MemoryBudget::beside_stream((memory, said), fixed, self.prefetch, threads)?;
        let warning = fewer_batches(self.prefetch, &shares, fixed);
        let stream = self.stream.memory(bytes);
        stream.check()?;
        let setting = Setting {
            stream: true,
            copies: recipe.copies(),
            mapped: false,
            asked: self.prefetch.max(1),
            depth: shares.depth,
        };
        let meter = Arc::new(Counters::of(threads, setting));
        let decode_waits = meter.waits[0].clone();
        let labour = StreamWorker {
            recipe,
            on_bad: self.on_bad,
            seed: stream.seed(),
            meter: meter.clone(),
            threads,
            decode: Arc::new(MemoryShare::new("decoding", shares.decode, decode_waits)),
            hands: Mutex::default(),
        };
        let inner = StreamInner {
            stream,
            labour: Arc::new(labour),
            shares,
            warning,
            pool: Pool::of_process(threads)?,
            meter,
            shelf: Arc::new(BatchPool::new(SPARE_SLABS as usize)),
            bad: BadList::new(self.bad_budget),
            notes: Arc::default(),
        };
        Ok(StreamLoader { inner: Arc::new(inner) })
    }
}
