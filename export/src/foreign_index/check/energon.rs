//! Energon's offsets of samples, and its numbers of samples.

use std::path::Path;

use serde_json::Value;
use tarflume_base::{Problem, Problems};
use tarflume_formats::manifest::ShardEntry;

use super::{problem, shown_key};
use crate::foreign_index::energon;
use crate::foreign_index::shard::ReadShard;

const FORMAT: &str = "energon";

/// Compares `SHARD.tar.idx` with its tar.
pub(super) fn compare(path: &Path, bytes: &[u8], shard: &ReadShard, problems: &mut Problems) {
    let wanted = energon::offsets(shard);
    if bytes == wanted {
        return;
    }
    if bytes.len() != wanted.len() {
        let samples = (bytes.len() as u64 / 8).saturating_sub(1);
        let what = format!(
            "it lists {samples} samples in {} bytes, but the tar has {}",
            bytes.len(),
            shard.samples
        );
        problems.push(problem(path, FORMAT, &what));
        return;
    }
    let entries = wanted.len() / 8;
    let wrong: Vec<usize> =
        (0..entries).filter(|&n| number(bytes, n) != number(&wanted, n)).collect();
    if let Some(&first) = wrong.first() {
        let what = format!(
            "{} of {entries} offsets are wrong; the first: entry {first} is {}, and {} is right",
            wrong.len(),
            number(bytes, first),
            number(&wanted, first)
        );
        let found = problem(path, FORMAT, &what).at(first as u64 * 8);
        problems.push(match shown_key(shard, first) {
            Some(key) => found.of(key),
            None => found,
        });
    }
}

/// Returns offset `n` of an index.
fn number(index: &[u8], n: usize) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&index[n * 8..n * 8 + 8]);
    u64::from_le_bytes(bytes)
}

/// Compares the numbers of samples in `.nv-meta/.info.json` with those of the shards.
pub(super) fn compare_info(
    path: &Path,
    bytes: &[u8],
    shards: &[ShardEntry],
    problems: &mut Vec<Problem>,
) {
    let counts = serde_json::from_slice::<Value>(bytes).ok();
    let Some(counts) = counts.as_ref().and_then(|info| info["shard_counts"].as_object()) else {
        problems.push(problem(path, FORMAT, "it is no JSON with `shard_counts`"));
        return;
    };
    for entry in shards {
        match counts.get(&entry.name).and_then(Value::as_u64) {
            Some(count) if count == entry.samples => {}
            Some(count) => {
                let what = format!("{} has {} samples, not {count}", entry.name, entry.samples);
                problems.push(problem(path, FORMAT, &what));
            }
            None => {
                problems.push(problem(path, FORMAT, &format!("it does not list {}", entry.name)))
            }
        }
    }
    for name in counts.keys().filter(|name| !shards.iter().any(|entry| entry.name == **name)) {
        problems.push(problem(
            path,
            FORMAT,
            &format!("it lists {name}, which the data set does not have"),
        ));
    }
}
