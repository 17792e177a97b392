//! The index of hfutils, which cheesechaser and webshart read: a JSON beside each tar with the place of each file.

use std::collections::HashMap;

use super::python_json::string;
use super::shard::ReadShard;

/// Returns the name that hfutils expects.
pub(super) fn file_name(tar: &str) -> String {
    match tar.rsplit_once('.') {
        Some((stem, _)) if !stem.is_empty() => format!("{stem}.json"),
        _ => format!("{tar}.json"),
    }
}

/// Makes the index of a shard: all files, also those that are no parts. The last of several files with one name counts,
/// at the place of the first.
pub(super) fn index(shard: &ReadShard) -> Vec<u8> {
    let mut places: HashMap<&[u8], usize> = HashMap::new();
    let mut files: Vec<usize> = Vec::new();
    for (number, member) in shard.members.iter().enumerate() {
        match places.get(member.name.as_slice()) {
            Some(&place) => files[place] = number,
            None => {
                places.insert(&member.name, files.len());
                files.push(number);
            }
        }
    }
    let digests = &shard.digests;
    let mut text = format!("{{\"filesize\": {}, ", shard.length);
    if !digests.sha256.is_empty() {
        let git = &digests.git_sha1;
        let lfs = &digests.sha256;
        text.push_str(&format!("\"hash\": \"{git}\", \"hash_lfs\": \"{lfs}\", "));
    }
    text.push_str("\"files\": {");
    for (n, &number) in files.iter().enumerate() {
        let member = &shard.members[number];
        if n > 0 {
            text.push_str(", ");
        }
        let name = string(&member.name);
        text.push_str(&format!("{name}: {{\"offset\": {}, \"size\": {}", member.data, member.size));
        if let Some(sha256) = digests.files.get(number) {
            text.push_str(&format!(", \"sha256\": \"{sha256}\""));
        }
        text.push('}');
    }
    text.push_str("}}");
    text.into_bytes()
}
