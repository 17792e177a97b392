//! `Training`: what the processes of a training did in an interval.

use serde::Serialize;

use super::processes::ProcessCounters;

/// Ticks of a second: Linux has this number for programs on all machines that are supported.
const TICKS: f64 = 100.0;
/// Processes that are listed.
const LISTED: usize = 16;

/// What all processes of a training did, and the busiest of them.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct Training {
    pub(crate) processes: u64,
    pub(crate) threads: u64,
    /// Processors that they used, on average. What a process did that ended in the interval is not in it.
    pub(crate) cores: f64,
    /// Memory that they hold; pages that several of them share are counted for each.
    pub(crate) memory_bytes: u64,
    /// What came from disks for them; `None` if the system does not tell.
    pub(crate) disk_mb_per_s: Option<f64>,
    /// What their calls read: of files, pipes and connections.
    pub(crate) calls_mb_per_s: Option<f64>,
    pub(crate) busiest: Vec<Worker>,
}

/// A process of a training.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct Worker {
    pub(crate) pid: u64,
    pub(crate) name: String,
    pub(crate) cores: f64,
    pub(crate) memory_bytes: u64,
}

/// Returns what `after` did since `before`; a process that is new did all of it since.
pub(crate) fn between(
    before: Option<&[ProcessCounters]>,
    after: &[ProcessCounters],
    seconds: f64,
) -> Training {
    let mut training = Training::default();
    let mut read = Some(0);
    let mut called = Some(0);
    for now in after {
        let none = ProcessCounters::default();
        let then = before.and_then(|before| same(before, now)).unwrap_or(&none);
        let cores = now.ticks.saturating_sub(then.ticks) as f64 / TICKS / seconds;
        training.processes += 1;
        training.threads += now.threads;
        training.cores += cores;
        training.memory_bytes += now.memory_bytes;
        read = added(read, then.read_bytes, now.read_bytes);
        called = added(called, then.called_bytes, now.called_bytes);
        let memory_bytes = now.memory_bytes;
        training.busiest.push(Worker { pid: now.pid, name: now.name.clone(), cores, memory_bytes });
    }
    training.busiest.sort_by(|a, b| b.cores.total_cmp(&a.cores));
    training.busiest.truncate(LISTED);
    training.disk_mb_per_s = read.map(|bytes| bytes as f64 / 1e6 / seconds);
    training.calls_mb_per_s = called.map(|bytes| bytes as f64 / 1e6 / seconds);
    training
}

fn same<'a>(before: &'a [ProcessCounters], now: &ProcessCounters) -> Option<&'a ProcessCounters> {
    before.iter().find(|then| then.pid == now.pid && then.started == now.started)
}

/// Adds the growth of a counter to a sum, which is unknown if one counter is.
fn added(sum: Option<u64>, then: Option<u64>, now: Option<u64>) -> Option<u64> {
    Some(sum? + now?.saturating_sub(then.unwrap_or(0)))
}
