//! The options of `plan_epoch`: the job, the storage, and its price.

use std::path::PathBuf;
use std::time::Duration;

use tarflume::{Price, Remainder, Shuffle};
use tarflume_inspect::stats::ClassSource;

/// The job and the storage.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    pub(crate) path: PathBuf,
    /// Options of the store of a URL; a program without stores opens none.
    #[cfg_attr(not(feature = "remote"), allow(dead_code))]
    pub(crate) storage: Vec<(String, String)>,
    pub(crate) job: Job,
    pub(crate) storage_limits: StorageLimits,
    /// What replaces numbers of the price list.
    pub(crate) price: PriceChoice,
    /// Time of the accelerator for a batch.
    pub(crate) step: Option<Duration>,
    pub(crate) epochs: u64,
    /// Samples that are looked up at most.
    pub(crate) samples: u64,
    /// Batches are of packs, if these are given.
    pub(crate) packs: Option<PackOptions>,
    /// Where the class of a sample is; `None` tries the usual places of a folder, and reads nothing of a store.
    pub(crate) class: Option<ClassSource>,
}

/// The settings of the loaders.
#[derive(Debug, Clone)]
pub(crate) struct Job {
    pub(crate) world: u64,
    pub(crate) ranks_per_node: u64,
    /// Rows of a batch on each rank.
    pub(crate) batch: u64,
    pub(crate) shuffle: Shuffle,
    pub(crate) by_shard: bool,
    pub(crate) remainder: Remainder,
    /// Extensions of the parts that are read; all if there are none.
    pub(crate) parts: Vec<String>,
    pub(crate) prefetch: usize,
    pub(crate) threads: Option<usize>,
    pub(crate) readahead: u64,
}

/// How samples are packed.
#[derive(Debug, Clone)]
pub(crate) struct PackOptions {
    /// A pointer into the JSON, or a part with a number.
    pub(crate) lengths: String,
    pub(crate) max_tokens: u64,
    pub(crate) window: u64,
    pub(crate) max_samples: Option<u64>,
}

/// What the storage allows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StorageLimits {
    /// From a request to the first byte of its answer.
    pub(crate) latency: Duration,
    /// Bytes a second of one connection.
    pub(crate) connection: u64,
    /// Bytes a second of a node, if they are known.
    pub(crate) node: Option<u64>,
    /// Requests a second for all shards; `None` takes what the store of the URL states.
    pub(crate) requests: Option<u64>,
}

/// The price: one of the list, and numbers that replace it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct PriceChoice {
    pub(crate) listed: Option<&'static Price>,
    /// USD for 1,000 requests.
    pub(crate) per_1000_requests: Option<f64>,
    /// USD for a GB that leaves to the Internet.
    pub(crate) egress_per_gb: Option<f64>,
}
