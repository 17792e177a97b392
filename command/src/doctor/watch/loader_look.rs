//! `LoaderLook`: what a running loader did between two of its files.

use std::collections::BTreeMap;

use serde::Serialize;

use super::loaders::{LoaderRecord, StageSums};

/// A loader in an interval.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct LoaderLook {
    pub(crate) host: String,
    pub(crate) pid: u64,
    /// Its number among the loaders of its process.
    pub(crate) loader: u64,
    pub(crate) rank: Option<u64>,
    pub(crate) world_size: Option<u64>,
    pub(crate) ended: bool,
    pub(crate) epoch: Option<u64>,
    /// How much of the epoch was delivered.
    pub(crate) epoch_percent: Option<f64>,
    /// How long a whole epoch takes at the rate of the interval.
    pub(crate) epoch_s: Option<f64>,
    pub(crate) batches: u64,
    pub(crate) batches_per_s: f64,
    pub(crate) samples_per_s: f64,
    /// The share of its time in which the training waited for a batch; the first batch of an epoch is left out.
    pub(crate) waited_percent: Option<f64>,
    /// How long it waited for a batch, in milliseconds.
    pub(crate) batch_wait_ms: Option<Wait>,
    /// How long it has been waiting for a batch at the end of the interval, in seconds; 0 if it does not.
    pub(crate) waiting_s: f64,
    /// Batches that were ready when one was requested, and those that are prepared at once; means.
    pub(crate) ready_batches: Option<f64>,
    pub(crate) prepared_batches: Option<f64>,
    /// Threads that each stage kept busy, on average.
    pub(crate) stages: BTreeMap<String, f64>,
    /// What the loader read from its shards.
    pub(crate) read_mb_per_s: f64,
    /// What came from a store, and the share of reads that the cache on a local disk answered.
    pub(crate) fetched_mb_per_s: Option<f64>,
    pub(crate) cache_hit_percent: Option<f64>,
    /// What limits it, as it says itself since it was built.
    pub(crate) bottleneck: Option<String>,
    pub(crate) warning: Option<String>,
}

/// Percentiles of the time of waiting for a batch, in milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub(crate) struct Wait {
    pub(crate) p50: f64,
    pub(crate) p95: f64,
    pub(crate) p99: f64,
    pub(crate) max: f64,
}

/// Returns a look at each loader of `after`.
pub(crate) fn all(
    before: &[LoaderRecord],
    after: &[LoaderRecord],
    last: &[LoaderLook],
) -> Vec<LoaderLook> {
    after.iter().map(|now| one(before, now, last)).collect()
}

fn one(before: &[LoaderRecord], now: &LoaderRecord, last: &[LoaderLook]) -> LoaderLook {
    let Some(then) = before.iter().find(|then| then.is_same(now)) else { return of(now) };
    if then.time < now.time {
        return between(then, now);
    }
    let known = last
        .iter()
        .find(|look| look.host == now.host && look.pid == now.pid && look.loader == now.loader);
    known.cloned().unwrap_or_else(|| of(now))
}

/// Returns what is known of a loader without an earlier file: where it is.
fn of(now: &LoaderRecord) -> LoaderLook {
    let share = now.position.zip(now.epoch_samples).filter(|(_, all)| *all > 0);
    LoaderLook {
        host: now.host.clone(),
        pid: now.pid,
        loader: now.loader,
        rank: now.rank,
        world_size: now.world_size,
        ended: now.ended,
        epoch: now.epoch,
        epoch_percent: share.map(|(position, all)| 100.0 * position as f64 / all as f64),
        waiting_s: now.stats.waiting_s,
        bottleneck: now.stats.bottleneck.clone().filter(|word| word != "unknown"),
        warning: now.stats.warning.clone(),
        ..LoaderLook::default()
    }
}

fn between(then: &LoaderRecord, now: &LoaderRecord) -> LoaderLook {
    let seconds = (now.time - then.time).max(1e-9);
    let batches = grown(then, now, "consumer").items;
    let running = now.stats.running_s - then.stats.running_s;
    let each = now.epoch_steps.filter(|_| batches > 0).map(|steps| steps as f64 / batches as f64);
    let filled = filled(then, now);
    let fetched = now.stats.fetch.map(|fetch| {
        let earlier = then.stats.fetch.map_or(0, |fetch| fetch.bytes);
        fetch.bytes.saturating_sub(earlier) as f64 / 1e6 / seconds
    });
    LoaderLook {
        epoch_s: each.map(|epochs| running.max(0.0) * epochs),
        batches,
        batches_per_s: batches as f64 / seconds,
        samples_per_s: grown(then, now, "decode").items as f64 / seconds,
        waited_percent: waited(then, now),
        batch_wait_ms: wait(then, now),
        ready_batches: filled.map(|(ready, _)| ready),
        prepared_batches: filled.map(|(_, prepared)| prepared),
        stages: stages(then, now, seconds),
        read_mb_per_s: grown(then, now, "read").bytes as f64 / 1e6 / seconds,
        fetched_mb_per_s: fetched,
        cache_hit_percent: hits(then, now),
        ..of(now)
    }
}

