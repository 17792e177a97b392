//! `Forecast`: what an epoch will ask of a store, before anything is read. From the manifest and the sidecars.

use serde::{Deserialize, Serialize};
use tarflume_dataset::pieces::AT_ONCE;
use tarflume_types::{Error, Result, Size};

use crate::loader::arrays::any_source::AnySource;
use crate::loader::indexed::ahead::reach::Reach;
use crate::loader::indexed::ahead::readahead::Readahead;
use crate::loader::indexed::new_shards::NewShards;
use crate::loader::indexed::walk::{RankWalk, ShardSubset, Tally, WalkRules};
use crate::loader::pipeline::source::BatchSource;
use crate::loader::shared::LoaderShared;
use crate::order::{By, Share, Shuffle, Split, Steps};

/// How a forecast is made.
///
/// ```
/// use tarflume::ForecastOptions;
///
/// let options = ForecastOptions { samples: 100_000, ..ForecastOptions::default() };
/// assert_eq!(options.readahead, "256MiB".parse()?);
/// # Ok::<(), tarflume::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ForecastOptions {
    /// The epoch.
    pub epoch: u64,
    /// Bytes that each rank fetches ahead, as `Storage::readahead` sets them.
    pub readahead: Size,
    /// Samples that are looked up. If all ranks together draw more in an epoch, evenly spread batches are looked up.
    pub samples: u64,
    /// Bytes of sidecars that are fetched for it, if the data set is in a store. With more, some shards are looked up.
    pub sidecars: Size,
}

impl Default for ForecastOptions {
    fn default() -> ForecastOptions {
        let readahead = Size::new(256 << 20);
        let sidecars = Size::new(512 << 20);
        ForecastOptions { epoch: 0, readahead, samples: 2_000_000, sidecars }
    }
}

/// What an epoch asks of a store, all ranks together. Requests that are repeated, after errors or because they are late,
/// are not in it; the loader repeats at most 2 % because they are late.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Forecast {
    /// Ranks of the job.
    pub ranks: u64,
    /// Steps of the rank that has most.
    pub steps: u64,
    /// Rows of all batches, padding too.
    pub rows: u64,
    /// Samples of the epoch that no batch has, because they do not fill one.
    pub dropped: u64,
    /// Requests for ranges of shards.
    pub requests: u64,
    /// Bytes that are asked for.
    pub bytes: u64,
    /// Bytes of the parts that the batches have.
    pub part_bytes: u64,
    /// Bytes that each rank keeps ahead of its reader: two stretches that are looked up together, or the batches in
    /// preparation.
    pub ahead_bytes: u64,
    /// Requests of each rank that can be on their way at the same time.
    pub at_once: u64,
    /// Bytes of the largest stretch, if the shuffle has stretches and one of them has no room in half of the readahead.
    /// The samples of its batches are then requested one by one.
    pub too_long: Option<u64>,
    /// Rows that were looked up; all of them, or a sample.
    pub looked_up: u64,
    /// Shards whose sidecars were opened.
    pub shards: u64,
    /// Twice the standard error of `requests`, as a share of it, if rows were sampled.
    pub uncertainty: Option<f64>,
}

/// A run of steps of one rank that is walked. Requests of the steps before `count_from` are not counted: they bring the
/// pieces to the state that they have in the middle of an epoch.
#[derive(Debug, Clone, Copy)]
struct Stretch {
    rank: u64,
    from: u64,
    count_from: u64,
    end: u64,
}

/// Bytes of a row before one was looked up.
const ROW_BYTES: u64 = 100_000;
/// Shards that are opened for a sample of batches: a process may map some 65,000 files.
const SHARDS: u64 = 10_000;
/// Rows that one group of sampled steps has at least.
const GROUP: u64 = 4096;

/// What makes a forecast for the loader of one rank.
pub(crate) struct Forecaster<'a> {
    shared: &'a LoaderShared,
    options: &'a ForecastOptions,
    /// Steps of each rank.
    steps: Vec<Steps>,
    only: Option<ShardSubset>,
    reach: Reach,
}

