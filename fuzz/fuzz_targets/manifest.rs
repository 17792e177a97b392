//! `dataset.json` and the shard record: accepted input is unchanged by writing and reading it back.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tarflume_formats::ShardRecord;
use tarflume_formats::manifest::Manifest;

fuzz_target!(|json: &[u8]| {
    // Nearly no changed input has the digest of its own text.
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
});
