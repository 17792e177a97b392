//! The index of hfutils: places and digests of files.

use std::path::Path;

use serde_json::{Map, Value};
use tarflume_base::Problems;

use super::problem;
use crate::foreign_index::python_json;
use crate::foreign_index::shard::ReadShard;

const FORMAT: &str = "hfutils";

/// Returns the index if the JSON is one of hfutils: other JSON may have the name.
pub(super) fn parse(bytes: &[u8]) -> Option<Map<String, Value>> {
    let Ok(Value::Object(index)) = serde_json::from_slice(bytes) else { return None };
    (index.contains_key("filesize") && index.get("files").is_some_and(Value::is_object))
        .then_some(index)
}

/// Compares an index with its tar; digests only if `shard` has them.
pub(super) fn compare(
    path: &Path,
    index: &Map<String, Value>,
    shard: &ReadShard,
    problems: &mut Problems,
) {
    if index["filesize"].as_u64() != Some(shard.length) {
        let what =
            format!("`filesize` is {}, the tar has {} bytes", index["filesize"], shard.length);
        problems.push(problem(path, FORMAT, &what));
        return;
    }
    let digests = &shard.digests;
    for (field, found) in [("hash", &digests.git_sha1), ("hash_lfs", &digests.sha256)] {
        let stated = index.get(field).and_then(Value::as_str);
        if !found.is_empty() && stated.is_some_and(|stated| stated != found) {
            problems.push(problem(
                path,
                FORMAT,
                &format!("`{field}` is not that of the tar, {found}"),
            ));
        }
    }
    let Some(files) = index["files"].as_object() else { return };
    let mut first = None;
    let mut wrong = 0u64;
    for (number, member) in shard.members.iter().enumerate() {
        let quoted = python_json::string(&member.name);
        let name = serde_json::from_str::<String>(&quoted).unwrap_or_else(|_| quoted.clone());
        let file = files.get(&name);
        let what = if file.is_none() {
            "it is not listed".into()
        } else if number_of("offset", file) != Some(member.data)
            || number_of("size", file) != Some(member.size)
        {
            format!("it has {} bytes at byte {}", member.size, member.data)
        } else {
            let stated = file.and_then(|file| file["sha256"].as_str());
            match (stated, digests.files.get(number)) {
                (Some(stated), Some(found)) if stated != found => format!("its sha256 is {found}"),
                _ => continue,
            }
        };
        wrong += 1;
        first.get_or_insert_with(|| format!("{name}: {what}"));
    }
    if let Some(first) = first {
        let what = match wrong {
            1 => first,
            more => format!("{more} files are wrong; the first: {first}"),
        };
        problems.push(problem(path, FORMAT, &what));
    }
}

fn number_of(field: &str, file: Option<&Value>) -> Option<u64> {
    file.and_then(|file| file[field].as_u64())
}
