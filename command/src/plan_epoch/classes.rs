//! Whether the batches of a shuffle mix the classes of a data set, from the classes of some batches.
//!
//! A data set that was written class by class, read through a small buffer, has batches of one class. That costs accuracy,
//! and no loader reports it.

use std::collections::HashMap;

use tarflume::{Dataset, ErrorKind, Shuffle, Split};
use tarflume_base::Failure;
use tarflume_formats::json::JsonRules;
use tarflume_formats::url::url_of;
use tarflume_inspect::stats::ClassSource;
use tarflume_order::score::labels::{LabelMixing, label_mixing};
use tarflume_order::{Order, Remainder, Share, Steps};

use super::loading::loader;
use super::options::{Job, Options};
use super::report::{BetterShuffle, Classes};

/// Samples of a folder whose classes are read for one shuffle.
const READ: u64 = 16_384;
/// Samples of a store: each is a request.
const FETCHED: u64 = 2_048;
/// Batches that say something about an epoch.
const LEAST: u64 = 8;
/// Samples of which one must have a class, if no place is given.
const TRIED: u64 = 16;
/// The share of its samples that a batch is worth, below which better shuffles are tried.
const POOR: f64 = 0.25;
/// The blocks that are tried then: docs/MIXING.md recommends them for data sets that are larger than memory.
const BLOCK_SIZE: u64 = 64;
const WINDOW: u64 = 256;

/// Returns how well the batches of the first rank mix the classes; `None` if the data set has no classes, or fewer than two,
/// or too few batches.
///
/// # Errors
/// The loader refuses the options, or a sample cannot be read.
pub(super) fn classes(dataset: &Dataset, options: &Options) -> Result<Option<Classes>, Failure> {
    let Some(place) = place(dataset, options)? else { return Ok(None) };
    let most = if url_of(&options.path).is_some() { FETCHED } else { READ };
    let mut labels = Labels { dataset, place, ids: HashMap::new(), known: HashMap::new() };
    let batches = labels.batches(&options.job, most)?;
    let Some(mixing) = label_mixing(&batches) else { return Ok(None) };
    let is_poor = mixing.effective < POOR * options.job.batch as f64;
    let better =
        if is_poor { better(&mut labels, &options.job, &mixing, most)? } else { Vec::new() };
    Ok(Some(Classes {
        place: labels.place.to_string(),
        count: mixing.labels,
        batches: batches.len() as u64,
        samples: batches.iter().map(|batch| batch.len() as u64).sum(),
        batch_is_worth: mixing.effective,
        most_frequent_percent: 100.0 * mixing.most_frequent,
        better,
    }))
}

/// Where the class of a sample is.
fn place(dataset: &Dataset, options: &Options) -> Result<Option<ClassSource>, Failure> {
    if options.class.is_some() || url_of(&options.path).is_some() {
        return Ok(options.class.clone());
    }
    let samples = dataset.len();
    for place in ClassSource::candidates(dataset.classes()) {
        for n in 0..TRIED.min(samples) {
            if class(dataset, &place, n * samples / TRIED.min(samples))?.is_some() {
                return Ok(Some(place));
            }
        }
    }
    Ok(None)
}

/// The class of a sample: of several, the first one by name. `None` if it has none, or its part cannot be read as one.
fn class(dataset: &Dataset, place: &ClassSource, ordinal: u64) -> Result<Option<String>, Failure> {
    let sample = match dataset.get_parts(ordinal, &[place.ext()]) {
        Ok(sample) => sample,
        Err(error) if error.kind() == ErrorKind::MissingPart => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let Some(bytes) = sample.part(place.ext()) else { return Ok(None) };
    let classes = place.classes(bytes, dataset.classes(), JsonRules::Python);
    Ok(classes.ok().and_then(|classes| classes.into_iter().next()))
}

/// The steps before the first one that is short.
fn full_steps(steps: &Steps) -> u64 {
    let mut full = steps.count();
    while full > 0 && steps.rows(full - 1).count() as u64 != steps.batch() {
        full -= 1;
    }
    full
}

/// The classes of a data set as numbers. Each sample is read once.
struct Labels<'a> {
    dataset: &'a Dataset,
    place: ClassSource,
    /// The number of each class; `None` is a sample without one.
    ids: HashMap<Option<String>, u32>,
    /// The numbers of the ordinals that were read.
    known: HashMap<u64, u32>,
}

impl Labels<'_> {
    /// The classes of full batches of the first rank, spread evenly over its first epoch, with about `most` samples.
    fn batches(&mut self, job: &Job, most: u64) -> Result<Vec<Vec<u32>>, Failure> {
        let loader = loader(self.dataset, job)?.build()?;
        let split = Split::new(0, job.world).map_err(tarflume::Error::from)?;
        let split = if job.by_shard { split.by_shard() } else { split };
        let share = Share::new(loader.order(), split).map_err(tarflume::Error::from)?;
        let steps = share.steps(0, job.batch, Remainder::Uneven).map_err(tarflume::Error::from)?;
        let full = full_steps(&steps);
        let wanted = (most / job.batch.max(1)).max(LEAST).min(full);
        let numbers = (0..wanted).map(|n| n * full / wanted);
        numbers.map(|step| self.batch(share.order(), &steps, step)).collect()
    }

    fn batch(&mut self, order: &Order, steps: &Steps, step: u64) -> Result<Vec<u32>, Failure> {
        let first = steps.rows(step).next().map_or(0, |(position, _)| position);
        let cursor = order.cursor(0, first).map_err(tarflume::Error::from)?;
        cursor.take(steps.batch() as usize).map(|draw| self.label(draw.ordinal)).collect()
    }

    fn label(&mut self, ordinal: u64) -> Result<u32, Failure> {
        if let Some(&label) = self.known.get(&ordinal) {
            return Ok(label);
        }
        let class = class(self.dataset, &self.place, ordinal)?;
        let next = self.ids.len() as u32;
        let label = *self.ids.entry(class).or_insert(next);
        self.known.insert(ordinal, label);
        Ok(label)
    }
}

/// The shuffles that make a batch worth more than twice as much.
fn better(
    labels: &mut Labels<'_>,
    job: &Job,
    found: &LabelMixing,
    most: u64,
) -> Result<Vec<BetterShuffle>, Failure> {
    let seed = job.shuffle.seed();
    let blocks = Shuffle::Blocks { block: BLOCK_SIZE, window: WINDOW, seed };
    let mut better = Vec::new();
    for (shuffle, options) in [
        (blocks, format!("--shuffle blocks --block-size {BLOCK_SIZE} --window {WINDOW}")),
        (Shuffle::Full { seed }, "--shuffle full".to_string()),
    ] {
        let batches = labels.batches(&Job { shuffle, ..job.clone() }, most)?;
        if let Some(mixing) = label_mixing(&batches)
            && mixing.effective > 2.0 * found.effective
        {
            better.push(BetterShuffle { options, batch_is_worth: mixing.effective });
        }
    }
    Ok(better)
}
