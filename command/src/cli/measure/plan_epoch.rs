//! `pack plan-epoch`: the requests, bytes and cost of an epoch, and whether a storage feeds it.

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use console::Term;
use tarflume::{Price, Remainder};
use tarflume_base::{Exit, Outcome, size, units};
use tarflume_formats::shown;
use tarflume_inspect::stats::ClassSource;

use crate::cli::arguments::args::{self, BLOCKS, BUFFER, BlockSizes, Format, ShuffleChoice};
use crate::cli::arguments::storage;
use crate::cli::features::HelpPart::{Always, With, Without};
use crate::cli::features::{self, Feature, HelpPart, or_url};
use crate::cli::output::out;
use crate::plan_epoch;
use crate::plan_epoch::options::{Job, Options, PackOptions, PriceChoice, StorageLimits};
use crate::plan_epoch::report::{JobReport, Report};

mod text;

const AFTER: &[HelpPart] = &[
    Always("Examples:"),
    With(Feature::Remote, "
  pack plan-epoch s3://bucket/photos --world-size 8 --batch-size 256 --step-ms 100"),
    Always("
  pack plan-epoch shards/ --world-size 64 --batch-size 256 --shuffle blocks --step-ms 250 --bandwidth 5GB
                                                  a folder, as if it were in S3
  pack plan-epoch shards/ --parts json            only the JSON parts are read
  pack plan-epoch shards/ --format json | jq .epoch.requests
  pack plan-epoch chats/ --pack /tokens --max-tokens 4096 --batch-size 8
                                                  batches of 8 packs: their number, and the share that is filled

Reads dataset.json and the sidecars, and the classes of some batches: a data set in the order of its classes
needs a shuffle that reaches far, which the report tells. The requests are those of the loader, by its own rules; requests
that are repeated, after errors or because they are late (2 % at most), are not counted. Costs are list
prices, without storage; see --price.

Exit codes: 0 done, whether the storage feeds the job or not   2 wrong usage   65 bad data
            75 try again"),
];

const PATH: &[HelpPart] = &[
    Always("Folder of shards"),
    With(Feature::Remote, ", one tar with its sidecar, or the URL of a data set in a store"),
    Without(Feature::Remote, " or one tar with its sidecar"),
];

const PRICE: &[HelpPart] = &[
    Always("Take this list price [default: "),
    With(Feature::Remote, "that of the usual class of the URL's store; s3-standard for a folder"),
    Without(Feature::Remote, "s3-standard"),
    Always("]"),
];

/// Tell what an epoch asks of a storage: requests, bytes, cost, and whether the storage feeds it
#[derive(Debug, clap::Args)]
#[command(after_help = features::text(AFTER))]
pub(in crate::cli) struct Args {
    #[arg(help = features::text(PATH), value_name = or_url("DIR|URL", "DIR"))]
    pub(in crate::cli) path: PathBuf,
    /// Plan for an accelerator that computes MS milliseconds on each batch
    #[arg(long, value_name = "MS", value_parser = args::milliseconds)]
    step_ms: Option<Duration>,
    /// Add up the cost of N epochs
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = one_or_more())]
    epochs: u64,
    /// Look up N samples at most; of a larger epoch, batches are sampled
    #[arg(long, value_name = "N", default_value_t = 2_000_000, value_parser = clap::value_parser!(u64).range(1000..))]
    samples: u64,
    /// Where classes are: an extension (cls) or EXT:POINTER (json:/label) [default: the class table of the
    /// data set, or a usual place; in a store, none]
    #[arg(long, value_name = "PLACE", value_parser = ClassSource::parse)]
    class: Option<ClassSource>,
    /// Print text, or one JSON object
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    /// Plan for N ranks
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=65_536), help_heading = "Job")]
    world_size: u64,
    /// Ranks on each node [default: 8, or all if there are fewer]
    #[arg(long, value_name = "N", value_parser = one_or_more(), help_heading = "Job")]
    ranks_per_node: Option<u64>,
    /// Give ranks their samples by position of the order, or by shard
    #[arg(long, value_enum, default_value_t = SplitChoice::Position, help_heading = "Job")]
    split: SplitChoice,
    /// What becomes of samples that fill no batch of all ranks
    #[arg(long, value_enum, default_value_t = RemainderChoice::Drop, help_heading = "Job")]
    remainder: RemainderChoice,

    /// Make batches of N samples on each rank
    #[arg(long, visible_alias = "batch", value_name = "N", default_value_t = 256, value_parser = one_or_more(), help_heading = "Loader")]
    batch_size: u64,
    /// Read samples in this order
    #[arg(long, value_enum, default_value_t = ShuffleChoice::Full, help_heading = "Loader")]
    shuffle: ShuffleChoice,
    /// Use this seed for the order
    #[arg(long, value_name = "SEED", default_value_t = 0, help_heading = "Loader")]
    seed: u64,
    /// Neighbors in a block of --shuffle blocks
    #[arg(long, value_name = "N", default_value_t = BLOCKS.block_size, value_parser = one_or_more(), help_heading = "Loader")]
    block_size: u64,
    /// Blocks that --shuffle blocks mixes
    #[arg(long, value_name = "N", default_value_t = BLOCKS.window, value_parser = one_or_more(), help_heading = "Loader")]
    window: u64,
    /// Samples in the buffer of --shuffle buffer
    #[arg(long, value_name = "N", default_value_t = BUFFER, value_parser = one_or_more(), help_heading = "Loader")]
    buffer_size: u64,
    /// Read these parts only, separated by commas: jpg,json [default: all]
    #[arg(long, value_name = "EXTS", value_delimiter = ',', help_heading = "Loader")]
    parts: Vec<String>,
    /// Fetch so many bytes ahead on each rank
    #[arg(long, value_name = "SIZE", default_value = "256MiB", value_parser = size::parse, help_heading = "Loader")]
    readahead: u64,
    /// Prepare N batches at once
    #[arg(long, value_name = "N", default_value = "4", value_parser = out::jobs, help_heading = "Loader")]
    prefetch: usize,
    /// Threads of each rank [default: number of processors here]
    #[arg(short, long, value_name = "N", value_parser = out::jobs, help_heading = "Loader")]
    jobs: Option<usize>,

    /// Pack samples by the length at PLACE, a pointer into the JSON (/tokens) or a part with a number. --batch-size is then a
    /// number of packs, and requests are those of so many samples on average
    #[arg(long, value_name = "PLACE", help_heading = "Packs")]
    pack: Option<String>,
    /// Tokens of a pack. Longer samples are left out, and counted
    #[arg(long, value_name = "N", default_value_t = 4096, value_parser = one_or_more(), requires = "pack", help_heading = "Packs")]
    max_tokens: u64,
    /// Samples of the order that are packed among each other
    #[arg(long, value_name = "N", default_value_t = 4096, value_parser = one_or_more(), requires = "pack", help_heading = "Packs")]
    pack_window: u64,
    /// The most samples of a pack [default: sixteen times as many as on average, and at least 32]
    #[arg(long, value_name = "N", value_parser = one_or_more(), requires = "pack", help_heading = "Packs")]
    max_samples: Option<u64>,

    /// Time from a request to the first byte of its answer
    #[arg(long, value_name = "MS", default_value = "30", value_parser = args::milliseconds, help_heading = "Storage")]
    latency_ms: Duration,
    /// Bytes a second of one connection
    #[arg(long, value_name = "SIZE", default_value = "90MB", value_parser = size::parse, help_heading = "Storage")]
    connection_bandwidth: u64,
    /// Bytes a second that reach a node: 1.25GB for 10 Gbit/s [default: not a limit]
    #[arg(long, value_name = "SIZE", value_parser = bandwidth, help_heading = "Storage")]
    bandwidth: Option<u64>,
    /// Requests a second that the store serves [default: what S3 (5500), Google and Azure state]
    #[arg(long, value_name = "N", value_parser = one_or_more(), help_heading = "Storage")]
    request_rate: Option<u64>,
    #[arg(help = features::text(PRICE), long, value_name = "NAME", value_parser = price, help_heading = "Storage")]
    price: Option<&'static Price>,
    /// USD for 1,000 requests, in place of the list price
    #[arg(long, value_name = "USD", value_parser = usd, help_heading = "Storage")]
    request_price: Option<f64>,
    /// USD for a GB (2^30 bytes) that leaves to the Internet, in place of the list price
    #[arg(long, value_name = "USD", value_parser = usd, help_heading = "Storage")]
    egress_price: Option<f64>,
}

