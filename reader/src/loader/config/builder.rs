//! `LoaderBuilder`: the options of a loader, with the setters for order and epochs. `samples` has those for the choice of
//! samples; `columns` and `resources` those that streams have, too. `build` makes the loader.

use std::sync::Arc;

use tarflume_dataset::{ArrayDataset, Dataset, Open, SourceKind, Subset};
use tarflume_types::Result;

use crate::fetch::verify::Verify;
use crate::loader::arrays::rows::ArrayRows;
use crate::loader::config::groups::bucketing::Bucketing;
use crate::loader::config::groups::packing::Packing;
use crate::loader::config::options::CommonOptions;
use crate::loader::config::sampler::EpochLength;
use crate::loader::config::weights::Weights;
use crate::order::{LoaderState, Remainder, Shuffle, Split};

/// The rows of a batch.
#[derive(Debug, Clone, Copy)]
pub(crate) enum BatchSize {
    /// On each rank.
    Rank(u64),
    /// On all ranks together.
    Global(u64),
}

/// The options of a [`Loader`](crate::Loader), made by [`Loader::builder`](crate::Loader::builder); and with another
/// type parameter those of a [`StreamLoader`](crate::StreamLoader), see [`StreamLoaderBuilder`](crate::StreamLoaderBuilder).
///
/// ```
/// # use tarflume::*;
/// # fn main() -> tarflume::Result<()> {
/// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
/// # let shards = made.path();
/// let loader = Loader::builder(shards)
///     .shuffle(Shuffle::Full { seed: 42 })
///     .image("jpg", ResizeCenterCrop::new(72, 64))
///     .label("json", "/class")
///     .batch(4)
///     .build()?;
/// assert_eq!(loader.steps()?, 4);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct LoaderBuilder<Of = Indexed> {
    /// The options that only loaders of this kind have.
    pub(crate) of: Of,
    pub(crate) common: CommonOptions,
}

/// The options of a loader over shards with sidecars.
#[doc(hidden)]
#[derive(Debug, Clone)]
pub struct Indexed {
    pub(crate) dataset: Result<Dataset>,
    /// In place of the data set, which has no shards then.
    pub(crate) arrays: Option<ArrayRows>,
    /// The parts of a mixture, and their weights.
    pub(crate) mixed: Vec<(Dataset, u64)>,
    pub(crate) reweighed: Vec<(u64, u64, Vec<u64>)>,
    pub(crate) left_out: Result<Vec<u64>>,
    /// The samples that take part; all if none.
    pub(crate) selected: Result<Option<Subset>>,
    pub(crate) weights: Option<Weights>,
    pub(crate) skip: u64,
    pub(crate) take: Option<u64>,
    pub(crate) shuffle: Shuffle,
    pub(crate) split: Split,
    pub(crate) remainder: Remainder,
    pub(crate) batch: BatchSize,
    pub(crate) bucketing: Option<Bucketing>,
    pub(crate) packing: Option<Packing>,
    pub(crate) epoch: EpochLength,
    /// `None`: all where bytes come over a network, else none.
    pub(crate) verify: Option<Verify>,
    pub(crate) source: SourceKind,
    /// Opens shards in place of `source`, if set.
    pub(crate) opener: Option<Arc<dyn Open>>,
    pub(crate) resume: Option<LoaderState>,
}

impl Indexed {
    pub(crate) fn new(dataset: Result<Dataset>) -> Indexed {
        Indexed {
            dataset,
            arrays: None,
            mixed: Vec::new(),
            reweighed: Vec::new(),
            left_out: Ok(Vec::new()),
            selected: Ok(None),
            weights: None,
            skip: 0,
            take: None,
            shuffle: Shuffle::None,
            split: Split::alone(),
            remainder: Remainder::Drop,
            batch: BatchSize::Rank(1),
            bucketing: None,
            packing: None,
            epoch: EpochLength::Passes(1),
            verify: None,
            source: SourceKind::default(),
            opener: None,
            resume: None,
        }
    }
}

impl LoaderBuilder {
    pub(crate) fn new(dataset: Result<Dataset>) -> LoaderBuilder {
        LoaderBuilder { of: Indexed::new(dataset), common: CommonOptions::default() }
    }

