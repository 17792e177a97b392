//! Segments of a panoptic annotation as annotations of their own: an annotation has all segments of an image, and its PNG
//! their ids as colors.

use serde_json::{Map, Value};

/// The field that makes an annotation panoptic.
const SEGMENTS: &str = "segments_info";

/// Returns the annotations of objects that an annotation has: its segments, or itself. The `id` of a segment, which its
/// pixels in the PNG have, becomes `segment_id`.
///
/// # Errors
/// Returns the reason if the segments are no list of objects.
pub(super) fn segments(
    mut annotation: Map<String, Value>,
) -> Result<Vec<Map<String, Value>>, String> {
    let Some(segments) = annotation.remove(SEGMENTS) else { return Ok(vec![annotation]) };
    let Value::Array(segments) = segments else {
        return Err(format!("'{SEGMENTS}' is no list"));
    };
    let image = annotation.remove("image_id").unwrap_or_default();
    let segments = segments.into_iter().map(|segment| {
        let Value::Object(mut segment) = segment else {
            return Err(format!("{segment} in '{SEGMENTS}' is no object"));
        };
        if let Some(id) = segment.remove("id") {
            segment.insert("segment_id".into(), id);
        }
        segment.insert("image_id".into(), image.clone());
        Ok(segment)
    });
    segments.collect()
}