/// Returns what a stage did between two files.
fn grown(then: &LoaderRecord, now: &LoaderRecord, name: &str) -> StageSums {
    let then = then.stage(name);
    let now = now.stage(name);
    StageSums {
        busy_s: (now.busy_s - then.busy_s).max(0.0),
        waiting_input_s: (now.waiting_input_s - then.waiting_input_s).max(0.0),
        items: now.items.saturating_sub(then.items),
        bytes: now.bytes.saturating_sub(then.bytes),
    }
}

/// Returns the share of the time in which the training waited, with the batch that it waits for now.
fn waited(then: &LoaderRecord, now: &LoaderRecord) -> Option<f64> {
    let startup = now.stats.startup_s - then.stats.startup_s;
    let pending = now.stats.waiting_s - then.stats.waiting_s;
    let waited = grown(then, now, "consumer").waiting_input_s - startup + pending;
    let running = now.stats.running_s - then.stats.running_s - startup + pending;
    (running > 0.0).then(|| (100.0 * waited / running).clamp(0.0, 100.0))
}

/// Returns the batches that were ready at a request, and those that are prepared at once.
fn filled(then: &LoaderRecord, now: &LoaderRecord) -> Option<(f64, f64)> {
    let then = then.stats.ready_batches;
    let now = now.stats.ready_batches;
    let requests = now.requests.checked_sub(then.requests).filter(|requests| *requests > 0)? as f64;
    let ready = now.ready.saturating_sub(then.ready) as f64 / requests;
    Some((ready, now.slots.saturating_sub(then.slots) as f64 / requests))
}

/// Returns how many threads each stage kept busy. What the consumer does is the training's own work.
fn stages(then: &LoaderRecord, now: &LoaderRecord, seconds: f64) -> BTreeMap<String, f64> {
    let names = now.stats.stages.keys().filter(|name| *name != "consumer");
    names.map(|name| (name.clone(), grown(then, now, name).busy_s / seconds)).collect()
}

/// Returns the share of reads that the local cache answered.
fn hits(then: &LoaderRecord, now: &LoaderRecord) -> Option<f64> {
    let now = now.stats.fetch?.cache?;
    let then = then.stats.fetch.and_then(|fetch| fetch.cache).unwrap_or_default();
    let hits = now.hits.saturating_sub(then.hits);
    let all = hits + now.misses.saturating_sub(then.misses);
    (all > 0).then(|| 100.0 * hits as f64 / all as f64)
}

/// Returns the percentiles of the waits between two files. A wait that is not over counts as soon as it is longer than
/// all others: it is at least that long.
fn wait(then: &LoaderRecord, now: &LoaderRecord) -> Option<Wait> {
    let mut waits = Vec::new();
    for (seconds, count) in &now.wait_counts {
        let earlier = then.wait_counts.iter().find(|(other, _)| other == seconds);
        let new = count.saturating_sub(earlier.map_or(0, |(_, count)| *count));
        waits.extend((new > 0).then_some((*seconds, new)));
    }
    waits.sort_by(|a, b| a.0.total_cmp(&b.0));
    let longest = waits.last().map_or(0.0, |(seconds, _)| *seconds);
    if now.stats.waiting_s > longest {
        waits.push((now.stats.waiting_s, 1));
    }
    let max = waits.last()?.0 * 1e3;
    let [p50, p95, p99] = [50, 95, 99].map(|per_cent| percentile(&waits, per_cent) * 1e3);
    Some(Wait { p50, p95, p99, max })
}

fn percentile(waits: &[(f64, u64)], per_cent: u64) -> f64 {
    let count: u64 = waits.iter().map(|(_, count)| count).sum();
    let rank = (count * per_cent).div_ceil(100);
    let mut seen = 0;
    for (seconds, count) in waits {
        seen += count;
        if seen >= rank {
            return *seconds;
        }
    }
    0.0
}
