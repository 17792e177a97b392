//! The record of one shard: a line with a digest, then JSON.

use std::io::Read;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tarflume_formats::files::{self, Patient};

use super::state::State;

/// What the names of records end with.
pub(super) const ENDING: &str = "verified";
/// The version of records, and of the checks that they stand for.
const VERSION: &str = concat!("tarflume-verified 1 ", env!("CARGO_PKG_VERSION"));
/// The most bytes of a record.
const MOST: usize = 8 << 20;
/// Hexadecimal digits of a digest.
const DIGEST: usize = 64;

/// What a shard is recognized by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ShardKey {
    /// The tar, without links in the path of its folder.
    pub path: String,
    /// What was checked: the digest of the options, of the manifest's entry, and of what else decides about the result.
    pub checks: String,
    /// The state of the tar.
    pub tar: State,
    /// The digest of the bytes of its sidecar.
    pub sidecar: String,
}

impl ShardKey {
    /// Returns the name of the record. A shard in a new state replaces its record.
    pub(super) fn name(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&(self.path.len() as u64).to_le_bytes()).update(self.path.as_bytes());
        hasher.update(self.checks.as_bytes());
        hasher.finalize().to_hex()[..32].to_string()
    }
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Record {
    version: String,
    key: ShardKey,
    facts: Value,
}

impl Record {
    /// Returns the facts of the record at `path`, if it is whole and has this key.
    pub(super) fn read(path: &Path, key: &ShardKey) -> Option<Value> {
        Record::load(path).filter(|record| record.key == *key).map(|record| record.facts)
    }

    /// Returns the tar of the record at `path`, if the record is whole and of this version.
    pub(super) fn tar(path: &Path) -> Option<PathBuf> {
        Some(Record::load(path)?.key.path.into())
    }

    fn load(path: &Path) -> Option<Record> {
        let (file, found) = files::open(path).ok()?;
        if found.len() > MOST as u64 {
            return None;
        }
        let mut bytes = Vec::new();
        Patient(&file).take(MOST as u64).read_to_end(&mut bytes).ok()?;
        let json = bytes.get(DIGEST + 1..)?;
        let digest = format!("{}\n", blake3::hash(json).to_hex());
        if bytes.get(..=DIGEST)? != digest.as_bytes() {
            return None;
        }
        let record: Record = serde_json::from_slice(json).ok()?;
        (record.version == VERSION).then_some(record)
    }

    /// Returns the bytes of a record; `None` if they are too many.
    pub(super) fn bytes(key: &ShardKey, facts: &Value) -> Option<Vec<u8>> {
        let record = Record { version: VERSION.into(), key: key.clone(), facts: facts.clone() };
        let json = serde_json::to_vec(&record).expect("texts and numbers serialize");
        let mut bytes = format!("{}\n", blake3::hash(&json).to_hex()).into_bytes();
        bytes.extend(json);
        (bytes.len() <= MOST).then_some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::Cache;

    fn key(path: &Path) -> ShardKey {
        ShardKey {
            path: path.display().to_string(),
            checks: "full".into(),
            tar: State::of(&std::fs::metadata(path).unwrap()),
            sidecar: "5".into(),
        }
    }

    #[test]
    fn a_record_is_found_by_its_key_alone_and_not_if_it_is_damaged() {
        let folder = tempfile::tempdir().unwrap();
        let tar = folder.path().join("a.tar");
        std::fs::write(&tar, b"tar").unwrap();
        let cache = Cache::open(&folder.path().join("cache")).unwrap();
        let stored = key(&tar);
        assert_eq!(cache.look_up(&stored), None);
        let facts = serde_json::json!({"objects": 7});
        cache.keep(&stored, &facts);
        assert_eq!(cache.look_up(&stored), Some(facts));
        let others = [
            ShardKey { path: "b.tar".into(), ..stored.clone() },
            ShardKey { checks: "decode".into(), ..stored.clone() },
            ShardKey { sidecar: "6".into(), ..stored.clone() },
        ];
        assert!(others.iter().all(|other| cache.look_up(other).is_none()));
        std::fs::write(&tar, b"rat").unwrap();
        assert_eq!(cache.look_up(&key(&tar)), None, "its times differ");

        let path = cache.path(&stored);
        let whole = std::fs::read(&path).unwrap();
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 1;
            std::fs::write(&path, &damaged).unwrap();
            assert_eq!(cache.look_up(&stored), None, "byte {at}");
            std::fs::write(&path, &whole[..at]).unwrap();
            assert_eq!(cache.look_up(&stored), None, "cut at {at}");
        }
        std::fs::write(&path, &whole).unwrap();
        assert!(cache.look_up(&stored).is_some());
        assert!(cache.note().is_none());
    }

    #[test]
    fn a_record_that_is_too_long_is_not_written() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.tar"), b"tar").unwrap();
        let key = key(&folder.path().join("a.tar"));
        assert_eq!(Record::bytes(&key, &Value::String("x".repeat(MOST))), None);
    }
}