/// The values of `--split`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum SplitChoice {
    Position,
    Shard,
}

/// The values of `--remainder`.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum RemainderChoice {
    /// They are dropped
    Drop,
    /// The last batch repeats samples
    Pad,
    /// All ranks get equal shares; a few samples are repeated
    Even,
    /// They are dealt once; some ranks get one more
    Uneven,
}

fn one_or_more() -> clap::builder::RangedU64ValueParser {
    clap::value_parser!(u64).range(1..)
}

fn price(name: &str) -> Result<&'static Price, String> {
    Price::named(name).ok_or_else(|| {
        let names: Vec<_> = Price::all().iter().map(|price| price.name).collect();
        format!(
            "there are {}; for another, give --request-price and --egress-price",
            names.join(", ")
        )
    })
}

fn usd(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(usd) if (0.0..=1000.0).contains(&usd) => Ok(usd),
        _ => Err("expected USD from 0 to 1000, such as 0.0004".into()),
    }
}

/// Parses a size that may have a fraction: `1.25GB`.
fn bandwidth(text: &str) -> Result<u64, String> {
    match text.parse::<tarflume::Size>() {
        Ok(size) if size.bytes() > 0 => Ok(size.bytes()),
        _ => Err("expected bytes a second, such as 1.25GB for a link of 10 Gbit/s".into()),
    }
}

