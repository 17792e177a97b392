//! Compares the ranks of a job by the statistics that each has written: which rank waits for data
//! much longer than the others, and which stage of its loader is the slow one.
//!
//! In a synchronous job all ranks take the same steps, so a rank that waits for data makes all others
//! wait for it. Pure: the caller reads the files.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A rank is slow if it waits for data a share of its time that exceeds that of the median rank by this.
const MARGIN: f64 = 0.05;
/// A stage is named if it takes this many times as long for a sample as on the median rank.
const FACTOR: f64 = 1.5;

/// A line that a rank wrote: the sums since its loader was made.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Line {
    rank: u64,
    #[serde(default)]
    world_size: Option<u64>,
    #[serde(default)]
    host: Option<String>,
    running_s: f64,
    #[serde(default)]
    startup_s: f64,
    #[serde(default)]
    bottleneck: Option<String>,
    #[serde(default)]
    reads_asleep_s: f64,
    stages: BTreeMap<String, StageSums>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
struct StageSums {
    busy_s: f64,
    #[serde(default)]
    waiting_input_s: f64,
    items: f64,
}

/// What one rank did.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct RankUse {
    pub(crate) rank: u64,
    pub(crate) host: Option<String>,
    /// Batches that the consumer took.
    pub(crate) batches: u64,
    /// Seconds that the consumer waited for batches, without those of the first ones of epochs.
    pub(crate) waited_s: f64,
    /// The share of its time.
    pub(crate) waited: f64,
    /// Milliseconds of threads for a sample, by stage.
    pub(crate) sample_ms: BTreeMap<String, f64>,
    /// What the loader itself named.
    pub(crate) bottleneck: Option<String>,
}

/// A rank that is slower than the others.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct SlowRank {
    pub(crate) rank: u64,
    pub(crate) host: Option<String>,
    /// The share of its time that it waits for data, and that of the median rank.
    pub(crate) waited: f64,
    pub(crate) median_waited: f64,
    /// The stage that is slower than on other ranks, with its milliseconds for a sample and those of the median rank.
    pub(crate) stage: Option<(String, f64, f64)>,
}

/// The comparison.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct RankReport {
    /// All ranks that wrote statistics.
    pub(crate) ranks: Vec<RankUse>,
    /// Ranks of the job that wrote none.
    pub(crate) missing: Vec<u64>,
    /// The slow ranks; the slowest first.
    pub(crate) slow: Vec<SlowRank>,
    /// A machine on which all slow ranks are, if another machine has ranks, too.
    pub(crate) slow_host: Option<String>,
    /// The median rank's share of time that it waits for data.
    pub(crate) median_waited: f64,
}

/// Parses a line.
///
/// # Errors
/// Returns what is wrong with it.
pub(crate) fn parse(line: &str) -> Result<Line, String> {
    let line: Line = serde_json::from_str(line).map_err(|e| e.to_string())?;
    let times = line.stages.values().flat_map(|stage| [stage.busy_s, stage.waiting_input_s]);
    if times.chain([line.running_s]).all(|time| time.is_finite() && time >= 0.0) {
        Ok(line)
    } else {
        Err("a time is negative or no number".into())
    }
}

/// Compares the ranks. Lines of the same rank are in the order in which they were written.
pub(crate) fn compare(lines: &[Line]) -> RankReport {
    let mut by_rank: BTreeMap<u64, Vec<&Line>> = BTreeMap::new();
    for line in lines {
        by_rank.entry(line.rank).or_default().push(line);
    }
    let world = lines.iter().filter_map(|line| line.world_size).max().unwrap_or(0);
    let missing = (0..world).filter(|rank| !by_rank.contains_key(rank)).collect();
    let ranks: Vec<RankUse> = by_rank.values().filter_map(|lines| last_process(lines)).collect();
    let median_waited = median(ranks.iter().map(|rank| rank.waited));
    let mut slow: Vec<SlowRank> = ranks
        .iter()
        .filter(|rank| ranks.len() > 1 && rank.waited > median_waited + MARGIN)
        .map(|rank| SlowRank {
            rank: rank.rank,
            host: rank.host.clone(),
            waited: rank.waited,
            median_waited,
            stage: slow_stage(rank, &ranks),
        })
        .collect();
    slow.sort_by(|a, b| b.waited.total_cmp(&a.waited));
    let slow_host = common_host(&slow, &ranks);
    RankReport { ranks, missing, slow, slow_host, median_waited }
}

