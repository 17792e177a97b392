//! Durations of statistics as seconds, for serde.

use std::time::Duration;

use serde::Serializer;

/// Writes a duration as seconds, with a fraction.
pub fn seconds<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(time.as_secs_f64())
}

/// Writes each of several durations as seconds.
pub fn all_seconds<S: Serializer>(times: &[Duration], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(times.iter().map(Duration::as_secs_f64))
}