    pub(crate) fn arrays(arrays: Vec<(String, ArrayDataset)>) -> LoaderBuilder {
        match ArrayRows::new(arrays) {
            Ok(rows) => {
                let mut builder = LoaderBuilder::new(Ok(Dataset::without_shards()));
                builder.of.arrays = Some(rows);
                builder
            }
            Err(error) => LoaderBuilder::new(Err(error)),
        }
    }

    pub(crate) fn mixture(parts: Vec<(Dataset, u64)>) -> LoaderBuilder {
        let datasets: Vec<_> = parts.iter().map(|(dataset, _)| dataset.clone()).collect();
        let mut builder = LoaderBuilder::new(Dataset::concat(&datasets));
        builder.of.mixed = parts;
        builder
    }

    /// The order of the samples; by default that of the shards.
    ///
    /// ```
    /// # use tarflume::*;
    /// # fn main() -> tarflume::Result<()> {
    /// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
    /// # let shards = made.path();
    /// let loader = Loader::builder(shards).shuffle(Shuffle::Full { seed: 42 }).bytes("txt").build()?;
    /// let order: Vec<u64> = loader.epoch(0).flat_map(|batch| batch.unwrap().ordinals().collect::<Vec<_>>()).collect();
    /// assert_ne!(order, (0..16).collect::<Vec<_>>());
    /// # Ok(())
    /// # }
    /// ```
    pub fn shuffle(mut self, shuffle: Shuffle) -> Self {
        self.of.shuffle = shuffle;
        self
    }

    /// The rank of this process among those of the job; by default the only one.
    ///
    /// ```
    /// # use tarflume::*;
    /// # fn main() -> tarflume::Result<()> {
    /// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
    /// # let shards = made.path();
    /// let loader = Loader::builder(shards).split(Split::new(1, 2)?).bytes("txt").batch(4).build()?;
    /// assert_eq!(loader.steps()?, 2); // half of 16 samples
    /// # Ok(())
    /// # }
    /// ```
    pub fn split(mut self, split: Split) -> Self {
        self.of.split = split;
        self
    }

    /// What happens to the samples that don't fill a batch on every rank; by default they are dropped.
    ///
    /// ```
    /// # use tarflume::*;
    /// # fn main() -> tarflume::Result<()> {
    /// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
    /// # let shards = made.path();
    /// let loader = Loader::builder(shards).remainder(Remainder::Uneven).bytes("txt").batch(5).build()?;
    /// assert_eq!(loader.steps()?, 4); // 5, 5, 5 and 1 rows
    /// # Ok(())
    /// # }
    /// ```
    pub fn remainder(mut self, remainder: Remainder) -> Self {
        self.of.remainder = remainder;
        self
    }

    /// Rows of a batch on each rank; 1 by default.
    ///
    /// ```
    /// # use tarflume::*;
    /// # fn main() -> tarflume::Result<()> {
    /// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
    /// # let shards = made.path();
    /// let loader = Loader::builder(shards).bytes("txt").batch(4).build()?;
    /// assert_eq!(loader.epoch(0).next().unwrap()?.len(), 4);
    /// # Ok(())
    /// # }
    /// ```
    pub fn batch(mut self, rows: u64) -> Self {
        self.of.batch = BatchSize::Rank(rows);
        self
    }

    /// Rows of a batch on all ranks together: a multiple of their number.
    ///
    /// ```
    /// # use tarflume::*;
    /// # fn main() -> tarflume::Result<()> {
    /// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
    /// # let shards = made.path();
    /// let loader = Loader::builder(shards).split(Split::new(0, 2)?).bytes("txt").global_batch(8).build()?;
    /// assert_eq!(loader.epoch(0).next().unwrap()?.len(), 4);
    /// # Ok(())
    /// # }
    /// ```
    pub fn global_batch(mut self, rows: u64) -> Self {
        self.of.batch = BatchSize::Global(rows);
        self
    }

    /// Batches whose rows are alike; see [`Bucketing`]. A budget there replaces the number of rows.
    pub fn buckets(mut self, bucketing: Bucketing) -> Self {
        self.of.bucketing = Some(bucketing);
        self
    }

    /// Samples in packs; see [`Packing`]. The rows of a batch are then its packs.
    pub fn packs(mut self, packing: Packing) -> Self {
        self.of.packing = Some(packing);
        self
    }

