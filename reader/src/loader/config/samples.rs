//! The samples that take part: setters of `LoaderBuilder`. Errors are kept until the loader is built.

use std::path::Path;

use crate::dataset::Dataset;
use crate::dataset::exclude::Exclude;
use crate::dataset::select::SampleFacts;
use crate::error::{Error, Result};
use crate::loader::config::builder::LoaderBuilder;
use crate::loader::pipeline::panics::caught;

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
    pub fn filter(mut self, keep: impl FnMut(&SampleFacts<'_>) -> bool) -> Self {
        self.leave_out(|dataset| caught("the filter", || dataset.filter(keep)));
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
        let (Ok(dataset), Ok(left_out)) = (&self.dataset, &mut self.left_out) else { return };
        match what(dataset) {
            Ok(more) => left_out.extend(more),
            Err(error) => self.left_out = Err(error),
        }
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
        self.range.1 = Some(samples);
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
        self.range.0 = samples;
        self
    }
}
