//! The result of `plan_epoch`, serialized for programs. Bytes are bytes, money is USD.

use serde::Serialize;

/// What an epoch asks of the storage.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    /// The data set.
    pub(crate) path: String,
    pub(crate) samples: u64,
    pub(crate) shards: u64,
    /// Bytes of the shards.
    pub(crate) bytes: u64,
    pub(crate) job: JobReport,
    pub(crate) epoch: Epoch,
    /// How much of the epoch was looked up.
    pub(crate) looked_up: LookedUp,
    /// What is read once, when a node opens the data set.
    pub(crate) opening: Opening,
    /// Bytes that are fetched ahead.
    pub(crate) readahead: Readahead,
    /// The cache that would hold the data set.
    pub(crate) node_cache: NodeCache,
    /// `None` if the price of the store is not known.
    pub(crate) cost: Option<CostReport>,
    /// With `--step-ms`.
    pub(crate) rate: Option<Rate>,
    #[serde(flatten)]
    pub(crate) judged: Judged,
    /// With `--pack`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) packs: Option<Packs>,
    /// How well batches mix the classes of the samples; `None` if no classes are known.
    pub(crate) classes: Option<Classes>,
    pub(crate) notes: Vec<String>,
}

/// The job, compared with what the storage allows.
#[derive(Debug, Serialize)]
pub(crate) struct Judged {
    /// The shortest time of a step that the storage allows.
    pub(crate) shortest_step_ms: f64,
    pub(crate) bounds: Vec<Bound>,
    /// Whether the storage feeds the job; `None` without `--step-ms`.
    pub(crate) feeds: Option<bool>,
    /// True if the parts alone, without any other byte, need more than the bandwidth: no shuffle helps.
    pub(crate) bandwidth_is_too_low: bool,
    /// Blocks that feed it, if the chosen shuffle does not.
    pub(crate) suggestion: Option<Suggestion>,
}

/// The settings.
#[derive(Debug, Serialize)]
pub(crate) struct JobReport {
    pub(crate) world_size: u64,
    pub(crate) nodes: u64,
    pub(crate) ranks_per_node: u64,
    pub(crate) batch_size: u64,
    pub(crate) epochs: u64,
}

/// One epoch of all ranks.
#[derive(Debug, Serialize)]
pub(crate) struct Epoch {
    /// Of each rank.
    pub(crate) steps: u64,
    /// Samples of all batches; repeated ones, which pad batches, too.
    pub(crate) samples: u64,
    pub(crate) dropped: u64,
    pub(crate) requests: u64,
    pub(crate) requests_per_rank: u64,
    /// Bytes that are requested.
    pub(crate) bytes: u64,
    /// Bytes of the parts alone.
    pub(crate) part_bytes: u64,
}

/// What was looked up.
#[derive(Debug, Serialize)]
pub(crate) struct LookedUp {
    pub(crate) samples: u64,
    pub(crate) shards: u64,
    /// True if all samples were.
    pub(crate) exact: bool,
    /// Of the requests, if samples of the batches were looked up: 95 % of such samples are nearer.
    pub(crate) uncertainty_percent: Option<f64>,
}

/// Manifest and sidecars; later epochs and jobs find the sidecars on the node.
#[derive(Debug, Serialize)]
pub(crate) struct Opening {
    pub(crate) requests_per_node: u64,
    pub(crate) bytes_per_node: u64,
}

/// Memory for bytes that are fetched ahead.
#[derive(Debug, Serialize)]
pub(crate) struct Readahead {
    /// What is allowed, for each rank.
    pub(crate) limit: u64,
    pub(crate) bytes_per_rank: u64,
    pub(crate) bytes_per_node: u64,
    /// Requests of a rank that can be on their way at once.
    pub(crate) requests_at_once: u64,
}

/// A cache of slots of 1 MiB.
#[derive(Debug, Serialize)]
pub(crate) struct NodeCache {
    pub(crate) bytes: u64,
    pub(crate) slots: u64,
}

/// At list price, unless the command line has another.
#[derive(Debug, Serialize)]
pub(crate) struct CostReport {
    pub(crate) source: String,
    pub(crate) usd_per_1000_requests: f64,
    pub(crate) usd_per_gb_retrieved: f64,
    pub(crate) usd_per_gb_egress: f64,
    /// Requests and retrieval of an epoch.
    pub(crate) usd_per_epoch: f64,
    /// More, if the bytes leave the region to the Internet.
    pub(crate) egress_usd_per_epoch: f64,
    /// Of all epochs, and opening on each node.
    pub(crate) usd: f64,
    pub(crate) egress_usd: f64,
}

/// What a job of so many steps a second needs.
#[derive(Debug, Serialize)]
pub(crate) struct Rate {
    pub(crate) step_ms: f64,
    pub(crate) epoch_seconds: f64,
    pub(crate) samples_per_s: f64,
    pub(crate) requests_per_s: PerPlace,
    pub(crate) bytes_per_s: PerPlace,
}

/// The same number for one rank, one node and the whole job.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct PerPlace {
    pub(crate) rank: f64,
    pub(crate) node: f64,
    pub(crate) world: f64,
}

/// What limits the rate.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Bound {
    pub(crate) name: String,
    /// `requests` or `bytes`.
    pub(crate) unit: &'static str,
    pub(crate) allowed_per_s: f64,
    pub(crate) shortest_step_ms: f64,
    /// With `--step-ms`.
    pub(crate) needed_per_s: Option<f64>,
    pub(crate) utilization_percent: Option<f64>,
}

/// A setting of `blocks` that the storage feeds.
#[derive(Debug, Serialize)]
pub(crate) struct Suggestion {
    pub(crate) block_size: u64,
    pub(crate) window: u64,
    /// `position` or `shard`.
    pub(crate) split: &'static str,
    pub(crate) requests: u64,
    pub(crate) bytes: u64,
    pub(crate) utilization_percent: f64,
}

/// What the first epoch of packed samples becomes, on all ranks.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Packs {
    pub(crate) max_tokens: u64,
    pub(crate) packs: u64,
    pub(crate) samples: u64,
    pub(crate) tokens: u64,
    /// The share of the room of all packs that has tokens, 0 to 1.
    pub(crate) filled: f64,
    /// Samples that are longer than a pack, and are not counted.
    pub(crate) too_long: u64,
    /// Of each rank.
    pub(crate) steps: u64,
}

/// How well the batches of a rank mix the classes of the data set.
#[derive(Debug, Serialize)]
pub(crate) struct Classes {
    /// Where the classes are: `cls`, `json:/label`.
    pub(crate) place: String,
    /// Classes of the samples that were read.
    pub(crate) count: u64,
    /// Batches whose classes were read, spread over the epoch, and their samples.
    pub(crate) batches: u64,
    pub(crate) samples: u64,
    /// How many independent samples a batch is worth.
    pub(crate) batch_is_worth: f64,
    /// Mean share of a batch that its most frequent class has, in percent.
    pub(crate) most_frequent_percent: f64,
    /// Shuffles that mix better, if a batch is worth less than a quarter of its samples.
    pub(crate) better: Vec<BetterShuffle>,
}

/// A shuffle that mixes the classes better.
#[derive(Debug, Serialize)]
pub(crate) struct BetterShuffle {
    /// The options of the command.
    pub(crate) options: String,
    pub(crate) batch_is_worth: f64,
}
