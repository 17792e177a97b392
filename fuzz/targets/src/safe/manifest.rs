//! `dataset.json` and the shard record: accepted input is unchanged by writing and reading it back.

use tarflume_formats::ShardRecord;
use tarflume_formats::manifest::Manifest;

/// Parses the input as a manifest and as a record of a shard, and writes it back.
pub fn manifest(json: &[u8]) {
    // A changed input contains a wrong digest of its text: only `from_edited_json` gets past that.
    if let Ok(manifest) = Manifest::from_edited_json(json) {
        let _ = Manifest::from_json(json);
        let written = manifest.to_json();
        let again = Manifest::from_json(&written).expect("what was written is read");
        assert_eq!(again, manifest);
        assert_eq!(again.to_json(), written);
    }
    if let Ok(record) = ShardRecord::from_json(json) {
        let written = record.to_json();
        let again = ShardRecord::from_json(&written).expect("what was written is read");
        assert_eq!(again.to_json(), written);
    }
}
