//! Why a requirement is broken, what to change, and what that is predicted to do. Functions of what was measured.
//!
//! The predictions are arithmetic: a training that waits for data in a share `w` of its time would take `1 - w` of it
//! without waiting.

use serde::Serialize;
use tarflume_base::units;

use super::loader_look::LoaderLook;
use super::look::{Disk, Look, Memory};
use super::targets::{Figure, Requirement};

/// A loader keeps up if the training waits for it in less than this percentage of its time.
const KEEPS_UP: f64 = 10.0;
/// A disk that is busy this percentage of the time limits what reads it; so do processors.
const FULL: f64 = 70.0;
const CPU_FULL: f64 = 80.0;
/// Others have the processors if these are busy to the first percentage, and the training uses at most the second.
const ALL_BUSY: f64 = 90.0;
const TRAINING_HAS: f64 = 60.0;
/// Reads below this size are those of small files.
const SMALL_READ: f64 = 64e3;

/// Why something is so, what to change, and the predicted effect.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Remedy {
    pub(crate) cause: String,
    pub(crate) change: String,
    pub(crate) effect: Option<String>,
}

/// What limits the rate of batches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Limiter {
    /// Nothing: the training does not wait for data.
    Nothing,
    /// A disk that is busy.
    Disk,
    /// A storage that answers slowly while no disk here is busy.
    Storage,
    /// Processors that are busy.
    Processors,
    /// Processors that other programs use.
    Others,
    /// Threads that are busy while processors are idle.
    Threads,
    /// Too few batches in preparation, or too little memory for them.
    Prefetch,
    Memory,
    /// Copies to a GPU, or its decoder of pictures.
    Upload,
    Decoder,
    Unknown,
}

/// Returns what limits the rate of batches: what the slowest loader says of itself, checked against the machine.
pub(crate) fn limiter(look: &Look) -> Limiter {
    let loader = slowest(look);
    if waited(look).is_some_and(|waited| waited < KEEPS_UP) {
        return Limiter::Nothing;
    }
    let disk = look.busiest_disk().is_some_and(|disk| disk.busy_percent >= FULL);
    let processors = cpu_percent(look) >= CPU_FULL;
    let others = look.training.is_some()
        && look.cpu.busy_percent >= ALL_BUSY
        && cpu_percent(look) <= TRAINING_HAS;
    match loader.and_then(|loader| loader.bottleneck.as_deref()) {
        Some("storage") if disk => Limiter::Disk,
        Some("storage") => Limiter::Storage,
        Some("decode" | "functions" | "loader") if processors => Limiter::Processors,
        Some("decode" | "functions" | "loader" | "prefetch") | None if others => Limiter::Others,
        Some("decode" | "functions" | "loader") => Limiter::Threads,
        Some("prefetch") => Limiter::Prefetch,
        Some("memory") => Limiter::Memory,
        Some("upload") => Limiter::Upload,
        Some("decoder") => Limiter::Decoder,
        _ if disk => Limiter::Disk,
        _ if processors => Limiter::Processors,
        _ if look.cpu.waiting_for_disk_percent >= 20.0 => Limiter::Storage,
        _ => Limiter::Unknown,
    }
}

/// Returns the loader that the training waits for most.
fn slowest(look: &Look) -> Option<&LoaderLook> {
    let known = look.loaders.iter().filter(|loader| loader.waited_percent.is_some());
    known.max_by(|a, b| a.waited_percent.unwrap_or(0.0).total_cmp(&b.waited_percent.unwrap_or(0.0)))
}

/// Returns the percentage of its time in which the training waits for data.
fn waited(look: &Look) -> Option<f64> {
    slowest(look)?.waited_percent
}

/// Returns the percentage of the usable processors that the training uses; without one, that all programs use.
pub(crate) fn cpu_percent(look: &Look) -> f64 {
    match &look.training {
        Some(training) => 100.0 * training.cores / look.usable(),
        None => look.cpu.busy_percent,
    }
}

/// Returns what the training reads, in MB/s: what its loaders read from shards, or what its calls read.
pub(crate) fn asked_mb_per_s(look: &Look) -> Option<f64> {
    let loaders: f64 = look.loaders.iter().map(|loader| loader.read_mb_per_s).sum();
    if loaders > 0.0 { Some(loaders) } else { look.training.as_ref()?.calls_mb_per_s }
}

