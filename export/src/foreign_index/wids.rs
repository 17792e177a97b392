//! The index of wids: one JSON with all shards, as `widsindex create` writes it.

use std::path::Path;

use tarflume_formats::name;

use super::python_json::string;
use super::shard::ReadShard;

/// The longest name that a tar header contains without an extension of the format.
const SHORT: usize = 100;

/// Makes `shardindex.json`: the shards in the order of their names, with MD5 if it was computed, samples and bytes.
pub(super) fn index(folder: &Path, shards: &[ReadShard]) -> Vec<u8> {
    let mut shards: Vec<&ReadShard> = shards.iter().collect();
    shards.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    let mut text = String::from(
        "{\n  \"__kind__\": \"wids-shard-index-v1\",\n  \"wids_version\": 1,\n  \"shardlist\": [",
    );
    for (n, shard) in shards.iter().enumerate() {
        text.push_str(if n == 0 { "\n" } else { ",\n" });
        text.push_str(&format!("    {{\n      \"url\": {},\n", string(shard.name.as_bytes())));
        if !shard.digests.md5.is_empty() {
            text.push_str(&format!("      \"md5sum\": \"{}\",\n", shard.digests.md5));
        }
        let samples = shard.samples;
        let length = shard.length;
        text.push_str(&format!(
            "      \"nsamples\": {samples},\n      \"filesize\": {length}\n    }}"
        ));
    }
    let name = std::path::absolute(folder).ok();
    let name = name.as_deref().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
    text.push_str(&format!("\n  ],\n  \"name\": {}\n}}", string(name.as_bytes())));
    text.into_bytes()
}

/// Returns what wids misreads in a shard, whatever its index says.
pub(super) fn misread(shard: &ReadShard) -> Option<String> {
    let bad = shard.members.iter().find_map(|member| {
        let base = member.name.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
        if base.first() == Some(&b'.') {
            return Some((member, "begins with a dot"));
        }
        // A header before the member has the name: wids reads the name in the header itself.
        (member.data - member.first > 512 && member.name.len() > SHORT)
            .then_some((member, "is longer than a plain header contains"))
    });
    bad.map(|(member, why)| {
        format!("the name {} {why}, and wids misreads it", name::shown(&member.name))
    })
}
