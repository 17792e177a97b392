//! `Look`: what a machine and a training did between two snapshots, as rates. A function of the snapshots alone.
//!
//! The names are those of `pack doctor --watch --format json` and never change; they include units.

use serde::Serialize;

use super::super::gpus::Sample;
use super::kernel::{CpuTicks, DiskCounters, NetworkCounters, Paging};
use super::loader_look::{self, LoaderLook};
use super::snapshot::Snapshot;
use super::training::{self, Training};

const MB: f64 = 1e6;

/// What was done in an interval.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct Look {
    /// Seconds from the begin of the watch to the end of the interval.
    pub(crate) seconds: f64,
    /// The utilization of the GPUs at its end.
    pub(crate) gpus: Vec<Sample>,
    pub(crate) cpu: Cpu,
    pub(crate) memory: Option<Memory>,
    pub(crate) disks: Vec<Disk>,
    pub(crate) network: Vec<Network>,
    /// The processes of the training, if one was named.
    pub(crate) training: Option<Training>,
    pub(crate) loaders: Vec<LoaderLook>,
}

/// Shares of the time of all processors.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct Cpu {
    /// Processors that are online.
    pub(crate) processors: u64,
    /// Those that the training may use; its cgroup may allow a part of one.
    pub(crate) usable_processors: Option<f64>,
    /// Not idle, not waiting for a disk, not stolen.
    pub(crate) busy_percent: f64,
    pub(crate) user_percent: f64,
    pub(crate) system_percent: f64,
    pub(crate) waiting_for_disk_percent: f64,
    pub(crate) stolen_percent: f64,
    /// The busy share of each processor, by its number.
    pub(crate) each_busy_percent: Vec<f64>,
    /// Threads that ran or waited for a processor at the end, and processes that waited for a disk.
    pub(crate) running_threads: u64,
    pub(crate) blocked_processes: u64,
}

/// Memory at the end of the interval, and what moved in it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub(crate) struct Memory {
    pub(crate) total_bytes: u64,
    pub(crate) available_bytes: u64,
    pub(crate) page_cache_bytes: u64,
    /// Bytes of files that are not on disk yet.
    pub(crate) dirty_bytes: u64,
    pub(crate) swap_used_bytes: u64,
    /// The limit of the cgroup, and what it uses, page cache included.
    pub(crate) cgroup_limit_bytes: Option<u64>,
    pub(crate) cgroup_used_bytes: Option<u64>,
    pub(crate) swapped_in_pages_per_s: f64,
    pub(crate) swapped_out_pages_per_s: f64,
    /// Faults that waited for a disk.
    pub(crate) major_faults_per_s: f64,
    /// Pages of files that were read again soon after they had to leave memory: the page cache is too small.
    pub(crate) file_refaults_per_s: f64,
}

/// A disk.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct Disk {
    pub(crate) name: String,
    /// The share of the time in which a request was in progress: `%util` of iostat.
    pub(crate) busy_percent: f64,
    pub(crate) read_mb_per_s: f64,
    pub(crate) write_mb_per_s: f64,
    pub(crate) reads_per_s: f64,
    pub(crate) writes_per_s: f64,
    /// Requests in progress, on average: `aqu-sz` of iostat.
    pub(crate) queue: f64,
    /// How long a request took; `None` without one.
    pub(crate) read_ms: Option<f64>,
    pub(crate) write_ms: Option<f64>,
    /// Bytes of a read, on average.
    pub(crate) read_size_bytes: Option<f64>,
}

/// A network interface.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct Network {
    pub(crate) name: String,
    pub(crate) received_mb_per_s: f64,
    pub(crate) sent_mb_per_s: f64,
}

impl Look {
    /// Returns what was done from `before` to `after`. Looks at loaders that have written nothing new are those of `last`.
    pub(crate) fn between(before: &Snapshot, after: &Snapshot, last: &[LoaderLook]) -> Look {
        let seconds = (after.at - before.at).max(1e-9);
        let processes = after.processes.as_ref();
        Look {
            seconds: after.at,
            gpus: after.gpus.clone(),
            cpu: cpu(before, after),
            memory: memory(before, after, seconds),
            disks: disks(before, after, seconds),
            network: network(before, after, seconds),
            training: processes.map(|processes| {
                training::between(before.processes.as_deref(), processes, seconds)
            }),
            loaders: loader_look::all(&before.loaders, &after.loaders, last),
        }
    }

    /// Returns the busiest disk.
    pub(crate) fn busiest_disk(&self) -> Option<&Disk> {
        self.disks.iter().max_by(|a, b| a.busy_percent.total_cmp(&b.busy_percent))
    }

