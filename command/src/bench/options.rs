//! The options of a measurement: what, how, and for how long.

use std::path::PathBuf;
use std::time::Duration;

use tarflume::{Shuffle, SourceKind, Verify};

/// The options of a measurement.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    /// The data set, or one shard.
    pub(crate) path: PathBuf,
    /// How the store of a URL is reached.
    #[cfg_attr(not(feature = "remote"), allow(dead_code, reason = "there are folders alone"))]
    pub(crate) storage: Vec<(String, String)>,
    /// The order of the samples.
    pub(crate) shuffle: Shuffle,
    /// Samples per batch.
    pub(crate) batch: u64,
    /// Threads of the loader; `None` is one per core.
    pub(crate) threads: Option<usize>,
    /// Number of batches in preparation at once.
    pub(crate) prefetch: usize,
    /// The loader's memory limit in bytes; `None` is its default.
    pub(crate) memory: Option<u64>,
    /// How shards are read.
    pub(crate) source: SourceKind,
    /// Which checksums are compared.
    pub(crate) verify: Verify,
    /// Measures reading only.
    pub(crate) raw: bool,
    /// When each part ends.
    pub(crate) until: Until,
    /// The time that a simulated accelerator computes on a batch.
    pub(crate) step: Option<Duration>,
}

/// When a part of the measurement ends. Batches are never cut.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Until {
    /// After this much time.
    Time(Duration),
    /// After this many samples.
    Samples(u64),
}

impl Until {
    /// Returns true if the measurement is long enough.
    pub(super) fn is_reached(self, took: Duration, samples: u64) -> bool {
        match self {
            Until::Time(time) => took >= time,
            Until::Samples(wanted) => samples >= wanted,
        }
    }
}
