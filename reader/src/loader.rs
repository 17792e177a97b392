//! `Loader`: batches of a data set, in an order that is pure arithmetic, prepared by all cores.
//!
//! The files here: what host loaders, device loaders and their epochs share. The folders, lower ones first: `metrics`,
//! `pipeline`, `indexed`, `arrays`, `gpu`, `config`, `streaming`.

mod arrays;
mod bad_samples;
mod config;
mod epoch;
mod forecast;
mod gpu;
mod indexed;
mod metrics;
mod pipeline;
mod progress;
mod shared;
mod streaming;

use std::fmt;
use std::path::Path;
use std::sync::Arc;

pub use crate::loader::bad_samples::{BadSample, OnBad};
pub use crate::loader::config::builder::{Indexed, LoaderBuilder};
pub use crate::loader::config::device_builder::DeviceLoaderBuilder;
pub use crate::loader::config::groups::bucketing::Bucketing;
pub use crate::loader::config::groups::packing::{Packing, TooLong};
pub use crate::loader::config::weights::{Numbers, Weights};
pub use crate::loader::forecast::{Forecast, ForecastOptions};
pub use crate::loader::gpu::columns::resident_config::{Residency, ResidentSize};
pub use crate::loader::gpu::epoch::{DeviceEpoch, end_device_epochs};
pub use crate::loader::gpu::loader::DeviceLoader;
pub use crate::loader::indexed::source::sample_seed;
pub use crate::loader::metrics::bottleneck::Bottleneck;
pub use crate::loader::metrics::device_memory::DeviceMemoryStats;
pub use crate::loader::metrics::idle::{IdleStats, SampledTime};
pub use crate::loader::metrics::pack_stats::PackStats;
pub use crate::loader::metrics::stats::{DecoderStats, RingStats, StageStats, Stats};
pub use crate::loader::metrics::waits::BatchWait;
pub use crate::loader::metrics::warning::Warning;
pub use crate::loader::pipeline::draws::{ColumnTransforms, RowTransforms, drawn_for};
pub use crate::loader::streaming::builder::{StreamLoaderBuilder, Streamed};
pub use crate::loader::streaming::loader::{StreamEpoch, StreamLoader};
pub use epoch::Epoch;
use tarflume_dataset::{ArrayDataset, Dataset, Shards, Stream};
use tarflume_device::batch::Batch;
use tarflume_formats::message::Face;
use tarflume_types::Result;

use crate::loader::forecast::Forecaster;
use crate::loader::pipeline::draws::drawn;
use crate::loader::shared::LoaderShared;
use crate::order::{Ledger, LoaderState, Order, PackTotals};

/// Batches of a data set, epoch after epoch.
///
/// ```
/// use tarflume::{Loader, Shuffle};
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
/// let loader = Loader::builder(shards)
///     .shuffle(Shuffle::Full { seed: 42 })
///     .bytes("json")
///     .batch(4)
///     .build()?;
/// for batch in loader.epoch(0) {
///     let batch = batch?;
///     assert_eq!(batch.len(), 4);
///     println!("{} bytes of JSON", batch.column("json")?.bytes().len());
/// }
/// # Ok(())
/// # }
/// ```
///
/// Cheap to share: an epoch keeps what it needs alive. Dropping loader, epochs and batches ends all
/// threads.
pub struct Loader {
    shared: Arc<LoaderShared>,
}

impl Loader {
    /// A loader of the shards in a folder, of a `dataset.json`, of one tar, or of all that a pattern
    /// names: `shards/*.tar`, `shards/{000..765}.tar`, or a list of these.
    pub fn builder(shards: impl Into<Shards>) -> LoaderBuilder {
        LoaderBuilder::new(Dataset::open(shards))
    }