impl<'a> Forecaster<'a> {
    pub(crate) fn new(
        shared: &'a LoaderShared,
        options: &'a ForecastOptions,
    ) -> Result<Forecaster<'a>> {
        if let AnySource::Arrays(..) = *shared.source {
            let text = "a forecast is of requests for shards; arrays are local files, and no store is asked";
            return Err(Error::usage(text));
        }
        if shared.groups.is_some() {
            let text = "a forecast is of batches of neighbors in the order, and these are of buckets or packs";
            return Err(Error::usage(text));
        }
        let world = shared.share.split().world();
        let steps = (0..world)
            .map(|rank| Ok(share_of(shared, rank)?.steps(0, shared.batch, shared.remainder)?));
        let steps = steps.collect::<Result<Vec<_>>>()?;
        let only = match shared.shuffle {
            Shuffle::Blocks { .. } | Shuffle::Buffer { .. } => None, // stretches have few shards
            _ => subset(shared, options.sidecars.bytes()),
        };
        let reach = shared.reach(Some(options.readahead.bytes()));
        Ok(Forecaster { shared, options, steps, only, reach })
    }

    pub(crate) fn forecast(&self) -> Result<Forecast> {
        let rows: u64 = self.steps.iter().map(rows_of).sum();
        let dataset = self.shared.source.dataset();
        let mut new_shards = NewShards::new(dataset.shards().len());
        let exact = rows <= self.options.samples && self.only.is_none();
        let groups = if exact { self.all() } else { self.sample() };
        let mut tallies: Vec<Tally> = Vec::new();
        for group in &groups {
            let last = tallies.iter().rfind(|tally| tally.rows > 0);
            let row_bytes = last.map_or(ROW_BYTES, |tally| tally.part_bytes / tally.rows);
            tallies.push(self.walk(group, row_bytes, &mut new_shards)?);
            let (shards, bytes) = new_shards.opened(dataset);
            let fetched = dataset.is_remote() && bytes > self.options.sidecars.bytes();
            if !exact && tallies.len() >= 4 && (fetched || shards as u64 > SHARDS) {
                break;
            }
        }
        let sum = tallies.iter().fold(Tally::default(), |sum, tally| sum.and(tally));
        let uncertainty = (!exact).then(|| uncertainty(&tallies));
        let shards = new_shards.opened(dataset).0 as u64;
        Ok(self.scaled(&sum, rows, shards, uncertainty))
    }

    /// From what was walked to the epoch.
    fn scaled(&self, sum: &Tally, rows: u64, shards: u64, uncertainty: Option<f64>) -> Forecast {
        let world = self.steps.len() as u64;
        let scale = uncertainty.map(|_| rows as f64 / sum.rows.max(1) as f64);
        let requests = whole(sum.requests, scale);
        let steps = self.steps.iter().map(Steps::count);
        let per_step = requests as f64 / steps.clone().sum::<u64>().max(1) as f64;
        let depth = self.shared.budget.depth as u64;
        let fits = sum.stretches > 0 && sum.fitting == sum.stretches;
        let (ahead_bytes, ahead_steps) = if fits {
            (2 * sum.stretch_bytes, self.stride().max(depth))
        } else {
            (depth * sum.batch_bytes, depth)
        };
        let at_once = (per_step * ahead_steps as f64).ceil() as u64;
        let bytes = whole(sum.bytes, scale);
        let each = bytes.checked_div(requests).unwrap_or(0).max(1);
        let room = (self.options.readahead.bytes() / each).max(1);
        let epoch = self.shared.order.epoch_samples();
        Forecast {
            ranks: world,
            steps: steps.max().unwrap_or(0),
            rows,
            dropped: epoch.saturating_sub(rows),
            requests,
            bytes,
            part_bytes: whole(sum.part_bytes, scale),
            ahead_bytes: ahead_bytes.min(self.options.readahead.bytes()),
            at_once: at_once.clamp(1, room.min(AT_ONCE as u64)),
            too_long: match self.reach.too_long {
                None if sum.fitting < sum.stretches => Some(sum.stretch_bytes),
                too_long => too_long,
            },
            looked_up: sum.rows,
            shards,
            uncertainty,
        }
    }

    /// Steps that the readahead looks up together; 1 if it looks up none.
    fn stride(&self) -> u64 {
        self.reach.steps(self.shared.stride())
    }

    /// All steps of all ranks.
    fn all(&self) -> Vec<Stretch> {
        self.steps
            .iter()
            .enumerate()
            .map(|(rank, steps)| Stretch {
                rank: rank as u64,
                from: 0,
                count_from: 0,
                end: steps.count(),
            })
            .collect()
    }

    /// Evenly spread groups of steps: one stretch that is not counted, and at least one that is.
    fn sample(&self) -> Vec<Stretch> {
        let stride = self.stride();
        let batch = self.shared.batch.max(1);
        let counted = stride * GROUP.div_ceil(stride.saturating_mul(batch)).max(1);
        // Of some shards only, a draw is cheap and most are not looked up.
        let factor = self.only.as_ref().map_or(1.0, |only| only.factor.min(64.0));
        let draws = (self.options.samples as f64 * factor / 2.0) as u64;
        let groups = (draws / (batch * (counted + 2 * stride))).clamp(4, 256);
        (0..groups).map(|number| self.group(number, groups, counted)).collect()
    }

    /// Group `number` of so many, of which `counted` steps are counted.
    fn group(&self, number: u64, groups: u64, counted: u64) -> Stretch {
        let stride = self.stride();
        let rank = number % self.steps.len() as u64;
        let count = self.steps[rank as usize].count();
        let last = count.saturating_sub(counted + stride) / stride;
        let from = stride * (last * number / (groups - 1).max(1));
        let count_from = (from + stride).min(count.saturating_sub(1));
        Stretch { rank, from, count_from, end: (count_from + counted).min(count) }
    }

    fn walk(&self, group: &Stretch, row_bytes: u64, new_shards: &mut NewShards) -> Result<Tally> {
        let shared = self.shared;
        let share = share_of(shared, group.rank)?;
        let steps = &self.steps[group.rank as usize];
        let first = steps.rows(group.from).next().map_or(0, |(position, _)| position);
        let epoch = self.options.epoch;
        let stride = shared.stride();
        let ahead = share.order().cursor(epoch, first)?;
        let mut readahead = Readahead::new(self.reach, stride, steps.clone(), ahead);
        if let Some(readahead) = &mut readahead {
            readahead.begin(group.from);
        }
        let rules = WalkRules {
            dataset: shared.source.dataset(),
            wanted: &shared.source.columns().wanted,
            budget: shared.budget,
            threads: shared.source.threads(),
            room: self.options.readahead.bytes(),
            only: self.only.as_ref(),
            row_bytes,
        };
        let cursor = share.order().cursor(epoch, first)?;
        let mut walk = RankWalk::new(rules, steps.clone(), cursor, readahead);
        let mut before = Tally::default();
        for step in group.from..group.end {
            if step == group.count_from {
                before = *walk.tally();
            }
            walk.step(step, new_shards)?;
        }
        Ok(walk.tally().since(&before))
    }
}

