//! `pack plan-epoch`: what an epoch asks of a storage, and whether the storage feeds it, before anything runs.
//!
//! The requests are those of the loader, which forecasts them by its own rules; this file divides them among ranks, nodes
//! and seconds. Prints nothing. Floors: `options report` (data) < `bounds cost loading` <
//! `classes packs suggestion` < this file.

mod bounds;
mod classes;
mod cost;
mod loading;
pub(crate) mod options;
mod packs;
pub(crate) mod report;
mod suggestion;

use tarflume::{Dataset, Forecast, Size};
use tarflume_base::{Failure, units};
use tarflume_formats::url::url_of;
use tarflume_formats::url::without_secrets;

use self::bounds::{StepNeeds, bounds, shortest};
use self::classes::classes;
use self::cost::cost;
use self::loading::{forecast, open};
use self::options::{Job, Options};
use self::report::{
    Epoch, JobReport, Judged, LookedUp, NodeCache, Opening, Rate, Readahead, Report,
};
use self::suggestion::Search;

/// Bytes of a slot of a cache.
const SLOT: u64 = 1 << 20;

/// Plans an epoch.
///
/// # Errors
/// Returns an error if the data set cannot be opened, or the loader refuses the options.
pub(crate) fn plan(options: &Options) -> Result<Report, Failure> {
    let dataset = open(options)?;
    let packed = options.packs.as_ref();
    let packed = packed.map(|by| packs::packs(&dataset, &options.job, by)).transpose()?;
    let options = &in_samples(options, packed.as_ref());
    let forecast = forecast(&dataset, &options.job, options.samples)?;
    // Another server with the protocol of a store has another price, and other limits.
    let own = dataset.fetch_stats().is_none_or(|fetch| fetch.usd().is_some());
    let needs = StepNeeds::of(&forecast, &options.job);
    let step_ms = options.step.map(|step| step.as_secs_f64() * 1e3);
    let judged = judge(&dataset, &forecast, options, own)?;
    let sizes = dataset.shards().iter().map(|shard| shard.bytes());
    let sizes = sizes.collect::<Result<Vec<u64>, _>>()?;
    let slots = sizes.iter().map(|bytes| bytes.div_ceil(SLOT)).sum();
    let opening = opening(&dataset);
    let job = job_report(options);
    Ok(Report {
        path: without_secrets(&options.path.to_string_lossy()).into_owned(),
        samples: dataset.len(),
        shards: dataset.shards().len() as u64,
        bytes: sizes.iter().sum(),
        epoch: epoch(&forecast),
        looked_up: looked_up(&forecast),
        readahead: readahead(&forecast, &options.job),
        node_cache: NodeCache { bytes: slots * SLOT, slots },
        cost: cost(&forecast, &opening, options, job.nodes, own),
        job,
        opening,
        rate: step_ms.map(|step_ms| rate(&forecast, &needs, step_ms)),
        judged,
        packs: packed,
        classes: classes(&dataset, options)?,
        notes: notes(&forecast, options),
    })
}

/// The options with the samples of a batch on average, if a batch is a number of packs.
fn in_samples(options: &Options, packs: Option<&report::Packs>) -> Options {
    let mut options = options.clone();
    if let Some(packs) = packs {
        let samples = options.job.batch as f64 * packs.samples as f64 / packs.packs.max(1) as f64;
        options.job.batch = (samples.round() as u64).max(1);
    }
    options
}

/// Compares the job with what the storage allows.
fn judge(
    dataset: &Dataset,
    forecast: &Forecast,
    options: &Options,
    own: bool,
) -> Result<Judged, Failure> {
    let scheme = url_of(&options.path).and_then(|url| url.split_once("://")).map(|(s, _)| s);
    let scheme = scheme.map(|scheme| if own { scheme } else { "" });
    let needs = StepNeeds::of(forecast, &options.job);
    let mut bounds = bounds(forecast, &needs, &options.storage_limits, scheme);
    let shortest_step_ms = shortest(&bounds);
    let mut judged = Judged {
        shortest_step_ms,
        bounds: Vec::new(),
        feeds: None,
        bandwidth_is_too_low: false,
        suggestion: None,
    };
    if let Some(step_ms) = options.step.map(|step| step.as_secs_f64() * 1e3) {
        bounds = bounds.into_iter().map(|bound| bound.used_by(step_ms)).collect();
        let parts = forecast.part_bytes as f64 / forecast.bytes.max(1) as f64;
        judged.bandwidth_is_too_low = bounds
            .iter()
            .any(|bound| bound.unit == "bytes" && bound.shortest_step_ms * parts > step_ms);
        judged.feeds = Some(shortest_step_ms <= step_ms);
        if judged.feeds == Some(false) && !judged.bandwidth_is_too_low {
            judged.suggestion = Search { dataset, options, scheme, step_ms }.blocks()?;
        }
    }
    Ok(Judged { bounds, ..judged })
}

fn job_report(options: &Options) -> JobReport {
    JobReport {
        world_size: options.job.world,
        nodes: options.job.world.div_ceil(options.job.ranks_per_node),
        ranks_per_node: options.job.ranks_per_node,
        batch_size: options.job.batch,
        epochs: options.epochs,
    }
}

fn looked_up(forecast: &Forecast) -> LookedUp {
    LookedUp {
        samples: forecast.looked_up,
        shards: forecast.shards,
        exact: forecast.uncertainty.is_none(),
        uncertainty_percent: forecast.uncertainty.map(|share| 100.0 * share),
    }
}

fn epoch(forecast: &Forecast) -> Epoch {
    Epoch {
        steps: forecast.steps,
        samples: forecast.rows,
        dropped: forecast.dropped,
        requests: forecast.requests,
        requests_per_rank: forecast.requests.div_ceil(forecast.ranks.max(1)),
        bytes: forecast.bytes,
        part_bytes: forecast.part_bytes,
    }
}

/// The manifest and all sidecars.
fn opening(dataset: &Dataset) -> Opening {
    let sidecars = dataset.shards().iter().map(|shard| shard.sidecar_bytes());
    Opening { requests_per_node: 1 + dataset.shards().len() as u64, bytes_per_node: sidecars.sum() }
}

fn readahead(forecast: &Forecast, job: &Job) -> Readahead {
    Readahead {
        limit: job.readahead,
        bytes_per_rank: forecast.ahead_bytes,
        bytes_per_node: forecast.ahead_bytes * job.ranks_per_node,
        requests_at_once: forecast.at_once,
    }
}

fn rate(forecast: &Forecast, needs: &StepNeeds, step_ms: f64) -> Rate {
    let requests_per_s = needs.requests.per_second(step_ms / 1e3);
    let bytes_per_s = needs.bytes.per_second(step_ms / 1e3);
    let epoch_seconds = forecast.steps as f64 * step_ms / 1e3;
    let samples_per_s = forecast.rows as f64 / epoch_seconds.max(1e-9);
    Rate { step_ms, epoch_seconds, samples_per_s, requests_per_s, bytes_per_s }
}

/// What a reader of the numbers needs.
fn notes(forecast: &Forecast, options: &Options) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(bytes) = forecast.too_long {
        notes.push(format!(
            "what is shuffled together takes {}, more than half of the readahead, so each batch is requested by \
             itself; give --readahead {}, or a smaller --window or --buffer-size",
            units::bytes(bytes),
            Size::new(2 * bytes).at_least()
        ));
    }
    if url_of(&options.path).is_none() {
        notes.push("this is a folder: it is planned as if it were in S3".into());
    }
    notes
}
