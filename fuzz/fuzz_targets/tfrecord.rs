//! TFRecord frames and examples: no panic, no range outside the record, no feature twice.
#![no_main]

use std::collections::HashSet;

use libfuzzer_sys::fuzz_target;
use tarflume_formats::foreign::tfrecord::{Values, example, head};

fuzz_target!(|input: &[u8]| {
    if let Some(first) = input.first_chunk() {
        let _ = head(first, 0);
    }
    let Ok(features) = example(input) else { return };
    let names: HashSet<&str> = features.iter().map(|feature| feature.name.as_str()).collect();
    assert_eq!(names.len(), features.len());
    let mut values = 0;
    for feature in &features {
        values += feature.values.len();
        if let Values::Bytes(ranges) = &feature.values {
            assert!(ranges.iter().all(|range| range.end <= input.len()));
        }
    }
    assert!(values <= input.len(), "memory is bounded by the record");
});
