//! The samples that take part: setters of `LoaderBuilder`. Errors are kept until the loader is built.

use std::path::Path;

use tarflume_dataset::{Dataset, Exclude, SampleFacts, Subset};
use tarflume_types::{Error, Result};

use crate::loader::config::builder::LoaderBuilder;
use crate::loader::config::weights::Weights;
use crate::loader::pipeline::panics::catch_panic;

impl LoaderBuilder {
    /// Leaves out the samples for which `keep` returns false. It is called with facts of the sidecars, before any I/O on
    /// shards.
    ///
    /// ```
    /// # use tarflume::*;
    /// # fn main() -> tarflume::Result<()> {
    /// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
    /// # let shards = made.path();
    /// let loader = Loader::builder(shards)
    ///     .filter(|facts| facts.length("json").is_some_and(|bytes| bytes < 1000))
    ///     .bytes("json")
    ///     .build()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn filter(mut self, mut keep: impl FnMut(&SampleFacts<'_>) -> bool) -> Self {
        self.leave_out(|dataset| {
            catch_panic("the filter", || {
                dataset.filter(&mut |facts: &SampleFacts<'_>| !keep(facts))
            })
        });
        self
    }

    /// Leaves out the samples that the file at `path` lists: keys, one in each line, or lines of JSON with a field `key`, as
    /// `bad_samples` and `problems.jsonl` have them.
    ///
    /// ```
    /// # use tarflume::*;
    /// # fn main() -> tarflume::Result<()> {
    /// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
    /// # let shards = made.path();
    /// let list = shards.join("exclude.txt");
    /// std::fs::write(&list, "photo/003\nphoto/008\n").unwrap();
    /// let loader = Loader::builder(shards).exclude(&list).bytes("txt").build()?;
    /// assert_eq!(loader.steps()?, 14);
    /// # Ok(())
    /// # }
    /// ```
    pub fn exclude(mut self, path: impl AsRef<Path>) -> Self {
        self.leave_out(|dataset| {
            let excluded = dataset.exclude(&Exclude::file(path.as_ref())?)?;
            match excluded.first_absent {
                None => Ok(excluded.ordinals),
                Some(key) => Err(Error::usage(format!(
                    "{} of the listed samples are not in the data set, the first is '{key}': the list \
                     belongs to another one",
                    excluded.absent
                ))
                .with_path(path.as_ref())),
            }
        });
        self
    }

    fn leave_out(&mut self, what: impl FnOnce(&Dataset) -> Result<Vec<u64>>) {
        let Ok(dataset) = &self.of.dataset else { return };
        let Ok(left_out) = &mut self.of.left_out else { return };
        match what(dataset) {
            Ok(more) => left_out.extend(more),
            Err(error) => self.of.left_out = Err(error),
        }
    }

    /// Takes the samples with these ordinals only. Two selections have their common samples.
    ///
    /// ```
    /// # use tarflume::*;
    /// # fn main() -> tarflume::Result<()> {
    /// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
    /// # let shards = made.path();
    /// let loader = Loader::builder(shards).select([2, 3, 5, 7, 11]).bytes("txt").build()?;
    /// assert_eq!(loader.steps()?, 5);
    /// # Ok(())
    /// # }
    /// ```
    pub fn select(mut self, ordinals: impl IntoIterator<Item = u64>) -> Self {
        self.choose(|dataset| dataset.subset(ordinals));
        self
    }

    /// Takes the samples with these keys only. A key that no sample has is an error.
    ///
    /// ```
    /// # use tarflume::*;
    /// # fn main() -> tarflume::Result<()> {
    /// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
    /// # let shards = made.path();
    /// let loader = Loader::builder(shards).select_keys(["photo/003", "photo/008"]).bytes("txt").build()?;
    /// assert_eq!(loader.steps()?, 2);
    /// # Ok(())
    /// # }
    /// ```
    pub fn select_keys<K: AsRef<[u8]>>(mut self, keys: impl IntoIterator<Item = K>) -> Self {
        self.choose(|dataset| dataset.subset_of_keys(keys));
        self
    }

    /// Takes the samples of `subset` only, which was made from the same data set.
    ///
    /// ```
    /// # use tarflume::*;
    /// # fn main() -> tarflume::Result<()> {
    /// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
    /// # let shards = made.path();
    /// let dataset = Dataset::open(shards)?;
    /// let mut large = dataset.subset([])?;
    /// for batch in dataset.table()? {
    ///     let batch = batch?;
    ///     for row in (0..batch.len()).filter(|&row| batch.widths[row] >= 64) {
    ///         large.insert(batch.first + row as u64)?;
    ///     }
    /// }
    /// let loader = Loader::from_dataset(dataset).subset(large).bytes("txt").build()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn subset(mut self, subset: Subset) -> Self {
        self.choose(|dataset| {
            if subset.samples() == dataset.len() {
                Ok(subset)
            } else {
                Err(Error::usage(format!(
                    "the selection was made for a data set of {} samples, this one has {}",
                    subset.samples(),
                    dataset.len()
                )))
            }
        });
        self
    }

    fn choose(&mut self, what: impl FnOnce(&Dataset) -> Result<Subset>) {
        let Ok(dataset) = &self.of.dataset else { return };
        let Ok(selected) = &mut self.of.selected else { return };
        match what(dataset) {
            Ok(mut chosen) => {
                if let Some(before) = selected {
                    chosen.retain(before);
                }
                *selected = Some(chosen);
            }
            Err(error) => self.of.selected = Err(error),
        }
    }

    /// How often classes or samples come; by default each sample once a pass. Not for mixtures.
    ///
    /// ```
    /// # use tarflume::*;
    /// # fn main() -> tarflume::Result<()> {
    /// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
    /// # let shards = made.path();
    /// let classes: Vec<i64> = (0..16).map(|n| i64::from(n == 0)).collect(); // one sample of class 1
    /// let loader = Loader::builder(shards)
    ///     .shuffle(Shuffle::Full { seed: 42 })
    ///     .weights(Weights::balanced(classes)) // or "/class", a pointer into the JSON part
    ///     .bytes("txt")
    ///     .batch(16)
    ///     .build()?;
    /// let batch = loader.epoch(0).next().unwrap()?;
    /// assert_eq!(batch.ordinals().filter(|&ordinal| ordinal == 0).count(), 8);
    /// # Ok(())
    /// # }
    /// ```
    pub fn weights(mut self, weights: Weights) -> Self {
        self.of.weights = Some(weights);
        self
    }

    /// Takes the first `samples` samples of the data set, counted after [`LoaderBuilder::skip`].
    ///
    /// ```
    /// # use tarflume::*;
    /// # fn main() -> tarflume::Result<()> {
    /// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
    /// # let shards = made.path();
    /// let loader = Loader::builder(shards).take(10).bytes("txt").build()?;
    /// assert_eq!(loader.steps()?, 10);
    /// # Ok(())
    /// # }
    /// ```
    pub fn take(mut self, samples: u64) -> Self {
        self.of.take = Some(samples);
        self
    }

    /// Leaves out the first `samples` samples of the data set.
    ///
    /// ```
    /// # use tarflume::*;
    /// # fn main() -> tarflume::Result<()> {
    /// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
    /// # let shards = made.path();
    /// let loader = Loader::builder(shards).skip(10).bytes("txt").build()?;
    /// assert_eq!(loader.steps()?, 6);
    /// # Ok(())
    /// # }
    /// ```
    pub fn skip(mut self, samples: u64) -> Self {
        self.of.skip = samples;
        self
    }
}