impl Args {
    fn options(&self) -> Options {
        let world = self.world_size;
        Options {
            path: self.path.clone(),
            storage: storage::given().to_vec(),
            job: Job {
                world,
                ranks_per_node: self.ranks_per_node.unwrap_or(8).min(world),
                batch: self.batch_size,
                shuffle: self.shuffle.with(
                    self.seed,
                    self.buffer_size,
                    BlockSizes { block_size: self.block_size, window: self.window },
                ),
                by_shard: self.split == SplitChoice::Shard,
                remainder: match self.remainder {
                    RemainderChoice::Drop => Remainder::Drop,
                    RemainderChoice::Pad => Remainder::Pad,
                    RemainderChoice::Even => Remainder::Even,
                    RemainderChoice::Uneven => Remainder::Uneven,
                },
                parts: self.parts.clone(),
                prefetch: self.prefetch,
                threads: self.jobs,
                readahead: self.readahead,
            },
            storage_limits: StorageLimits {
                latency: self.latency_ms,
                connection: self.connection_bandwidth,
                node: self.bandwidth,
                requests: self.request_rate,
            },
            price: PriceChoice {
                listed: self.price,
                per_1000_requests: self.request_price,
                egress_per_gb: self.egress_price,
            },
            step: self.step_ms,
            epochs: self.epochs,
            samples: self.samples,
            packs: self.pack.clone().map(|lengths| PackOptions {
                lengths,
                max_tokens: self.max_tokens,
                window: self.pack_window,
                max_samples: self.max_samples,
            }),
            class: self.class.clone(),
        }
    }

    /// Returns the options that reproduce a report: `shuffle blocks of 64, window 16, seed 0; ..`.
    fn settings(&self, report: &Report) -> String {
        let parameters = match self.shuffle {
            ShuffleChoice::Blocks => format!(" of {}, window {}", self.block_size, self.window),
            ShuffleChoice::Buffer => format!(" of {}", self.buffer_size),
            ShuffleChoice::None | ShuffleChoice::Shards | ShuffleChoice::Full => String::new(),
        };
        let parts = if self.parts.is_empty() {
            "all parts".into()
        } else {
            format!("parts {}", self.parts.join(", "))
        };
        let JobReport { world_size, nodes, batch_size, .. } = report.job;
        let batch = match report.packs {
            Some(_) => units::counted(self.batch_size, "pack", "packs"),
            None => units::counted(batch_size, "sample", "samples"),
        };
        format!(
            "shuffle {}{parameters}, seed {}; {parts}; {} of {batch} on {}, split by {}, remainder {}",
            args::word_of(self.shuffle),
            self.seed,
            units::counted(world_size, "rank", "ranks"),
            units::counted(nodes, "node", "nodes"),
            args::word_of(self.split),
            args::word_of(self.remainder)
        )
    }
}

pub(in crate::cli) fn run(args: &Args) -> Outcome {
    let report = plan_epoch::plan(&args.options())?;
    let mut to = out::screen();
    let written = match args.format {
        Format::Text => {
            let mut lines = Vec::new();
            text::write(&mut lines, &report, &args.settings(&report)).and_then(|()| {
                let lines = String::from_utf8_lossy(&lines);
                to.write_all(out::fitted(&lines, &Term::stdout()).as_bytes())
            })
        }
        Format::Json => writeln!(to, "{}", shown::json_lines(&report)),
    };
    out::printed(written.and_then(|()| to.flush()))?;
    Ok(Exit::Done)
}