    /// Returns the processors that the training may use.
    pub(crate) fn usable(&self) -> f64 {
        self.cpu.usable_processors.unwrap_or(self.cpu.processors as f64).max(1e-9)
    }
}

fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { 100.0 * part as f64 / whole as f64 }
}

fn busy(ticks: &CpuTicks) -> f64 {
    percent(ticks.user + ticks.system, ticks.all())
}

fn cpu(before: &Snapshot, after: &Snapshot) -> Cpu {
    let all = after.processors.all.since(&before.processors.all);
    let each = after.processors.each.iter().map(|(number, now)| {
        let then = before.processors.each.iter().find(|(other, _)| other == number);
        busy(&now.since(&then.map_or(CpuTicks::default(), |(_, then)| *then)))
    });
    Cpu {
        processors: after.processors.each.len() as u64,
        usable_processors: after.usable,
        busy_percent: busy(&all),
        user_percent: percent(all.user, all.all()),
        system_percent: percent(all.system, all.all()),
        waiting_for_disk_percent: percent(all.waiting, all.all()),
        stolen_percent: percent(all.stolen, all.all()),
        each_busy_percent: each.collect(),
        running_threads: after.processors.running,
        blocked_processes: after.processors.blocked,
    }
}

fn memory(before: &Snapshot, after: &Snapshot, seconds: f64) -> Option<Memory> {
    let now = after.memory?;
    let Paging { swapped_in, swapped_out, major_faults, refaults } = after.paging;
    let then = &before.paging;
    Some(Memory {
        total_bytes: now.total,
        available_bytes: now.available,
        page_cache_bytes: now.cached,
        dirty_bytes: now.dirty,
        swap_used_bytes: now.swapped,
        cgroup_limit_bytes: after.group_memory.map(|group| group.limit),
        cgroup_used_bytes: after.group_memory.map(|group| group.used),
        swapped_in_pages_per_s: rate(then.swapped_in, swapped_in, seconds),
        swapped_out_pages_per_s: rate(then.swapped_out, swapped_out, seconds),
        major_faults_per_s: rate(then.major_faults, major_faults, seconds),
        file_refaults_per_s: rate(then.refaults, refaults, seconds),
    })
}

/// Returns by how much a counter grew in a second. Counters that were reset count as unchanged.
fn rate(before: u64, after: u64, seconds: f64) -> f64 {
    after.saturating_sub(before) as f64 / seconds
}

fn disks(before: &Snapshot, after: &Snapshot, seconds: f64) -> Vec<Disk> {
    let known = after.disks.iter().filter_map(|now| {
        let then = before.disks.iter().find(|then| then.name == now.name)?;
        Some(disk(then, now, seconds))
    });
    known.collect()
}

fn disk(then: &DiskCounters, now: &DiskCounters, seconds: f64) -> Disk {
    let reads = now.reads.saturating_sub(then.reads);
    let writes = now.writes.saturating_sub(then.writes);
    let read_bytes = now.read_bytes.saturating_sub(then.read_bytes);
    Disk {
        name: now.name.clone(),
        busy_percent: (rate(then.busy_ms, now.busy_ms, seconds) / 10.0).min(100.0),
        read_mb_per_s: read_bytes as f64 / MB / seconds,
        write_mb_per_s: rate(then.written_bytes, now.written_bytes, seconds) / MB,
        reads_per_s: reads as f64 / seconds,
        writes_per_s: writes as f64 / seconds,
        queue: rate(then.queued_ms, now.queued_ms, seconds) / 1000.0,
        read_ms: mean(now.read_ms.saturating_sub(then.read_ms), reads),
        write_ms: mean(now.write_ms.saturating_sub(then.write_ms), writes),
        read_size_bytes: mean(read_bytes, reads),
    }
}

fn mean(sum: u64, count: u64) -> Option<f64> {
    (count > 0).then(|| sum as f64 / count as f64)
}

fn network(before: &Snapshot, after: &Snapshot, seconds: f64) -> Vec<Network> {
    let known = after.network.iter().filter_map(|now| {
        let then = before.network.iter().find(|then| then.name == now.name)?;
        Some(carried(then, now, seconds))
    });
    known.collect()
}

fn carried(then: &NetworkCounters, now: &NetworkCounters, seconds: f64) -> Network {
    Network {
        name: now.name.clone(),
        received_mb_per_s: rate(then.received_bytes, now.received_bytes, seconds) / MB,
        sent_mb_per_s: rate(then.sent_bytes, now.sent_bytes, seconds) / MB,
    }
}