/// The amount of the whole epoch, `scale` times what was walked; `None` if the epoch was walked.
fn whole(walked: u64, scale: Option<f64>) -> u64 {
    scale.map_or(walked, |scale| (walked as f64 * scale).round() as u64)
}

fn share_of(shared: &LoaderShared, rank: u64) -> Result<Share> {
    let split = shared.share.split();
    let own = Split::new(rank, split.world())?;
    let own = if split.by() == By::Shard { own.by_shard() } else { own };
    Ok(Share::new(&shared.order, own)?)
}

/// Rows of all steps; only the last step may be shorter than a batch.
fn rows_of(steps: &Steps) -> u64 {
    match steps.count() {
        0 => 0,
        count => (count - 1) * steps.batch() + steps.rows(count - 1).len() as u64,
    }
}

/// Evenly spread shards, so few that they can be opened and, of a store, that their sidecars take at most `most` bytes;
/// `None` if these are all.
fn subset(shared: &LoaderShared, most: u64) -> Option<ShardSubset> {
    let dataset = shared.source.dataset();
    let shards = dataset.shards();
    let bytes: u64 = shards.iter().map(|shard| shard.sidecar_bytes()).sum();
    let by_bytes = if dataset.is_remote() { bytes.div_ceil(most.max(1)) } else { 1 };
    let every = by_bytes.max((shards.len() as u64).div_ceil(SHARDS)) as usize;
    if every <= 1 {
        return None;
    }
    let chosen: Vec<bool> = (0..shards.len()).map(|number| number % every == 0).collect();
    let pairs = dataset.counts().iter().zip(&chosen);
    let samples: u64 = pairs.filter(|(_, chosen)| **chosen).map(|(count, _)| count).sum();
    let factor = dataset.len() as f64 / samples.max(1) as f64;
    Some(ShardSubset { chosen, factor })
}

/// Twice the standard error of requests a row, of groups of about the same size, as a share of it.
fn uncertainty(tallies: &[Tally]) -> f64 {
    let rates = tallies.iter().filter(|tally| tally.rows > 0);
    let rates: Vec<f64> = rates.map(|t| t.requests as f64 / t.rows as f64).collect();
    let count = rates.len() as f64;
    let mean = rates.iter().sum::<f64>() / count.max(1.0);
    let variance = rates.iter().map(|rate| (rate - mean) * (rate - mean)).sum::<f64>()
        / (count - 1.0).max(1.0);
    if mean > 0.0 { 2.0 * (variance / count).sqrt() / mean } else { 0.0 }
}
