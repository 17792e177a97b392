//! `pack plan`: the first step of packing on several machines.

use std::path::PathBuf;

use tarflume_packer::build::{Prepared, Request, prepare};
use tarflume_packer::scan::ScanCounter;
use tarflume_packer::{Exit, Outcome};

use super::bucket::BucketBuild;
use super::source_args::{ShowArgs, SourceArgs};
use super::{progress, storage, summary};
use crate::signals;

/// Scan folders and plan the content of every shard; `run` packs the shards, on any machine.
///
/// Writes the plan to DIR/.pack/plan. All machines need access to DIR and SRC.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    pub(super) source: SourceArgs,
    /// Do not read the folders, but what `pack scan` has written of all their parts: files, folders of
    /// .scan files, or names with wildcards
    #[arg(long, value_name = "FILE", num_args = 1.., help_heading = "Samples")]
    from_scans: Vec<PathBuf>,
    /// Write to a store that ignores conditional writes: no other command may write there
    #[arg(long, help_heading = "Stores")]
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

pub(super) fn run(args: &Args) -> Outcome {
    let _ = signals::listen();
    let request = args.source.request_from(&args.from_scans, false)?;
    let show = args.source.show;
    match storage::bucket(&args.source.out)? {
        Some(bucket) => {
            let (out, single_writer) = (&args.source.out, args.single_writer);
            BucketBuild { bucket, out, single_writer, show }.plan(request)
        }
        None => plan(&request, show),
    }
}

/// Plans what is requested, and prints what was done.
pub(super) fn plan(request: &Request, show: ShowArgs) -> Outcome {
    let counter = ScanCounter::default();
    match progress::during_scan(show.mode(), &counter, || prepare(request, &counter))? {
        Prepared::Published { manifest, lacks_entry_points } => {
            summary::already_published(&request.out, &manifest, show);
            if lacks_entry_points {
                summary::lacks_entry_points(&request.out, show);
            }
        }
        Prepared::Nothing { manifest, scanned } => {
            summary::nothing_new(&request.out, &manifest, &scanned, show);
        }
        Prepared::Refused(scanned, _) => {
            summary::refused_scan(&request.out, &scanned, show);
            return Ok(Exit::Problems);
        }
        Prepared::Dry(plan, scanned) => summary::dry_run(plan.foot(), &scanned, show),
        Prepared::Ready(ready) => summary::planned(&request.out, &ready, show),
    }
    Ok(Exit::Done)
}
