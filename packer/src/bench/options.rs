//! What is measured, how, and for how long.

use std::path::PathBuf;
use std::time::Duration;

use tarflume::Shuffle;
use tarflume::fetch::fetched::Verify;
use tarflume::source::open::SourceKind;

/// What is measured, and how.
#[derive(Debug, Clone)]
pub struct Options {
    /// The data set, or one shard.
    pub path: PathBuf,
    /// The order of the samples.
    pub shuffle: Shuffle,
    /// Samples of a batch.
    pub batch: u64,
    /// Threads of the loader; one a core unless said.
    pub threads: Option<usize>,
    /// Batches in preparation at once.
    pub prefetch: usize,
    /// The loader's memory bound in bytes; its default if there is none.
    pub memory: Option<u64>,
    /// How shards are read.
    pub source: SourceKind,
    /// Which checksums are asked.
    pub verify: Verify,
    /// Leaves decoding out.
    pub raw: bool,
    /// When each part ends.
    pub until: Until,
    /// The time that a played accelerator computes on a batch.
    pub step: Option<Duration>,
}

/// When a part of the measurement ends. A batch is never cut.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Until {
    /// After so much time.
    Time(Duration),
    /// After so many samples.
    Samples(u64),
}

impl Until {
    /// True if this is enough.
    pub(super) fn is_reached(self, took: Duration, samples: u64) -> bool {
        match self {
            Until::Time(time) => took >= time,
            Until::Samples(wanted) => samples >= wanted,
        }
    }
}
