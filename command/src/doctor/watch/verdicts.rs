//! `Verdict`: whether a requirement was kept, with its number. A function of the summary alone.

use serde::{Serialize, Serializer};

use super::causes::{self, Remedy};
use super::look::Look;
use super::summary::Summary;
use super::targets::{Figure, Requirement};

/// Whether a requirement was kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum State {
    Kept,
    Broken,
    Unmeasured,
}

/// A requirement, and what was measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Verdict {
    #[serde(serialize_with = "name")]
    pub(crate) figure: Figure,
    pub(crate) state: State,
    /// The limit, and whether the figure must be at least that, not at most.
    pub(crate) required: f64,
    pub(crate) at_least: bool,
    pub(crate) measured: Option<f64>,
    pub(crate) unit: &'static str,
    /// Where the worst number was measured: `GPU 1`, `vda`.
    pub(crate) place: Option<String>,
    /// True if the figure was required by its name: it must then be measured.
    pub(crate) named: bool,
    /// Why a broken requirement is, and what to try; what would have to be watched to measure it.
    #[serde(flatten)]
    pub(crate) remedy: Option<Remedy>,
}

fn name<S: Serializer>(figure: &Figure, to: S) -> Result<S::Ok, S::Error> {
    figure.name().serialize(to)
}

impl Verdict {
    /// Returns true if a command that requires this fails.
    pub(crate) fn fails(&self) -> bool {
        self.state == State::Broken || (self.state == State::Unmeasured && self.named)
    }
}

/// A number, and where it was measured.
pub(crate) struct Measured {
    pub(crate) value: f64,
    pub(crate) place: Option<String>,
}

/// Judges each requirement.
pub(crate) fn judge(requirements: &[Requirement], summary: &Summary) -> Vec<Verdict> {
    requirements.iter().map(|requirement| verdict(requirement, summary)).collect()
}

fn verdict(of: &Requirement, summary: &Summary) -> Verdict {
    let figure = of.figure;
    let look = &summary.look;
    // Without a sample the counters have not moved, which is no measurement.
    let is_watched = summary.samples > 0;
    let measured = if is_watched { measure(figure, look) } else { None };
    let state = match &measured {
        None => State::Unmeasured,
        Some(found) if figure.at_least() && found.value >= of.limit => State::Kept,
        Some(found) if !figure.at_least() && found.value <= of.limit => State::Kept,
        Some(_) => State::Broken,
    };
    let remedy = match (state, &measured) {
        (State::Broken, Some(found)) => Some(causes::remedy(of, found.value, look)),
        (State::Unmeasured, _) if is_watched => Some(causes::unmeasured(figure, look)),
        (State::Unmeasured, _) => Some(causes::without_sample()),
        _ => None,
    };
    Verdict {
        figure,
        state,
        required: of.limit,
        at_least: figure.at_least(),
        measured: measured.as_ref().map(|found| found.value),
        unit: figure.unit(),
        place: measured.and_then(|found| found.place),
        named: of.named,
        remedy,
    }
}

/// Measures a figure: the worst of all GPUs, loaders and disks.
pub(crate) fn measure(figure: Figure, look: &Look) -> Option<Measured> {
    match figure {
        Figure::Sm => lowest_gpu(look, |gpu| gpu.sm_percent),
        Figure::GpuMemory => lowest_gpu(look, |gpu| gpu.memory_used_percent),
        Figure::BatchP50 => slowest_loader(look, |loader| Some(loader.batch_wait_ms?.p50)),
        Figure::BatchP95 => slowest_loader(look, |loader| Some(loader.batch_wait_ms?.p95)),
        Figure::BatchP99 => slowest_loader(look, |loader| Some(loader.batch_wait_ms?.p99)),
        Figure::Epoch => slowest_loader(look, |loader| loader.epoch_s),
        Figure::WorkerCpu => {
            let place = look.training.is_none().then(|| "all programs".to_string());
            let known = look.cpu.processors > 0;
            known.then(|| Measured { value: causes::cpu_percent(look), place })
        }
        Figure::Disk => look
            .busiest_disk()
            .map(|disk| Measured { value: disk.busy_percent, place: Some(disk.name.clone()) }),
        Figure::Cache => cache(look),
    }
}

/// GPUs that something uses: others wait for no data.
fn used_gpus(look: &Look) -> impl Iterator<Item = &super::super::gpus::Sample> {
    fn is_used(gpu: &super::super::gpus::Sample) -> bool {
        gpu.sm_percent.is_some_and(|sm| sm > 0.0)
            || gpu.memory_used_percent.is_some_and(|used| used > 2.0)
    }

    let none = !look.gpus.iter().any(is_used);
    look.gpus.iter().filter(move |gpu| none || is_used(gpu))
}

fn lowest_gpu(
    look: &Look,
    figure: fn(&super::super::gpus::Sample) -> Option<f64>,
) -> Option<Measured> {
    let known = used_gpus(look).filter_map(|gpu| Some((gpu.gpu, figure(gpu)?)));
    let (gpu, value) = known.min_by(|a, b| a.1.total_cmp(&b.1))?;
    Some(Measured { value, place: Some(format!("GPU {gpu}")) })
}

fn slowest_loader(
    look: &Look,
    figure: fn(&super::loader_look::LoaderLook) -> Option<f64>,
) -> Option<Measured> {
    let known = look.loaders.iter().filter_map(|loader| Some((loader, figure(loader)?)));
    let (loader, value) = known.max_by(|a, b| a.1.total_cmp(&b.1))?;
    let place = match loader.rank {
        Some(rank) if loader.world_size.is_some_and(|world| world > 1) => format!("rank {rank}"),
        _ => format!("process {}", loader.pid),
    };
    Some(Measured { value, place: Some(place) })
}

/// Measures the share of reads that needed no disk and no store: of a loader's cache, if it has one, otherwise of what
/// the training reads.
fn cache(look: &Look) -> Option<Measured> {
    let caches = look.loaders.iter().filter_map(|loader| loader.cache_hit_percent);
    if let Some(value) = caches.min_by(f64::total_cmp) {
        return Some(Measured { value, place: Some("the local cache".into()) });
    }
    let read = causes::asked_mb_per_s(look).filter(|asked| *asked > 0.01)?;
    let from_disk = look.training.as_ref()?.disk_mb_per_s?;
    let value = 100.0 * (1.0 - from_disk / read).clamp(0.0, 1.0);
    Some(Measured { value, place: Some("the page cache".into()) })
}
