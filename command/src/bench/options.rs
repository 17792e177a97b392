//! What is measured, how, and for how long.

use std::path::PathBuf;
use std::time::Duration;

use tarflume::{Shuffle, SourceKind, Verify};

/// What is measured, and how.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    /// The data set, or one shard.
    pub(crate) path: PathBuf,
    /// The order of the samples.
    pub(crate) shuffle: Shuffle,
    /// Samples of a batch.
    pub(crate) batch: u64,
    /// Threads of the loader; one a core unless said.
    pub(crate) threads: Option<usize>,
    /// Batches in preparation at once.
    pub(crate) prefetch: usize,
    /// The loader's memory bound in bytes; its default if there is none.
    pub(crate) memory: Option<u64>,
    /// How shards are read.
    pub(crate) source: SourceKind,
    /// Which checksums are compared.
    pub(crate) verify: Verify,
    /// Leaves decoding out.
    pub(crate) raw: bool,
    /// When each part ends.
    pub(crate) until: Until,
    /// The time that a played accelerator computes on a batch.
    pub(crate) step: Option<Duration>,
}

/// When a part of the measurement ends. A batch is never cut.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Until {
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