    /// A loader of a data set that is open already.
    ///
    /// ```
    /// use tarflume::{Dataset, Loader};
    ///
    /// # fn main() -> tarflume::Result<()> {
    /// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
    /// # let shards = made.path();
    /// let dataset = Dataset::open(shards)?;
    /// println!("{} samples", dataset.len());
    /// let loader = Loader::from_dataset(dataset).bytes("jpg").batch(4).build()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn from_dataset(dataset: Dataset) -> LoaderBuilder {
        LoaderBuilder::new(Ok(dataset))
    }

    /// A loader of arrays, each a column with its name: sample n is row n of every array. No shards are needed. Orders,
    /// ranks, states, ledgers and devices are those of other loaders.
    ///
    /// Batches have no keys; [`Batch::ordinals`] are the numbers of the rows. Columns, selections by key and
    /// [`OnBad::Substitute`] need shards.
    ///
    /// ```
    /// use tarflume::{ArrayDataset, DType, Loader, Shuffle};
    ///
    /// # fn main() -> tarflume::Result<()> {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("x.raw");
    /// # std::fs::write(&path, [7; 40]).unwrap();
    /// let x = ArrayDataset::raw(&path, DType::U8, &[4], 0)?; // ten rows of four bytes
    /// let loader = Loader::arrays([("x", x)]).shuffle(Shuffle::Full { seed: 42 }).batch(5).build()?;
    /// for batch in loader.epoch(0) {
    ///     assert_eq!(batch?.column("x")?.shape(), [5, 4]); // 5 rows of 4 bytes
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn arrays<N: Into<String>>(
        arrays: impl IntoIterator<Item = (N, ArrayDataset)>,
    ) -> LoaderBuilder {
        let arrays = arrays.into_iter().map(|(name, array)| (name.into(), array));
        LoaderBuilder::arrays(arrays.collect())
    }

    /// A loader that mixes data sets by integer weights: `[(cats, 70), (dogs, 30)]`. Each prefix of an epoch holds the
    /// share of each data set, to within one sample. Each data set has a separate order and separate passes. Ordinals are
    /// numbered across all data sets. By default an epoch has as many samples as all data sets together; see
    /// [`LoaderBuilder::epoch_length`].
    ///
    /// ```
    /// # use tarflume::*;
    /// # fn main() -> tarflume::Result<()> {
    /// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
    /// # let shards = made.path();
    /// let (cats, dogs) = (Dataset::open(shards)?, Dataset::open(shards)?);
    /// let loader = Loader::mixture([(cats, 70), (dogs, 30)]).bytes("txt").build()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn mixture(parts: impl IntoIterator<Item = (Dataset, u64)>) -> LoaderBuilder {
        LoaderBuilder::mixture(parts.into_iter().collect())
    }

    /// A loader of tars without an index, which reads each tar from front to back. Columns, threads and batches are the
    /// same; see [`StreamLoader`] for the differences.
    ///
    /// ```
    /// # use tarflume::*;
    /// # fn main() -> tarflume::Result<()> {
    /// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
    /// # let shards = made.path();
    /// # let stream = Stream::open(format!("{}/*.tar", shards.display()))?;
    /// let loader = Loader::stream(stream).bytes("txt").batch(4).build()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn stream(stream: Stream) -> StreamLoaderBuilder {
        LoaderBuilder::of_stream(stream)
    }

    /// The batches of epoch number `epoch`. The epoch starts at its first sample, or, once, at the position of a resumed
    /// state of this epoch. An epoch that cannot start yields one error.
    pub fn epoch(&self, epoch: u64) -> Epoch {
        Epoch::begin(self.shared.clone(), epoch)
    }

    /// The number of the running epoch; before the first one, that of the resumed state, or 0.
    pub fn current_epoch(&self) -> u64 {
        self.shared.position().epoch
    }

    /// Number of steps of a whole epoch on this rank.
    ///
    /// # Errors
    /// Returns an error if the batch is larger than the data set.
    pub fn steps(&self) -> Result<u64> {
        self.shared.epoch_steps()
    }

    /// Number of steps on this rank that [`Loader::epoch`] of this epoch would take now: fewer than [`Loader::steps`] for the
    /// epoch of a state in which it was interrupted. Begins nothing.
    ///
    /// # Errors
    /// As [`Loader::steps`].
    pub fn steps_of(&self, epoch: u64) -> Result<u64> {
        self.shared.steps_of(epoch)
    }

    /// How many packs an epoch has, and how full they are; `None` if samples are not packed.
    ///
    /// # Errors
    /// An epoch so late that its samples can't be counted.
    pub fn pack_totals(&self, epoch: u64) -> Result<Option<PackTotals>> {
        self.shared.groups.as_ref().map_or(Ok(None), |groups| groups.totals(epoch))
    }

    /// The position of the whole job. Counts delivered batches, not prepared ones. All ranks that took the same number of
    /// batches have the same state, so save one.
    ///
    /// ```
    /// # use tarflume::*;
    /// # fn main() -> tarflume::Result<()> {
    /// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
    /// # let shards = made.path();
    /// let loader = Loader::builder(shards).bytes("txt").batch(4).build()?;
    /// loader.epoch(0).next().unwrap()?;
    /// assert_eq!((loader.state().epoch(), loader.state().position()), (0, 4));
    /// # Ok(())
    /// # }
    /// ```
    pub fn state(&self) -> LoaderState {
        self.shared.state()
    }

    /// The digest of all samples that this loader has delivered, over all its epochs. Added up over
    /// ranks and resumes it is [`Loader::expected`], or a sample was lost or seen twice.
    ///
    /// ```
    /// # use tarflume::*;
    /// # fn main() -> tarflume::Result<()> {
    /// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
    /// # let shards = made.path();
    /// let loader = Loader::builder(shards).bytes("txt").batch(4).build()?;
    /// loader.epoch(0).for_each(drop);
    /// loader.ledger().prove(&loader.expected(0)?)?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn ledger(&self) -> Ledger {
        *self.shared.ledger()
    }

    /// The sum of the ledgers of all ranks after one whole epoch. Samples that no step delivers are not in it. With a split
    /// by shard, the ledger of this rank.
    ///
    /// # Errors
    /// Returns an error if the number of the epoch is so large that its samples cannot be counted.
    pub fn expected(&self, epoch: u64) -> Result<Ledger> {
        self.shared.expected(epoch)
    }

    /// The order of the samples.
    pub fn order(&self) -> &Order {
        &self.shared.order
    }

    /// The data set; without shards for a loader of arrays.
    pub fn dataset(&self) -> &Dataset {
        self.shared.source.dataset()
    }

    /// What an epoch of all ranks of this job will ask of a store. Walks the order of the epoch with the loader's own rules;
    /// sidecars are opened, no tar is read.
    ///
    /// ```
    /// use tarflume::{ForecastOptions, Loader, Shuffle, Split};
    ///
    /// # fn main() -> tarflume::Result<()> {
    /// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
    /// # let shards = made.path();
    /// let loader = Loader::builder(shards)
    ///     .shuffle(Shuffle::Full { seed: 42 })
    ///     .split(Split::new(0, 2)?)
    ///     .bytes("jpg")
    ///     .batch(4)
    ///     .build()?;
    /// let forecast = loader.forecast(&ForecastOptions::default())?;
    /// assert_eq!((forecast.steps, forecast.rows), (2, 16));
    /// assert!(forecast.requests <= 16, "neighbors are read together");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Returns an error if a sidecar cannot be opened, or a sample lacks a part that is needed.
    pub fn forecast(&self, options: &ForecastOptions) -> Result<Forecast> {
        Forecaster::new(&self.shared, options)?.forecast()
    }

    /// What was drawn for the rows of a batch of this loader; see
    /// [`LoaderBuilder::keep_transforms`](crate::LoaderBuilder::keep_transforms).
    ///
    /// # Errors
    /// Returns an error if the loader does not keep it.
    pub fn transforms(&self, batch: &Batch) -> Result<Vec<ColumnTransforms>> {
        drawn(batch, self.shared.source.columns().decoders())
    }

    /// The time of each stage, and the bottleneck.
    pub fn stats(&self) -> Stats {
        self.shared.stats()
    }

    /// All samples that were bad so far, by ordinal.
    pub fn bad_samples(&self) -> Vec<BadSample> {
        self.shared.bad.all()
    }

    /// As `bad_samples`, with reasons in the words of a face.
    #[doc(hidden)]
    pub fn bad_samples_in(&self, face: Face) -> Vec<BadSample> {
        self.shared.bad.all_in(face)
    }

    /// Writes the bad samples to `path`, one JSON object a line, the format of [`LoaderBuilder::exclude`]
    /// and `pack build --exclude @FILE`. The file appears complete or not at all.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`](crate::ErrorKind::Usage) if `path` is in a folder that holds a data set, or a file of another
    /// kind is there. Returns also an error if the operating system refuses.
    pub fn write_bad_samples(&self, path: impl AsRef<Path>) -> Result<()> {
        self.shared.bad.write(path.as_ref())
    }
}

