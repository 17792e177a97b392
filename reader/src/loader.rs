//! `Loader`: batches of a data set, in an order that is pure arithmetic, prepared by all cores.
//!
//! The files here: what host loaders, device loaders and their epochs share. The folders, lower ones first: `metrics`,
//! `pipeline`, `indexed`, `gpu`, `config`, `streaming`.

mod bad_samples;
mod config;
mod epoch;
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
pub use crate::loader::config::builder::LoaderBuilder;
pub use crate::loader::config::device_builder::DeviceLoaderBuilder;
pub use crate::loader::gpu::epoch::{DeviceEpoch, end_device_epochs};
pub use crate::loader::gpu::loader::DeviceLoader;
pub use crate::loader::gpu::resident_config::{Residency, ResidentSize};
pub use crate::loader::metrics::bottleneck::Bottleneck;
pub use crate::loader::metrics::idle::{IdleStats, SampledTime};
pub use crate::loader::metrics::stats::{DecoderStats, RingStats, StageStats, Stats};
pub use crate::loader::streaming::builder::StreamLoaderBuilder;
pub use crate::loader::streaming::loader::{StreamEpoch, StreamLoader};
pub use epoch::Epoch;

use crate::dataset::Dataset;
use crate::dataset::pattern::Shards;
use crate::error::Result;
use crate::loader::shared::LoaderShared;
use crate::order::{Ledger, LoaderState, Order};
use crate::stream::Stream;

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
/// # let durability = tarflume_formats::shard::Durability::Cached;
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

    /// A loader that mixes data sets by integer weights: `[(cats, 70), (dogs, 30)]`. In any stretch
    /// from the beginning each has its share, to within one sample; each is gone through in an order
    /// and in passes of its own. Ordinals count on from data set to data set. An epoch has as many
    /// samples as all of them, unless [`LoaderBuilder::epoch_length`] says otherwise.
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
        StreamLoaderBuilder::new(stream)
    }

    /// The batches of epoch number `epoch`, from its beginning; the first time, if a state was given
    /// and it is that epoch's, from where it was taken. An epoch that can't be begun gives its error as
    /// its only batch.
    pub fn epoch(&self, epoch: u64) -> Epoch {
        Epoch::begin(self.shared.clone(), epoch)
    }

    /// The epoch to go on with: 0, or that of the resumed state, or the one that is running.
    pub fn current_epoch(&self) -> u64 {
        self.shared.position().epoch
    }

    /// Steps of an epoch that is begun at its beginning, on this rank.
    ///
    /// # Errors
    /// There is none: the batch is larger than the data set.
    pub fn steps(&self) -> Result<u64> {
        Ok(self.shared.steps(0)?.count())
    }

    /// Where the whole job is: what was handed out, not what was prepared. The same on every rank that
    /// took as many batches; save one.
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

    /// The digest of all samples that this loader has handed out, over all its epochs. Added up over
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

    /// What the ledgers of all ranks add up to for one whole epoch: those of its samples that steps
    /// reach. Split by shard, what this rank's own comes to.
    ///
    /// # Errors
    /// An epoch so late that its samples can't be counted.
    pub fn expected(&self, epoch: u64) -> Result<Ledger> {
        self.shared.expected(epoch)
    }

    /// The order of its samples.
    pub fn order(&self) -> &Order {
        &self.shared.order
    }

    /// The data set.
    pub fn dataset(&self) -> &Dataset {
        &self.shared.source.dataset
    }

    /// Where the time goes, and what limits the rate of batches.
    pub fn stats(&self) -> Stats {
        self.shared.stats()
    }

    /// All samples that were bad so far, by ordinal.
    pub fn bad_samples(&self) -> Vec<BadSample> {
        self.shared.bad.all()
    }

    /// Writes the bad samples to `path`, one JSON object a line, as [`LoaderBuilder::exclude`] and `pack
    /// build --exclude @FILE` take them. The file appears whole or not at all.
    ///
    /// # Errors
    /// The operating system's refusal.
    pub fn write_bad_samples(&self, path: &Path) -> Result<()> {
        self.shared.bad.write(path)
    }
}

impl LoaderBuilder {
    /// The loader.
    ///
    /// # Errors
    /// What can't be met is said here, before an image is read: shards that are missing or stale, parts
    /// that no sample has, a batch larger than the data set or than memory, a state of another data
    /// set or shuffle.
    pub fn build(self) -> Result<Loader> {
        Ok(Loader { shared: self.shared()? })
    }
}

impl DeviceLoaderBuilder {
    /// The loader.
    ///
    /// # Errors
    /// As [`LoaderBuilder::build`]; a batch, or the resident data set, is too large for the device.
    pub fn build(self) -> Result<DeviceLoader> {
        Ok(DeviceLoader::new(self.shared()?))
    }
}

impl fmt::Debug for Loader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.shared.fmt(f)
    }
}