/// Returns why a requirement is broken.
pub(crate) fn remedy(of: &Requirement, value: f64, look: &Look) -> Remedy {
    match of.figure {
        Figure::GpuMemory => gpu_memory(of.limit, value),
        Figure::WorkerCpu => worker_cpu(of.limit, value, look),
        Figure::Disk => disk(of.limit, value, look),
        Figure::Cache => cache(of.limit, look),
        Figure::Sm | Figure::BatchP50 | Figure::BatchP95 | Figure::BatchP99 | Figure::Epoch => {
            let effect = without_waiting(of, value, look);
            Remedy { effect, ..limited(limiter(look), of.figure, look) }
        }
    }
}

/// Returns why nothing is measured by a watch that ended before its first sample.
pub(crate) fn without_sample() -> Remedy {
    let cause = "the watch ended before its first sample".into();
    Remedy { cause, change: "watch longer".into(), effect: None }
}

/// Returns what has to be watched to measure a figure.
pub(crate) fn unmeasured(figure: Figure, look: &Look) -> Remedy {
    let attach =
        "watch a training with --pid PID, started with TARFLUME_STATS=FOLDER in its environment";
    let (cause, change) = match figure {
        Figure::Sm | Figure::GpuMemory => {
            ("no GPU of this machine told it", "run it where an NVIDIA driver answers: pack doctor")
        }
        Figure::WorkerCpu => ("/proc/stat can't be read", "run it on Linux"),
        Figure::Disk => {
            ("no disk of this machine did anything", "watch the machine whose disks are read")
        }
        Figure::Cache if look.training.is_none() => ("no training was named", "add --pid PID"),
        Figure::Cache => {
            ("the training read nothing, or is another user's", "watch it as its user")
        }
        _ if look.loaders.is_empty() => ("no loader told what it does", attach),
        _ => ("no batch was delivered in this time", "watch longer"),
    };
    Remedy { cause: cause.into(), change: change.into(), effect: None }
}

/// Returns the cause and the change for what limits batches.
fn limited(limiter: Limiter, figure: Figure, look: &Look) -> Remedy {
    let waits = waited(look).map_or(String::new(), |waited| {
        format!("; the training waits for data in {waited:.0} % of its time")
    });
    let (cause, change) = match limiter {
        Limiter::Nothing => return without_limit(figure, look),
        Limiter::Disk => match look.busiest_disk() {
            Some(disk) => (busy_disk(disk), less_disk(disk)),
            None => return unknown(look),
        },
        Limiter::Storage => {
            let disk = look.busiest_disk().map_or(String::new(), |disk| {
                format!(
                    ", although {} is busy only {:.0} % of the time",
                    disk.name, disk.busy_percent
                )
            });
            (
                format!("reads wait for a storage that answers slowly{disk}"),
                "ask for more at once (num_threads=, prefetch=), or keep the shards on a local disk (cache= for a store)"
                    .into(),
            )
        }
        Limiter::Processors => (processors_used(look), less_work(look)),
        Limiter::Others => (
            format!(
                "other programs have the processors: all are used to {:.0} %, the training uses {:.1} of {:.1}",
                look.cpu.busy_percent,
                look.training.as_ref().map_or(0.0, |training| training.cores),
                look.usable()
            ),
            "end other programs, or reserve processors for the training (taskset, a cgroup)".into(),
        ),
        Limiter::Threads => {
            let usable = look.usable().floor().max(1.0);
            (
                format!(
                    "the loader's threads are busy, and {:.0} % of the processors are used",
                    cpu_percent(look)
                ),
                format!("let more threads work: num_threads={usable:.0}"),
            )
        }
        Limiter::Prefetch => {
            let depth = slowest(look).and_then(|loader| loader.prepared_batches).unwrap_or(4.0);
            (
                "too few batches are in preparation at once".into(),
                format!("prefetch={:.0}", (depth * 2.0).max(2.0)),
            )
        }
        Limiter::Memory => (
            "the loader's memory limit has no room for another batch".into(),
            "a larger memory_limit=, or smaller batches".into(),
        ),
        Limiter::Upload => (
            "copies to the GPU take most of the time".into(),
            "send bytes and not floats: normalize on the GPU; see pack doctor for the link".into(),
        ),
        Limiter::Decoder => {
            ("the GPU's JPEG decoder is behind".into(), "a smaller device_decoder= share".into())
        }
        Limiter::Unknown => return unknown(look),
    };
    Remedy { cause: format!("{cause}{waits}"), change, effect: None }
}