/// Sums what the last process of a rank did: a rank that was started again counts from zero.
fn last_process(lines: &[&Line]) -> Option<RankUse> {
    let last = lines.last()?;
    let consumer = last.stages.get("consumer").copied().unwrap_or_default();
    let samples =
        last.stages.get("decode").or(last.stages.get("read")).map_or(0.0, |stage| stage.items);
    let waited = (consumer.waiting_input_s - last.startup_s).max(0.0);
    let running = (last.running_s - last.startup_s).max(1e-9);
    let mut sample_ms = BTreeMap::new();
    if samples > 0.0 {
        let busy = last.stages.iter().filter(|(name, _)| *name != "consumer");
        sample_ms.extend(busy.map(|(name, stage)| (name.clone(), stage.busy_s * 1e3 / samples)));
        // Waiting for the disk is the part of reading that differs between machines.
        let read = sample_ms.get("read").copied().unwrap_or(0.0);
        sample_ms.insert("read".into(), read.max(last.reads_asleep_s * 1e3 / samples));
    }
    Some(RankUse {
        rank: last.rank,
        host: last.host.clone(),
        batches: consumer.items as u64,
        waited_s: waited,
        waited: (waited / running).min(1.0),
        sample_ms,
        bottleneck: last.bottleneck.clone().filter(|word| word != "unknown"),
    })
}

/// Returns the stage in which a rank loses the most time beside the median rank.
fn slow_stage(rank: &RankUse, ranks: &[RankUse]) -> Option<(String, f64, f64)> {
    let stages = rank.sample_ms.iter().map(|(name, &own)| {
        let others = ranks.iter().filter(|other| other.rank != rank.rank);
        let usual = median(others.filter_map(|other| other.sample_ms.get(name).copied()));
        (name.clone(), own, usual)
    });
    let slower = stages.filter(|(_, own, usual)| *own > usual * FACTOR);
    slower.max_by(|a, b| (a.1 - a.2).total_cmp(&(b.1 - b.2)))
}

fn common_host(slow: &[SlowRank], ranks: &[RankUse]) -> Option<String> {
    let host = slow.first()?.host.clone()?;
    let here = slow.iter().all(|rank| rank.host.as_ref() == Some(&host));
    let elsewhere = ranks.iter().any(|rank| rank.host.as_ref() != Some(&host));
    (here && elsewhere).then_some(host)
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => 0.0,
        n if n % 2 == 1 => values[n / 2],
        n => f64::midpoint(values[n / 2 - 1], values[n / 2]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(rank: u64, host: &str, waited: f64, read: f64, decode: f64) -> Line {
        let text = format!(
            r#"{{"rank": {rank}, "world_size": 4, "host": "{host}", "running_s": 100.0, "startup_s": 1.0,
                "stages": {{"read": {{"busy_s": {read}, "items": 1000}}, "decode": {{"busy_s": {decode}, "items": 1000}},
                "consumer": {{"busy_s": 50.0, "waiting_input_s": {waited}, "items": 100}}}}}}"#
        );
        parse(&text).unwrap()
    }

    #[test]
    fn the_rank_that_waits_is_named_with_its_stage_and_its_machine() {
        let report = compare(&[
            line(0, "n1", 2.0, 1.0, 20.0),
            line(1, "n1", 2.0, 1.1, 21.0),
            line(2, "n2", 41.0, 30.0, 20.0),
            line(3, "n2", 1.5, 1.0, 19.0),
        ]);
        assert_eq!(report.missing, [] as [u64; 0]);
        let [slow] = &report.slow[..] else { panic!("{report:?}") };
        assert_eq!((slow.rank, slow.host.as_deref()), (2, Some("n2")));
        assert_eq!(slow.stage, Some(("read".into(), 30.0, 1.0)));
        assert_eq!(report.slow_host.as_deref(), Some("n2"));
        assert!((slow.waited - 40.0 / 99.0).abs() < 1e-9, "{slow:?}");
    }

    #[test]
    fn ranks_that_wait_alike_are_not_slow_and_missing_ones_are_named() {
        let report = compare(&[line(0, "n1", 30.0, 1.0, 20.0), line(3, "n2", 31.0, 1.1, 21.0)]);
        assert_eq!((report.slow.len(), report.missing), (0, vec![1, 2]));
    }

    #[test]
    fn the_last_line_of_a_rank_counts() {
        let report = compare(&[
            line(0, "n1", 90.0, 1.0, 1.0),
            line(1, "n1", 1.0, 1.0, 1.0),
            line(0, "n1", 1.0, 1.0, 1.0),
        ]);
        assert_eq!((report.ranks.len(), report.slow.len()), (2, 0));
        assert!(parse("{\"rank\": 1}").is_err());
    }
}
