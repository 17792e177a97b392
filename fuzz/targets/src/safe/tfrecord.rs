//! TFRecord frames and examples: no panic, no range outside the record, no feature twice.

use std::collections::HashSet;

use tarflume_foreign::tfrecord::{Values, example, head};

/// Parses the input as the head of a TFRecord frame and as an example.
pub fn tfrecord(input: &[u8]) {
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
}