/// Nothing that was watched is at its limit.
fn unknown(look: &Look) -> Remedy {
    let (cause, change) = if look.loaders.is_empty() {
        (
            "no disk and no processor is at its limit, and no loader told what it does",
            "watch it with --pid PID, started with TARFLUME_STATS=FOLDER; any other loader: tarflume.diagnose(loader)",
        )
    } else {
        (
            "no disk and no processor is at its limit",
            "print(loader.stats()) in the training names what its threads wait for",
        )
    };
    Remedy { cause: cause.into(), change: change.into(), effect: None }
}

/// The data is not what limits: the training's own work is.
fn without_limit(figure: Figure, look: &Look) -> Remedy {
    let share = waited(look).unwrap_or(0.0);
    let (cause, change) = match figure {
        Figure::BatchP95 | Figure::BatchP99 => (
            format!(
                "a few waits are long, the first batches of epochs among them; all together are {share:.0} % of the time"
            ),
            "prefetch= more batches, and let one loader run for all epochs".to_string(),
        ),
        Figure::BatchP50 => (
            format!("batches take long to use: waiting is {share:.0} % of the time"),
            "nothing, if that share is small enough; or smaller batches".to_string(),
        ),
        _ => (
            format!("the training's own steps: it waits for data in {share:.0} % of its time"),
            "larger batches, compiled steps, fewer synchronizations (.item(), printing) between steps".to_string(),
        ),
    };
    Remedy { cause, change, effect: None }
}

/// Predicts a figure for a training that never waits for data.
fn without_waiting(of: &Requirement, value: f64, look: &Look) -> Option<String> {
    let waited = waited(look)? / 100.0;
    let left = 1.0 - waited;
    if left <= 0.0 {
        return Some("nothing but waiting was seen: all of the time".into());
    }
    match of.figure {
        Figure::Sm => {
            Some(format!("without waiting, SM is at most {:.0} %", (value / left).min(100.0)))
        }
        Figure::Epoch => {
            let would = value * left;
            let enough = if would <= of.limit {
                "which keeps the promise"
            } else {
                "which is not enough: the steps themselves take longer"
            };
            Some(format!("without waiting, an epoch takes {}, {enough}", duration(would)))
        }
        _ => {
            let faster = 1.0 / left;
            Some(format!("without waiting, the training is at most {faster:.1} times as fast"))
        }
    }
}

fn gpu_memory(limit: f64, value: f64) -> Remedy {
    Remedy {
        cause: format!("the batches fill {value:.0} % of the GPU's memory"),
        change: "larger batches, if the recipe of the training allows it".into(),
        effect: Some(format!(
            "memory grows with the batch: about {:.1} times as many samples reach {limit:.0} %",
            limit / value.max(1.0)
        )),
    }
}

fn worker_cpu(limit: f64, value: f64, look: &Look) -> Remedy {
    let needed = look.usable() * value / limit.max(1.0);
    let less = 100.0 * (1.0 - limit / value.max(1e-9));
    Remedy {
        cause: processors_used(look),
        change: less_work(look),
        effect: Some(format!(
            "{needed:.1} processors do the same work at {limit:.0} %, or these with {less:.0} % less work for a sample"
        )),
    }
}

/// Returns `the training uses 7.8 of 8 processors, most of them python (4242) with 2.1`.
fn processors_used(look: &Look) -> String {
    let usable = look.usable();
    let Some(training) = &look.training else {
        return format!(
            "all programs together use {:.0} % of the processors",
            look.cpu.busy_percent
        );
    };
    let most = training.busiest.first().map_or(String::new(), |worker| {
        format!(", most of them {} ({}) with {:.1}", worker.name, worker.pid, worker.cores)
    });
    format!("the training uses {:.1} of {usable:.1} processors{most}", training.cores)
}

