//! The files that running loaders write with `TARFLUME_STATS`, as plain values.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::super::surroundings::Surroundings;

/// What a loader has done since it was built.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct LoaderRecord {
    /// The version of the file.
    #[serde(rename = "tarflume_stats")]
    version: u32,
    pub(crate) host: String,
    pub(crate) pid: u64,
    /// Its number among the loaders of its process.
    pub(crate) loader: u64,
    /// When it was written, in seconds since 1970.
    pub(crate) time: f64,
    /// True after the loader was dropped.
    pub(crate) ended: bool,
    pub(crate) rank: Option<u64>,
    pub(crate) world_size: Option<u64>,
    pub(crate) epoch: Option<u64>,
    pub(crate) position: Option<u64>,
    pub(crate) epoch_samples: Option<u64>,
    pub(crate) epoch_steps: Option<u64>,
    /// Seconds of waiting for a batch, with the number of batches.
    #[serde(default)]
    pub(crate) wait_counts: Vec<(f64, u64)>,
    pub(crate) stats: LoaderSums,
}

/// The part of a loader's statistics that is shown.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub(crate) struct LoaderSums {
    pub(crate) running_s: f64,
    #[serde(default)]
    pub(crate) startup_s: f64,
    #[serde(default)]
    pub(crate) waiting_s: f64,
    #[serde(default)]
    pub(crate) bottleneck: Option<String>,
    #[serde(default)]
    pub(crate) ready_batches: Filled,
    pub(crate) stages: BTreeMap<String, StageSums>,
    #[serde(default)]
    pub(crate) fetch: Option<FetchSums>,
    #[serde(default)]
    pub(crate) warning: Option<String>,
}

/// How many batches were ready when one was requested.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
pub(crate) struct Filled {
    pub(crate) requests: u64,
    pub(crate) ready: u64,
    pub(crate) slots: u64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
pub(crate) struct StageSums {
    pub(crate) busy_s: f64,
    #[serde(default)]
    pub(crate) waiting_input_s: f64,
    pub(crate) items: u64,
    #[serde(default)]
    pub(crate) bytes: u64,
}

/// Requests to a store.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
pub(crate) struct FetchSums {
    pub(crate) bytes: u64,
    #[serde(default)]
    pub(crate) cache: Option<CacheSums>,
}

/// Reads that a cache on a local disk answered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
pub(crate) struct CacheSums {
    pub(crate) hits: u64,
    pub(crate) misses: u64,
}

impl LoaderRecord {
    /// Returns the stage of this name; without it, one that did nothing.
    pub(crate) fn stage(&self, name: &str) -> StageSums {
        self.stats.stages.get(name).copied().unwrap_or_default()
    }

    /// Returns true if both are of one loader.
    pub(crate) fn is_same(&self, other: &LoaderRecord) -> bool {
        self.host == other.host && self.pid == other.pid && self.loader == other.loader
    }
}

/// Parses a file; `None` if it is of something else, or of another version.
pub(crate) fn parse(text: &str) -> Option<LoaderRecord> {
    let record: LoaderRecord = serde_json::from_str(text).ok()?;
    let sums = &record.stats;
    let times = sums.stages.values().flat_map(|stage| [stage.busy_s, stage.waiting_input_s]);
    let waits = record.wait_counts.iter().map(|(seconds, _)| *seconds);
    let others = [record.time, sums.running_s, sums.startup_s, sums.waiting_s];
    let sound = times.chain(waits).chain(others).all(|time| time.is_finite() && time >= 0.0);
    (record.version == 1 && sound).then_some(record)
}

/// Reads the files of a folder, sorted by process and loader.
pub(crate) fn read(of: &Surroundings, folder: &str) -> Vec<LoaderRecord> {
    let names = of.names(folder).into_iter().filter(|name| name.ends_with(".json"));
    let texts = names.filter_map(|name| of.text(format!("{folder}/{name}")));
    let mut records: Vec<LoaderRecord> = texts.filter_map(|text| parse(&text)).collect();
    records.sort_by(|a, b| (&a.host, a.pid, a.loader).cmp(&(&b.host, b.pid, b.loader)));
    records
}
