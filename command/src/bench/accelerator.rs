//! Simulates an accelerator: takes a batch, computes on it for a fixed time, takes the next.

use std::thread;
use std::time::{Duration, Instant};

use tarflume::{Loader, Result};

use super::measurement::take;
use super::options::Until;
use super::report::{Accelerator, Account};

/// The utilization that MLPerf Storage requires for most of its training workloads, in percent.
pub(crate) const TARGET_PERCENT: f64 = 90.0;

/// Feeds an accelerator whose step takes `step`. Takes at least two batches, because the first is
/// not counted.
///
/// # Errors
/// Returns the errors of the loader.
pub(super) fn play(loader: &Loader, step: Duration, until: Until) -> Result<Accelerator> {
    let mut waits = Vec::new();
    let mut counted_from = None;
    take(loader, until, 2, |batch, waited| {
        thread::sleep(step);
        drop(batch); // an accelerator holds its batch as long as it computes
        match counted_from {
            None => counted_from = Some(Instant::now()),
            Some(_) => waits.push(waited),
        }
    })?;
    let running = counted_from.map(|from| from.elapsed()).unwrap_or_default();
    waits.sort_unstable();
    Ok(Accelerator {
        step_ms: milliseconds(step),
        steps: waits.len() as u64,
        utilization_percent: utilization(step, waits.len() as u64, running),
        target_percent: TARGET_PERCENT,
        wait_p50_ms: milliseconds(percentile(&waits, 50)),
        wait_p99_ms: milliseconds(percentile(&waits, 99)),
        wait_max_ms: milliseconds(percentile(&waits, 100)),
        account: Account::of(&loader.stats()),
    })
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Returns the accelerator utilization in percent, as defined by MLPerf Storage (Rules, "Training
/// Workloads"): AU = total compute time / total running time x 100. The compute time is the ideal
/// one, steps times the time of a step; the first step is left out, so that filling the pipeline
/// does not count. At 100 every wait was hidden behind a computation.
pub(crate) fn utilization(step: Duration, steps: u64, running: Duration) -> f64 {
    let ideal = step.as_secs_f64() * steps as f64;
    if running.is_zero() { 0.0 } else { (100.0 * ideal / running.as_secs_f64()).min(100.0) }
}

/// Returns the smallest of the `rising` waits that `percent` of them do not exceed (nearest rank).
fn percentile(rising: &[Duration], percent: usize) -> Duration {
    let rank = (rising.len() * percent).div_ceil(100);
    rising.get(rank.saturating_sub(1)).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn utilization_is_the_share_of_ideal_computing_in_the_running_time() {
        assert_eq!(utilization(30 * MS, 10, 300 * MS), 100.0);
        assert_eq!(utilization(30 * MS, 10, 600 * MS), 50.0);
        assert_eq!(utilization(30 * MS, 10, 299 * MS), 100.0);
        assert_eq!(utilization(30 * MS, 0, Duration::ZERO), 0.0);
    }

    #[test]
    fn percentiles_are_waits_that_happened() {
        let waits: Vec<_> = (1..=200).map(|n| n * MS).collect();
        assert_eq!(percentile(&waits, 50), 100 * MS);
        assert_eq!(percentile(&waits, 99), 198 * MS);
        assert_eq!(percentile(&waits, 100), 200 * MS);
        assert_eq!(percentile(&waits[..1], 99), MS);
        assert_eq!(percentile(&[], 99), Duration::ZERO);
    }
}