    /// An epoch is `passes` passes over the samples, each in a different order; 1 by default.
    ///
    /// ```
    /// # use tarflume::*;
    /// # fn main() -> tarflume::Result<()> {
    /// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
    /// # let shards = made.path();
    /// let loader = Loader::builder(shards).bytes("txt").batch(4).repeat(3).build()?;
    /// assert_eq!(loader.steps()?, 12);
    /// # Ok(())
    /// # }
    /// ```
    pub fn repeat(mut self, passes: u64) -> Self {
        self.of.epoch = EpochLength::Passes(passes);
        self
    }

    /// An epoch is `samples` samples, wherever passes end. The next epoch continues there.
    ///
    /// ```
    /// # use tarflume::*;
    /// # fn main() -> tarflume::Result<()> {
    /// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
    /// # let shards = made.path();
    /// let loader = Loader::builder(shards).bytes("txt").batch(4).epoch_length(8).build()?;
    /// assert_eq!(loader.steps()?, 2);
    /// # Ok(())
    /// # }
    /// ```
    pub fn epoch_length(mut self, samples: u64) -> Self {
        self.of.epoch = EpochLength::Samples(samples);
        self
    }

    /// Weights of a mixture that hold from position `position` of epoch `epoch` on.
    ///
    /// ```
    /// # use tarflume::*;
    /// # fn main() -> tarflume::Result<()> {
    /// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
    /// # let shards = made.path();
    /// let (cats, dogs) = (Dataset::open(shards)?, Dataset::open(shards)?);
    /// let loader = Loader::mixture([(cats, 70), (dogs, 30)])
    ///     .weights_from(1, 0, vec![1, 1]) // equal parts from epoch 1 on
    ///     .bytes("txt")
    ///     .build()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn weights_from(mut self, epoch: u64, position: u64, weights: Vec<u64>) -> Self {
        self.of.reweighed.push((epoch, position, weights));
        self
    }

    /// Which checksums are compared while parts are read; none by default.
    ///
    /// ```
    /// # use tarflume::*;
    /// # fn main() -> tarflume::Result<()> {
    /// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
    /// # let shards = made.path();
    /// let loader = Loader::builder(shards).bytes("txt").verify(Verify::All).build()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn verify(mut self, verify: Verify) -> Self {
        self.of.verify = Some(verify);
        self
    }

    /// How shards are read; by default [`SourceKind::File`], also for a data set that was opened in another way: memory then
    /// stays within its limit, and a shard that is cut is an error.
    ///
    /// ```
    /// # use tarflume::*;
    /// # fn main() -> tarflume::Result<()> {
    /// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
    /// # let shards = made.path();
    /// let loader = Loader::builder(shards).bytes("txt").source(SourceKind::Mapped).build()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn source(mut self, source: SourceKind) -> Self {
        self.of.source = source;
        self
    }

    /// Opens the shards with `opener`, which may read them from another storage, in place of [`LoaderBuilder::source`].
    ///
    /// ```
    /// # use tarflume::*;
    /// # fn main() -> tarflume::Result<()> {
    /// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
    /// # let shards = made.path();
    /// let opener = std::sync::Arc::new(SourceKind::File); // or a type of your own
    /// let loader = Loader::builder(shards).bytes("txt").opener(opener).build()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn opener(mut self, opener: Arc<dyn Open>) -> Self {
        self.of.opener = Some(opener);
        self
    }

    /// Continues where `state` was saved, with any world size, batch size, number of threads and prefetch.
    ///
    /// ```
    /// # use tarflume::*;
    /// # fn main() -> tarflume::Result<()> {
    /// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
    /// # let shards = made.path();
    /// let loader = || Loader::builder(shards).shuffle(Shuffle::Full { seed: 42 }).bytes("txt");
    /// let first = loader().batch(4).build()?;
    /// first.epoch(0).next().unwrap()?;
    /// let saved = first.state().to_string();
    ///
    /// let second = loader().batch(2).resume(saved.parse()?).build()?;
    /// assert_eq!(second.epoch(second.current_epoch()).count(), 6); // 12 samples are left
    /// # Ok(())
    /// # }
    /// ```
    pub fn resume(mut self, state: LoaderState) -> Self {
        self.of.resume = Some(state);
        self
    }
}
