//! The options of indexing. No behavior.

use tarflume_formats::reading::Reading;

use crate::stop::Stop;

/// How tars are indexed.
#[derive(Debug, Clone)]
pub struct Options {
    /// By headers alone (no digests, checksums or dimensions), or every byte.
    pub reading: Reading,
    /// Adds entry points of JPEGs, and replaces sidecars that have none; reads every byte.
    pub entry_points: bool,
    /// Replaces sidecars and manifests that exist.
    pub force: bool,
    /// Takes a tar whose end marker is missing for whole, with a warning.
    pub allow_missing_end: bool,
    /// Shards worked on at the same time.
    pub jobs: usize,
    /// Ends it before its time.
    pub stop: Stop,
}