fn less_work(look: &Look) -> String {
    let gpu =
        if look.gpus.is_empty() { "" } else { ", JPEGs decoded by the GPU (device_decoder=)" };
    format!(
        "more processors, or less work for a sample: smaller stored pictures (pack build --resize){gpu}"
    )
}

fn disk(limit: f64, value: f64, look: &Look) -> Remedy {
    let Some(disk) = look.busiest_disk() else { return unknown(look) };
    let less = 100.0 * (1.0 - limit / value.max(1e-9));
    let effect = match disk.read_size_bytes {
        Some(size) if size < SMALL_READ => format!(
            "reads of 256 kB need {:.0} requests a second instead of {:.0}",
            disk.read_mb_per_s * 1e6 / 256e3,
            disk.reads_per_s
        ),
        _ => format!("{less:.0} % fewer bytes from this disk bring it to {limit:.0} %"),
    };
    Remedy { cause: busy_disk(disk), change: less_disk(disk), effect: Some(effect) }
}

/// Returns `vda is busy 97 % of the time with 310 reads of 118 kB and 12 writes a second`.
fn busy_disk(disk: &Disk) -> String {
    let size = disk.read_size_bytes.unwrap_or(0.0);
    format!(
        "{} is busy {:.0} % of the time with {:.0} reads of {} and {:.0} writes a second",
        disk.name,
        disk.busy_percent,
        disk.reads_per_s,
        units::bytes(size as u64),
        disk.writes_per_s
    )
}

fn less_disk(disk: &Disk) -> String {
    let small = disk.read_size_bytes.is_some_and(|size| size < SMALL_READ);
    if disk.write_mb_per_s > disk.read_mb_per_s {
        "write less: checkpoints and logs to another disk".into()
    } else if small {
        "pack the samples into shards (pack build), which are read in long pieces".into()
    } else {
        "a faster disk, memory for the page cache, or smaller stored pictures (pack build --resize)"
            .into()
    }
}

fn cache(limit: f64, look: &Look) -> Remedy {
    let asked = asked_mb_per_s(look).unwrap_or(0.0);
    if look.loaders.iter().any(|loader| loader.cache_hit_percent.is_some()) {
        return Remedy {
            cause: "the local cache does not have the bytes yet, or is smaller than the data set"
                .into(),
            change: "a larger TARFLUME_CACHE_SIZE; a first epoch always fills it".into(),
            effect: Some("an epoch whose bytes all fit is read from this disk alone".into()),
        };
    }
    let from_disk =
        look.training.as_ref().and_then(|training| training.disk_mb_per_s).unwrap_or(0.0);
    let memory = look.memory.as_ref();
    let room = memory.map_or("memory".to_string(), |memory| {
        units::bytes(memory.cgroup_limit_bytes.unwrap_or(memory.total_bytes))
    });
    Remedy {
        cause: format!(
            "{from_disk:.1} of {asked:.1} MB/s come from a disk{}",
            memory.map_or(String::new(), page_cache)
        ),
        change: format!(
            "a data set that fits beside the programs in {room}: smaller stored pictures, or more memory; a first epoch \
             always reads the disk"
        ),
        effect: Some(format!(
            "at {limit:.0} %, the disk gives {:.1} MB/s instead of {from_disk:.1}",
            asked * (1.0 - limit / 100.0)
        )),
    }
}

/// Returns `: the page cache holds 3.1 GB`.
fn page_cache(memory: &Memory) -> String {
    let again = if memory.file_refaults_per_s >= 100.0 {
        "; pages are read again soon after they had to leave it"
    } else {
        ""
    };
    format!(": the page cache holds {}{again}", units::bytes(memory.page_cache_bytes))
}

/// Returns `2 h 5 min`, `3 min 20 s`, `4.2 s`.
pub(crate) fn duration(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    match whole {
        172_800.. => format!("{} days", units::count(whole / 86_400)),
        3600.. => format!("{} h {} min", whole / 3600, whole % 3600 / 60),
        60.. => format!("{} min {} s", whole / 60, whole % 60),
        _ => format!("{seconds:.1} s"),
    }
}
