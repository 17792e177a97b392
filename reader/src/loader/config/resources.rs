//! What a loader may use, and what it does with bad samples: setters of all loaders, with an index or without.

use tarflume_types::Size;

use crate::loader::bad_samples::OnBad;
use crate::loader::config::builder::LoaderBuilder;

impl<Of> LoaderBuilder<Of> {
    /// What happens with bad samples; by default the first one is an error. [`OnBad::Substitute`] needs an index: a stream
    /// refuses it.
    ///
    /// ```
    /// # use tarflume::*;
    /// # fn main() -> tarflume::Result<()> {
    /// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
    /// # let shards = made.path();
    /// let loader = Loader::builder(shards).bytes("txt").on_bad(OnBad::Substitute).build()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn on_bad(mut self, on_bad: OnBad) -> Self {
        self.common.on_bad = on_bad;
        self
    }

    /// The most bad samples with [`OnBad::Skip`] and [`OnBad::Substitute`]; 1,000 by default. One more is an error.
    ///
    /// ```
    /// # use tarflume::*;
    /// # fn main() -> tarflume::Result<()> {
    /// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
    /// # let shards = made.path();
    /// let loader = Loader::builder(shards).bytes("txt").on_bad(OnBad::Skip).bad_budget(10).build()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn bad_budget(mut self, samples: u64) -> Self {
        self.common.bad_budget = samples;
        self
    }

    /// The most memory for batches in preparation, threads and decoding. The default is 2 GiB, and more where it is needed:
    /// 48 MiB for each thread and twice `prefetch + 2` batches, up to half of the machine's memory. Batches that the
    /// consumer keeps are not counted.
    ///
    /// A stream and the batches have it together, so the default is larger by as much as the stream needs. The stream has
    /// what [`Stream::memory_limit`](crate::Stream::memory_limit) allows it, or half; samples of a batch in preparation stay
    /// in the stream's memory until the batch is done.
    ///
    /// ```
    /// # use tarflume::*;
    /// # fn main() -> tarflume::Result<()> {
    /// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
    /// # let shards = made.path();
    /// let loader = Loader::builder(shards).bytes("txt").memory_limit("2GiB".parse()?).build()?;
    /// let same = Loader::builder(shards).bytes("txt").memory_limit(Size::new(2 << 30)).build()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn memory_limit(mut self, limit: Size) -> Self {
        self.common.set_memory(limit);
        self
    }

    /// Threads that work for this loader at once; by default one for each core. Of a stream, one more reads.
    ///
    /// ```
    /// # use tarflume::*;
    /// # fn main() -> tarflume::Result<()> {
    /// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
    /// # let shards = made.path();
    /// let loader = Loader::builder(shards).bytes("txt").threads(2).build()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn threads(mut self, threads: usize) -> Self {
        self.common.set_threads(threads);
        self
    }

    /// Batches in preparation at once; 4 by default, fewer if the memory limit has no room for them. 0 counts as 1; more
    /// than 65,536 are an error of `build`.
    ///
    /// ```
    /// # use tarflume::*;
    /// # fn main() -> tarflume::Result<()> {
    /// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
    /// # let shards = made.path();
    /// let loader = Loader::builder(shards).bytes("txt").prefetch(8).build()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn prefetch(mut self, batches: usize) -> Self {
        self.common.set_prefetch(batches);
        self
    }
}
