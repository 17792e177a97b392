//! `pack build`: plan + run + finalize.

use tarflume_base::Outcome;

use crate::cli::arguments::source_args::SourceArgs;
use crate::cli::arguments::storage;
use crate::cli::features::HelpPart::{Always, With};
use crate::cli::features::{self, Feature, HelpPart};
use crate::cli::steps::packing::{self, RunArgs};
use crate::cli::steps::preparation;
use crate::signals;

/// Pack folders into shards, check every file, and publish the data set.
///
/// Groups files into samples by name (cat/001.jpg, cat/001.json), sorts, checks and packs them.
/// DIR holds no shard until the data set is complete. After an interruption, a kill or a full disk,
/// the same command continues after the last complete shard and writes the same bytes.
///
/// Reads every Huffman code of JPEGs, which finds damage that no other check finds, and writes the
/// places from which decoding can start to the sidecars (see --no-entry-points).
#[derive(Debug, clap::Args)]
#[command(after_help = features::text(EXAMPLES))]
pub(in crate::cli) struct Args {
    #[command(flatten)]
    pub(in crate::cli) source: SourceArgs,
    #[command(flatten)]
    run: RunArgs,
    /// Show the plan (shards, sizes, problems) and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Write to a store that ignores conditional writes: no other command may write there
    #[arg(long, help_heading = "Stores", hide = Feature::Remote.is_missing())]
    single_writer: bool,
}

const EXAMPLES: &[HelpPart] = &[
    Always(
        "\
Examples:
  pack build photos/ -o shards/                        JPEG/JSON pairs, shards of 256 MiB
  pack build train/ -o shards/ --label folder          images in folders of classes, no JSON
  pack build photos/ -o shards/ --join labels.csv:key=filename   rows of a table as JSON
  pack build photos/ -o shards/ --dry-run              show what would be packed, and bad names
  pack build photos/ -o shards/ --on-problem skip      leave bad samples out, list them",
    ),
    With(
        Feature::Remote,
        "
  pack build photos/ -o s3://bucket/photos             upload each shard as soon as it is packed",
    ),
    Always(
        "
  pack build photos/ -o shards/ --dry-run --check decode   show damaged files, too
  pack build photos/ -o shards/ --shards 64 --shuffle 42
  pack build photos/ -o shards/ --exclude @bad.jsonl   leave out samples that a list names
  pack build photos/ -o shards/ --split train=0.9,val=0.1 --stratify /class
  pack build val2017/ -o shards/ --coco instances_val2017.json   boxes and masks as JSON
  pack build photos/ -o shards/ --no-entry-points      faster to pack, slower to train on
  pack build scans/ -o shards/ --require png,txt --names replace",
    ),
];

pub(in crate::cli) fn run(args: &Args) -> Outcome {
    let _ = signals::listen();
    let request = args.source.request(args.dry_run)?;
    let show = args.source.show;
    let bucket = storage::bucket(&args.source.out)?;
    let build = preparation::begin(bucket, request, args.single_writer, show)?;
    packing::build(build.with_settings(args.run.settings()), show)
}