/// The batches of the epoch that [`Loader::current_epoch`] names: the next one after an epoch was taken to its end.
///
/// ```
/// # use tarflume::*;
/// # fn main() -> tarflume::Result<()> {
/// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
/// # let shards = made.path();
/// let loader = Loader::builder(shards).bytes("txt").batch(4).build()?;
/// for batch in &loader {
///     assert_eq!(batch?.len(), 4);
/// }
/// assert_eq!(loader.current_epoch(), 1);
/// # Ok(())
/// # }
/// ```
impl IntoIterator for &Loader {
    type Item = Result<Batch>;
    type IntoIter = Epoch;

    fn into_iter(self) -> Epoch {
        self.epoch(self.current_epoch())
    }
}

impl LoaderBuilder {
    /// Opens the shards, checks the options and makes the loader. Reads no image.
    ///
    /// # Errors
    /// Returns an error if a shard is missing or stale, if no sample has a requested part, if a batch is larger than the
    /// data set or the memory limit, or if the resumed state belongs to another data set or shuffle.
    pub fn build(self) -> Result<Loader> {
        Ok(Loader { shared: self.shared()? })
    }
}

impl DeviceLoaderBuilder {
    /// The loader.
    ///
    /// # Errors
    /// Returns the errors of [`LoaderBuilder::build`], or an error if a batch or the resident data set is too large for the
    /// device.
    pub fn build(self) -> Result<DeviceLoader> {
        Ok(DeviceLoader::new(self.shared()?))
    }
}

impl fmt::Debug for Loader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.shared.fmt(f)
    }
}
