//! `LoaderBuilder`: the options of a loader. `build` makes a loader from them.

use std::path::Path;
use std::sync::Arc;

use crate::dataset::Dataset;
use crate::dataset::exclude::Exclude;
use crate::dataset::select::Facts;
use crate::decode::Decode;
use crate::decode::image::Image;
use crate::decode::json::Json;
use crate::decode::raw::Raw;
use crate::decode::text::Text;
use crate::error::{Error, Result};
use crate::fetch::fetched::Verify;
use crate::loader::bad_samples::OnBad;
use crate::loader::config::options::CommonOptions;
use crate::loader::config::sampler::EpochLength;
use crate::loader::pipeline::panics::catch_panic;
use crate::order::{LoaderState, Remainder, Shuffle, Split};
use crate::picture::geometry::Transform;
use crate::source::open::{Open, SourceKind};

/// How many rows a batch has.
#[derive(Debug, Clone, Copy)]
pub(crate) enum BatchSize {
    /// On each rank.
    Rank(u64),
    /// On all ranks together.
    Global(u64),
}

/// What a loader is to do; see [`crate::loader::Loader::builder`].
#[must_use]
pub struct LoaderBuilder {
    pub(crate) dataset: Result<Dataset>,
    /// The parts of a mixture, and their weights.
    pub(crate) mixed: Vec<(Dataset, u64)>,
    pub(crate) reweighed: Vec<(u64, u64, Vec<u64>)>,
    pub(crate) left_out: Result<Vec<u64>>,
    pub(crate) range: (u64, Option<u64>),
    pub(crate) shuffle: Shuffle,
    pub(crate) split: Split,
    pub(crate) remainder: Remainder,
    pub(crate) batch: BatchSize,
    pub(crate) epoch: EpochLength,
    pub(crate) common: CommonOptions,
    pub(crate) verify: Verify,
    pub(crate) source: SourceKind,
    /// What opens shards in place of `source`, if it was set.
    pub(crate) opener: Option<Arc<dyn Open>>,
    pub(crate) resume: Option<LoaderState>,
}

impl LoaderBuilder {
    pub(crate) fn new(dataset: Result<Dataset>) -> LoaderBuilder {
        LoaderBuilder {
            dataset,
            mixed: Vec::new(),
            reweighed: Vec::new(),
            left_out: Ok(Vec::new()),
            range: (0, None),
            shuffle: Shuffle::None,
            split: Split::alone(),
            remainder: Remainder::Drop,
            batch: BatchSize::Rank(1),
            epoch: EpochLength::Passes(1),
            common: CommonOptions::default(),
            verify: Verify::default(),
            source: SourceKind::default(),
            opener: None,
            resume: None,
        }
    }

    pub(crate) fn mixture(parts: Vec<(Dataset, u64)>) -> LoaderBuilder {
        let datasets: Vec<_> = parts.iter().map(|(dataset, _)| dataset.clone()).collect();
        LoaderBuilder { mixed: parts, ..LoaderBuilder::new(Dataset::concat(&datasets)) }
    }

    /// From position `position` of epoch `epoch` on, the data sets of a mixture have these weights.
    pub fn weights_from(mut self, epoch: u64, position: u64, weights: Vec<u64>) -> Self {
        self.reweighed.push((epoch, position, weights));
        self
    }

    /// The order of the samples; by default that of the shards.
    pub fn shuffle(mut self, shuffle: Shuffle) -> Self {
        self.shuffle = shuffle;
        self
    }

    /// Which rank this is, of how many; by default the only one.
    pub fn split(mut self, split: Split) -> Self {
        self.split = split;
        self
    }

    /// What becomes of the samples that don't fill a batch on every rank; dropped by default.
    pub fn remainder(mut self, remainder: Remainder) -> Self {
        self.remainder = remainder;
        self
    }

    /// Rows of a batch on each rank.
    pub fn batch(mut self, rows: u64) -> Self {
        self.batch = BatchSize::Rank(rows);
        self
    }

    /// Rows of a batch on all ranks together, which must divide it.
    pub fn global_batch(mut self, rows: u64) -> Self {
        self.batch = BatchSize::Global(rows);
        self
    }

    /// Column `image`: the image in the part `ext`, cut and resized by `transform`, u8 in rows, columns,
    /// channels. More choices: `.column("image", Image::new(ext, transform)..)`.
    pub fn image(self, ext: &str, transform: impl Transform) -> Self {
        self.column("image", Image::new(ext, transform))
    }

