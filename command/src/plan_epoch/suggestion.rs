//! Which blocks would need so few requests that a storage feeds the job. Tries settings with the loader's forecast.

use tarflume::{Dataset, Shuffle};
use tarflume_packer::Failure;

use super::bounds::{StepNeeds, bounds, shortest};
use super::loading::forecast;
use super::options::{Job, Options};
use super::report::Suggestion;

/// Samples that are looked up for one setting.
const LOOKED_UP: u64 = 200_000;
/// Sizes of blocks that are tried, the smallest and best mixed first.
const BLOCKS: [u64; 9] = [16, 32, 64, 128, 256, 512, 1024, 2048, 4096];
/// Blocks that are shuffled together: the most, and the fewest that still mix.
const WINDOWS: (u64, u64) = (64, 4);

/// The smallest blocks, in the largest window that has room in the readahead, that the storage feeds; `None` if there are
/// none.
pub(super) fn blocks(
    dataset: &Dataset,
    options: &Options,
    scheme: Option<&str>,
    step_ms: f64,
) -> Result<Option<Suggestion>, Failure> {
    let seed = options.job.shuffle.seed();
    for block in BLOCKS.into_iter().filter(|size| *size <= dataset.len()) {
        let Some(mut window) = window(dataset, &options.job, block)? else { break };
        while window >= WINDOWS.1 {
            let shuffle = Shuffle::Blocks { block, window, seed };
            let job = Job { shuffle, ..options.job.clone() };
            let forecast = forecast(dataset, &job, LOOKED_UP.min(options.samples))?;
            if forecast.too_long.is_some() {
                window /= 2; // bytes between neighbors are read, too
                continue;
            }
            let needs = StepNeeds::of(&forecast, &job);
            let shortest = shortest(&bounds(&forecast, &needs, &options.storage_limits, scheme));
            if shortest > step_ms {
                break; // larger blocks need fewer requests
            }
            return Ok(Some(Suggestion {
                block_size: block,
                window,
                requests: forecast.requests,
                bytes: forecast.bytes,
                utilization_percent: 100.0 * shortest / step_ms,
            }));
        }
    }
    Ok(None)
}

/// The largest window of which two have room in the readahead.
fn window(dataset: &Dataset, job: &Job, block: u64) -> Result<Option<u64>, Failure> {
    let mut bytes = 0;
    for shard in dataset.shards() {
        bytes += shard.bytes()?;
    }
    let block_bytes = block.saturating_mul(bytes / dataset.len().max(1)).max(1);
    let room = job.readahead / 2 / block_bytes;
    Ok((room >= WINDOWS.1).then(|| (1 << room.ilog2()).min(WINDOWS.0)))
}
