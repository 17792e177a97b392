//! Samples of a machine and a training over time: "is my GPU busy while I train, and if not, what is?"
//!
//! A [`Snapshot`](snapshot::Snapshot) has counters as plain values, a [`Look`] what was done between two of them, a
//! [`Summary`] what a whole watch has seen; verdicts are functions of the summary.
//!
//! Floors: `kernel processes loaders` < `snapshot training loader_look` < `look` < `summary targets` < `causes` <
//! `verdicts` < this file.

pub(crate) mod causes;
mod kernel;
pub(crate) mod loader_look;
mod loaders;
pub(crate) mod look;
mod processes;
pub(crate) mod snapshot;
pub(crate) mod summary;
pub(crate) mod targets;
pub(crate) mod training;
pub(crate) mod verdicts;

#[cfg(test)]
mod tests;

use std::thread;
use std::time::{Duration, Instant};

use tarflume_base::Stop;

use look::Look;
use snapshot::Snapshot;
use summary::{Collected, Summary};

/// The longest delay between a stop request and the end.
const SLICE: Duration = Duration::from_millis(50);

/// When to look, and how often.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace {
    pub(crate) every: Duration,
    /// Without a number until the stop, or until the process that is watched ends.
    pub(crate) count: Option<u64>,
}

/// Takes a snapshot at a fixed interval, and calls `each` with what was done since the one before, until it returns
/// false. The first snapshot is taken immediately, the first look after one interval.
pub(crate) fn watch(
    mut take: impl FnMut(bool) -> Snapshot,
    pace: Pace,
    stop: &Stop,
    mut each: impl FnMut(&Look) -> bool,
) -> Summary {
    let begin = Instant::now();
    let mut collected = Collected::new(take(true));
    let mut seen = 0;
    let mut next = pace.every;
    while !stop.requested() && pace.count.is_none_or(|count| seen < count) {
        let left = next.saturating_sub(begin.elapsed());
        if !left.is_zero() {
            thread::sleep(left.min(SLICE));
            continue;
        }
        let snapshot = take(false);
        let has_ended = snapshot.has_ended();
        if has_ended && seen > 0 {
            break;
        }
        seen += 1;
        if !each(&collected.add(snapshot)) || has_ended {
            break;
        }
        next = (next + pace.every).max(begin.elapsed()); // looks that were missed are not made up for
    }
    collected.summary()
}