    /// Column `label`: the number at `pointer` (RFC 6901) in the JSON part `ext`, i64. More choices:
    /// `.column("label", Json::new(ext, pointer)..)`.
    pub fn label(self, ext: &str, pointer: &str) -> Self {
        self.column("label", Json::new(ext, pointer))
    }

    /// Column `ext`: the part's bytes as they are.
    pub fn bytes(self, ext: &str) -> Self {
        self.column(ext, Raw::new(ext))
    }

    /// Column `ext`: the part as UTF-8 text.
    pub fn text(self, ext: &str) -> Self {
        self.column(ext, Text::new(ext))
    }

    /// A column `name` whose rows `decode` writes.
    pub fn column(mut self, name: &str, decode: impl Decode) -> Self {
        self.common.add_column(name, decode);
        self
    }

    /// Leaves out the samples for which `keep` says no. Asked of the sidecars, before any I/O on
    /// shards.
    pub fn filter(mut self, keep: impl FnMut(&Facts<'_>) -> bool) -> Self {
        self.leave_out(|dataset| catch_panic("the filter", || dataset.filter(keep)));
        self
    }

    /// Leaves out the samples that the file at `path` lists: keys, one a line, or lines of JSON with a
    /// field `key`, as `bad_samples` and `problems.jsonl` have them.
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

    fn leave_out(&mut self, select: impl FnOnce(&Dataset) -> Result<Vec<u64>>) {
        let (Ok(dataset), Ok(left_out)) = (&self.dataset, &mut self.left_out) else { return };
        match select(dataset) {
            Ok(more) => left_out.extend(more),
            Err(error) => self.left_out = Err(error),
        }
    }

    /// Only the first `samples` samples of the data set, of those that [`LoaderBuilder::skip`] leaves.
    pub fn take(mut self, samples: u64) -> Self {
        self.range.1 = Some(samples);
        self
    }

    /// Without the first `samples` samples of the data set.
    pub fn skip(mut self, samples: u64) -> Self {
        self.range.0 = samples;
        self
    }

    /// An epoch is `passes` passes over the samples, each in an order of its own.
    pub fn repeat(mut self, passes: u64) -> Self {
        self.epoch = EpochLength::Passes(passes);
        self
    }

    /// An epoch is `samples` samples, wherever passes end: the next epoch goes on from there.
    pub fn epoch_length(mut self, samples: u64) -> Self {
        self.epoch = EpochLength::Samples(samples);
        self
    }

    /// What is done about bad samples; by default they are errors.
    pub fn on_bad(mut self, on_bad: OnBad) -> Self {
        self.common.on_bad = on_bad;
        self
    }

    /// How many bad samples are put up with; 1,000 by default.
    pub fn bad_budget(mut self, samples: u64) -> Self {
        self.common.bad_budget = samples;
        self
    }

    /// Which checksums are asked while parts are read; none by default.
    pub fn verify(mut self, verify: Verify) -> Self {
        self.verify = verify;
        self
    }

    /// How shards are read; by default [`SourceKind::File`], whatever a given data set was opened with:
    /// memory is then what was promised, and a shard that is cut is an error code.
    pub fn source(mut self, source: SourceKind) -> Self {
        self.source = source;
        self
    }

    /// Has the shards opened by `opener`, which may read them from a storage of its own; instead of
    /// [`LoaderBuilder::source`].
    pub fn opener(mut self, opener: Arc<dyn Open>) -> Self {
        self.opener = Some(opener);
        self
    }

    /// The most memory for batches in preparation, threads and decoding, as `"2GiB"`. The default is 2
    /// GiB, and more where it is needed: 48 MiB a thread and twice `prefetch + 2` batches, up to half of
    /// the machine's memory. Batches that the consumer keeps are not counted.
    pub fn memory(mut self, bound: &str) -> Self {
        self.common.set_memory(bound);
        self
    }

    /// Threads that work for this loader at once; by default one a core.
    pub fn threads(mut self, threads: usize) -> Self {
        self.common.set_threads(threads);
        self
    }

    /// Batches in preparation at once; 4 by default, fewer if memory has no room.
    pub fn prefetch(mut self, batches: usize) -> Self {
        self.common.prefetch = batches;
        self
    }

    /// Goes on where `state` was taken, with any world, batch, threads and prefetch.
    pub fn resume(mut self, state: LoaderState) -> Self {
        self.resume = Some(state);
        self
    }
}
