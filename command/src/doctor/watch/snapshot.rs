//! `Snapshot`: all counters of a machine and of a training at one moment, read from `/proc` and from files of loaders.

use std::time::Instant;

use super::super::cgroup;
use super::super::cpulist;
use super::super::gpus::Sample;
use super::super::surroundings::Surroundings;
use super::kernel::{self, DiskCounters, MemoryNow, NetworkCounters, Paging, Processors};
use super::loaders::{self, LoaderRecord};
use super::processes::{self, ProcessCounters};

/// What is watched beside the machine.
#[derive(Debug, Clone, Default)]
pub(crate) struct Subject {
    /// A process of the training: it and all that it started are watched.
    pub(crate) pid: Option<u64>,
    /// The folder of the files of loaders.
    pub(crate) stats: Option<String>,
}

impl Subject {
    /// Returns true if a process was named and does not run.
    pub(crate) fn has_ended(&self, of: &Surroundings) -> bool {
        self.pid.is_some_and(|pid| !of.has(format!("/proc/{pid}/stat")))
    }
}

/// Counters at one moment.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Snapshot {
    /// Seconds since the watch began.
    pub(crate) at: f64,
    pub(crate) gpus: Vec<Sample>,
    pub(crate) processors: Processors,
    /// Processors that the training may use: those of its list, and the time of its cgroup.
    pub(crate) usable: Option<f64>,
    pub(crate) memory: Option<MemoryNow>,
    /// Limit and use of the memory of the cgroup, in bytes.
    pub(super) group_memory: Option<cgroup::Memory>,
    pub(crate) paging: Paging,
    pub(crate) disks: Vec<DiskCounters>,
    pub(crate) network: Vec<NetworkCounters>,
    /// The processes of the training; `None` if none was named.
    pub(crate) processes: Option<Vec<ProcessCounters>>,
    pub(crate) loaders: Vec<LoaderRecord>,
}

impl Snapshot {
    /// Reads all counters. `gpus` are samples of this moment.
    pub(crate) fn take(
        of: &Surroundings,
        subject: &Subject,
        begin: Instant,
        gpus: Vec<Sample>,
    ) -> Snapshot {
        let at = begin.elapsed().as_secs_f64();
        let processors = kernel::processors(&of.text("/proc/stat").unwrap_or_default());
        let disks = of.text("/proc/diskstats").unwrap_or_default();
        let network = of.text("/proc/net/dev").unwrap_or_default();
        let processes = subject.pid.map(|pid| processes::tree(of, pid));
        let watched = subject.pid.map_or("self".to_string(), |pid| pid.to_string());
        Snapshot {
            at,
            gpus,
            usable: usable(of, &watched),
            memory: of.text("/proc/meminfo").and_then(|text| kernel::memory(&text)),
            group_memory: cgroup::memory_of_process(of, &watched),
            paging: kernel::paging(&of.text("/proc/vmstat").unwrap_or_default()),
            disks: kernel::disks(&disks, |name| is_disk(of, name)),
            network: carriers(of, kernel::network(&network)),
            loaders: loaders(of, subject, processes.as_deref()),
            processors,
            processes,
        }
    }

    /// Returns true if the process that is watched has ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.processes.as_ref().is_some_and(Vec::is_empty)
    }
}

/// Returns the number of processors that a process may use.
fn usable(of: &Surroundings, process: &str) -> Option<f64> {
    let status = of.text(format!("/proc/{process}/status"));
    let list = status
        .as_deref()
        .and_then(|status| status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")));
    let allowed = list.map(|list| cpulist::count(list.trim()) as f64);
    let limit = cgroup::processors_of_process(of, process);
    allowed.into_iter().chain(limit).min_by(f64::total_cmp).filter(|usable| *usable > 0.0)
}

/// Returns true for a disk: no part of one, no file as a disk, and no device that consists of others.
fn is_disk(of: &Surroundings, name: &str) -> bool {
    let virtual_names = ["loop", "ram", "zram", "sr", "fd", "nbd"];
    let folder = format!("/sys/block/{}", name.replace('/', "!"));
    !virtual_names.iter().any(|prefix| name.starts_with(prefix))
        && of.has(&folder)
        && of.names(format!("{folder}/slaves")).is_empty()
}

/// Returns the interfaces with hardware, so that a byte is not counted again by a bridge or a bond; without any, as in a
/// container, all.
fn carriers(of: &Surroundings, all: Vec<NetworkCounters>) -> Vec<NetworkCounters> {
    fn has_hardware(of: &Surroundings, one: &NetworkCounters) -> bool {
        of.has(format!("/sys/class/net/{}/device", one.name))
    }

    if all.iter().any(|one| has_hardware(of, one)) {
        all.into_iter().filter(|one| has_hardware(of, one)).collect()
    } else {
        all
    }
}

/// Returns the loaders of the watched processes; without a process, those in the folder whose process runs.
fn loaders(
    of: &Surroundings,
    subject: &Subject,
    processes: Option<&[ProcessCounters]>,
) -> Vec<LoaderRecord> {
    let Some(processes) = processes else {
        let folder = subject.stats.as_deref();
        let found = folder.map(|folder| loaders::read(of, folder)).unwrap_or_default();
        return found.into_iter().filter(|loader| is_running(of, loader)).collect();
    };
    let named = subject.stats.clone();
    let mut folders: Vec<String> = match named {
        Some(folder) => vec![folder],
        None => processes.iter().filter_map(|one| processes::stats_folder(of, one.pid)).collect(),
    };
    folders.sort();
    folders.dedup();
    let mut found: Vec<LoaderRecord> = Vec::new();
    for loader in folders.iter().flat_map(|folder| loaders::read(of, folder)) {
        let is_known = found.iter().any(|known| known.is_same(&loader));
        if !is_known && processes.iter().any(|process| process.pid == loader.pid) {
            found.push(loader);
        }
    }
    found
}

/// Returns true if the process of a loader runs. Processes of other machines are not seen from here: what they wrote
/// within ten seconds counts.
fn is_running(of: &Surroundings, loader: &LoaderRecord) -> bool {
    let host = of.text("/proc/sys/kernel/hostname").unwrap_or_default();
    if loader.host == host {
        return of.has(format!("/proc/{}/stat", loader.pid));
    }
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed().map_or(0.0, |now| now.as_secs_f64());
    (loader.time - now).abs() < 10.0
}
