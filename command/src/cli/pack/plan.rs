//! `pack plan`: the first step of packing on several machines.

use std::path::PathBuf;

use tarflume_base::{Exit, Outcome};
use tarflume_packer::bucket::Bucket;
use tarflume_packer::build::Request;
use tarflume_packer::session::{Planned, StoreOutcome};

use crate::cli::arguments::source_args::{ShowArgs, SourceArgs};
use crate::cli::arguments::storage;
use crate::cli::features::Feature;
use crate::cli::steps::{preparation, summary};
use crate::signals;

/// Scan folders and plan the content of every shard; `run` packs the shards, on any machine.
///
/// Writes the plan to DIR/.pack/plan. All machines need access to DIR and SRC.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(in crate::cli) struct Args {
    #[command(flatten)]
    pub(in crate::cli) source: SourceArgs,
    /// Do not read the folders, but what `pack scan` has written of all their parts: files, folders of
    /// .scan files, or names with wildcards
    #[arg(long, value_name = "FILE", num_args = 1.., help_heading = "Samples")]
    from_scans: Vec<PathBuf>,
    /// Write to a store that ignores conditional writes: no other command may write there
    #[arg(long, help_heading = "Stores", hide = Feature::Remote.is_missing())]
    single_writer: bool,
}

const EXAMPLES: &str = "\
Examples:
  pack plan photos/ -o shards/          once
  pack run shards/ --rank 0 --of 8      on each of 8 machines (or under srun, mpirun, torchrun:
  pack run shards/                      rank and world are taken from the launcher)
  pack status shards/                   show progress
  pack finalize shards/                 once all shards are finished: publish
  pack plan photos/ -o shards/ --from-scans scans/   from what `pack scan` found on several machines";

pub(in crate::cli) fn run(args: &Args) -> Outcome {
    let _ = signals::listen();
    let request = args.source.request_from(&args.from_scans, false)?;
    let show = args.source.show;
    let bucket = storage::bucket(&args.source.out)?;
    plan(bucket, request, args.single_writer, show)
}

/// Plans what is requested, and prints what was done.
pub(in crate::cli) fn plan(
    bucket: Option<Bucket>,
    request: Request,
    single_writer: bool,
    show: ShowArgs,
) -> Outcome {
    let in_folder = bucket.is_none();
    let build = preparation::begin(bucket, request, single_writer, show)?;
    let out = build.out().to_path_buf();
    let counter = build.counter();
    let planned = match preparation::plan(build, show)? {
        // `pack run` checks the contents, on all machines.
        Planned::Refused(refused) if in_folder => {
            summary::refused_scan(&out, refused.scanned(), show);
            return Ok(Exit::Problems);
        }
        planned => match preparation::ready(planned, &out, &counter, show)? {
            Ok(planned) => planned,
            Err(exit) => return Ok(exit),
        },
    };
    match planned.store()? {
        StoreOutcome::Ready(stored) => summary::planned(&out, &stored, show),
        StoreOutcome::Published(manifest, _) => summary::already_published(&out, &manifest, show),
    }
    Ok(Exit::Done)
}
