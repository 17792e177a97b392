//! The index of wids: names, bytes and numbers of samples of the shards.

use std::collections::HashMap;
use std::path::Path;

use serde_json::Value;
use tarflume_base::Problem;
use tarflume_formats::manifest::ShardEntry;

use super::problem;

const FORMAT: &str = "wids";

/// Compares `shardindex.json` with the shards. Shards with the URL of another folder are compared by file name.
pub(super) fn compare(
    path: &Path,
    bytes: &[u8],
    shards: &[ShardEntry],
    problems: &mut Vec<Problem>,
) {
    let index = serde_json::from_slice::<Value>(bytes).ok();
    let Some(list) = index.as_ref().and_then(|index| index["shardlist"].as_array()) else {
        problems.push(problem(path, FORMAT, "it is no JSON with a `shardlist`"));
        return;
    };
    let mut stated: HashMap<&str, &Value> = HashMap::new();
    for shard in list {
        let url = shard["url"].as_str().unwrap_or_default();
        stated.insert(url.rsplit('/').next().unwrap_or(url), shard);
    }
    for entry in shards {
        let Some(shard) = stated.remove(entry.name.as_str()) else {
            problems.push(problem(path, FORMAT, &format!("it does not list {}", entry.name)));
            continue;
        };
        for (field, found) in [("nsamples", entry.samples), ("filesize", entry.bytes)] {
            let number = shard[field].as_u64();
            if number.is_some_and(|number| number != found)
                || (number.is_none() && field == "nsamples")
            {
                let what =
                    format!("{}: `{field}` is {}, and {found} is right", entry.name, shard[field]);
                problems.push(problem(path, FORMAT, &what));
            }
        }
    }
    let mut others: Vec<&&str> = stated.keys().collect();
    others.sort_unstable();
    for name in others {
        problems.push(problem(
            path,
            FORMAT,
            &format!("it lists {name}, which the data set does not have"),
        ));
    }
}
