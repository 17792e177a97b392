//! Which blocks would need so few requests that a storage feeds the job. Tries settings with the loader's forecast.

use std::ops::RangeInclusive;

use tarflume::{Dataset, Forecast, Shuffle};
use tarflume_base::Failure;

use super::bounds::{StepNeeds, bounds, shortest};
use super::loading::forecast;
use super::options::{Job, Options};
use super::report::Suggestion;

/// Samples that are looked up for one setting.
const LOOKED_UP: u64 = 200_000;
/// Sizes of blocks that are tried, the smallest and best mixed first.
const BLOCKS: [u64; 9] = [16, 32, 64, 128, 256, 512, 1024, 2048, 4096];
/// Blocks that are shuffled together: the fewest that still mix, to the most.
const WINDOWS: RangeInclusive<u64> = 4..=64;

/// What is tried, and on what.
pub(super) struct Search<'a> {
    pub(super) dataset: &'a Dataset,
    pub(super) options: &'a Options,
    /// Of the URL.
    pub(super) scheme: Option<&'a str>,
    pub(super) step_ms: f64,
}

impl Search<'_> {
    /// The smallest blocks, in the largest window that has room in the readahead, that the storage feeds; `None` if there are
    /// none. Ranks that share blocks by position ask for parts of them, so a split by shard is tried, too.
    ///
    /// # Errors
    /// As those of [`forecast`].
    pub(super) fn blocks(&self) -> Result<Option<Suggestion>, Failure> {
        let job = &self.options.job;
        if let Some(found) = self.with_split(job.by_shard)? {
            return Ok(Some(found));
        }
        let can = !job.by_shard && job.world > 1;
        if !can || (self.dataset.shards().len() as u64) < job.world {
            return Ok(None);
        }
        // The job was forecast with its own split: what is refused here is the other split.
        Ok(self.with_split(true).unwrap_or_default())
    }

    fn with_split(&self, by_shard: bool) -> Result<Option<Suggestion>, Failure> {
        let job = &self.options.job;
        for block in BLOCKS.into_iter().filter(|size| *size <= self.dataset.len()) {
            let Some(mut window) = window(self.dataset, job, block)? else { break };
            while window >= *WINDOWS.start() {
                let shuffle = Shuffle::Blocks { block, window, seed: job.shuffle.seed() };
                let job = Job { shuffle, by_shard, ..job.clone() };
                let samples = LOOKED_UP.min(self.options.samples);
                let forecast = forecast(self.dataset, &job, samples)?;
                if forecast.too_long.is_some() {
                    window /= 2; // bytes between neighbors are read, too
                    continue;
                }
                match self.feeding(&forecast, &job, block, window) {
                    Some(found) => return Ok(Some(found)),
                    None => break, // larger blocks need fewer requests
                }
            }
        }
        Ok(None)
    }

    /// The suggestion, if the storage feeds it.
    fn feeding(
        &self,
        forecast: &Forecast,
        job: &Job,
        block_size: u64,
        window: u64,
    ) -> Option<Suggestion> {
        let needs = StepNeeds::of(forecast, job);
        let bounds = bounds(forecast, &needs, &self.options.storage_limits, self.scheme);
        let shortest = shortest(&bounds);
        (shortest <= self.step_ms).then(|| Suggestion {
            block_size,
            window,
            split: if job.by_shard { "shard" } else { "position" },
            requests: forecast.requests,
            bytes: forecast.bytes,
            utilization_percent: 100.0 * shortest / self.step_ms,
        })
    }
}

/// The largest window of which two have room in the readahead.
fn window(dataset: &Dataset, job: &Job, block: u64) -> Result<Option<u64>, Failure> {
    let mut bytes = 0;
    for shard in dataset.shards() {
        bytes += shard.bytes()?;
    }
    let block_bytes = block.saturating_mul(bytes / dataset.len().max(1)).max(1);
    let room = job.readahead / 2 / block_bytes;
    Ok((room >= *WINDOWS.start()).then(|| (1 << room.ilog2()).min(*WINDOWS.end())))
}
