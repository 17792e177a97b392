//! The options of indexing; data only.

use tarflume_base::{Columns, Stop};
use tarflume_formats::Reading;

/// How tars are indexed.
#[derive(Debug, Clone)]
pub struct Options {
    /// Headers alone (no digests, checksums or dimensions), or every byte.
    pub reading: Reading,
    /// Adds entry points of JPEGs, and replaces sidecars that have none; reads every byte.
    pub entry_points: bool,
    /// Stores these typed columns, and replaces sidecars that have others; needs every byte.
    pub columns: Columns,
    /// Takes the splits of shards from their names: `train-0.tar`, `val-0.tar`.
    pub splits: bool,
    /// Replaces sidecars and manifests that exist.
    pub force: bool,
    /// Accepts a manifest that was edited by hand, and writes its digest again.
    pub accept_edits: bool,
    /// Accepts a tar without an end marker as complete, with a warning.
    pub allow_missing_end: bool,
    /// Reads on behind end markers, for tars that were joined.
    pub ignore_zeros: bool,
    /// Number of shards processed at the same time.
    pub jobs: usize,
    /// Ends the work early.
    pub stop: Stop,
    /// How stores of URLs are reached: names and values of options. The environment has the others.
    pub storage: Vec<(String, String)>,
}

impl Options {
    /// Options that read the headers of one tar, and write nothing.
    pub(crate) fn of_headers() -> Options {
        Options {
            reading: Reading::Headers,
            entry_points: false,
            columns: Columns::default(),
            splits: false,
            force: false,
            accept_edits: false,
            allow_missing_end: false,
            ignore_zeros: false,
            jobs: 1,
            stop: Stop::new(),
            storage: Vec::new(),
        }
    }
}
