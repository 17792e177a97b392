//! The record of a shard: accepted input is unchanged by writing and reading it back, and its entry makes
//! a manifest that is rejected or read back.

use tarflume_formats::manifest::Manifest;
use tarflume_formats::{ShardRecord, shown};

/// Parses the input as a record of a shard, and writes it back, also as the entry of a manifest.
pub fn record(json: &[u8]) {
    let Ok(record) = ShardRecord::from_json(json) else { return };
    let written = record.to_json();
    let again = ShardRecord::from_json(&written).expect("what was written is read");
    assert_eq!(again, record);
    assert_eq!(again.to_json(), written);
    for problem in &record.problems {
        let shown = shown::json(problem);
        assert!(!shown.chars().any(shown::is_hostile), "{shown}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).expect("JSON"), *problem);
    }
    // Counts that overflow when they are added up are refused where the manifest is read.
    if record.entry.samples < 1 << 60 && record.entry.bytes < 1 << 60 {
        let manifest = Manifest::new("fuzz", None, record.extensions, vec![record.entry]);
        if let Ok(again) = Manifest::from_json(&manifest.to_json()) {
            assert_eq!(again, manifest);
        }
    }
}
