//! `pack finalize`: publishes a plan whose shards are all finished.

use std::path::PathBuf;

use tarflume_formats::Durability;
use tarflume_packer::build::finalize;
use tarflume_packer::workdir::{OutputState, Staging, output_state};
use tarflume_packer::{Exit, Outcome};

use super::bucket::BucketBuild;
use super::source_args::ShowArgs;
use super::{storage, summary};
use crate::signals;

/// Publish a data set whose shards are all finished, and remove temporary files.
///
/// The result is byte for byte what `pack build` makes on one machine.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Folder or URL of the plan (-o of `pack plan`)
    #[arg(value_name = "DIR")]
    out: PathBuf,
    #[command(flatten)]
    show: ShowArgs,
}

pub(super) fn run(args: &Args) -> Outcome {
    let _ = signals::listen();
    if let Some(bucket) = storage::bucket(&args.out)? {
        let (out, show) = (&args.out, args.show);
        return BucketBuild { bucket, out, single_writer: true, show }.finalize();
    }
    let staging = Staging::of(&args.out);
    // Before taking the lock, which would create the folder.
    let plan = match output_state(&staging)? {
        OutputState::Planned(plan) => plan,
        OutputState::Published(manifest) => {
            staging.sweep_published(&manifest)?; // an attempt may have been ended after it had published
            summary::already_published(&args.out, &manifest, args.show);
            return Ok(Exit::Done);
        }
    };
    let _lock = staging.lock()?;
    let manifest = finalize(&staging, plan.foot(), Durability::Synced)?;
    summary::finalized(&args.out, &manifest, args.show);
    Ok(Exit::Done)
}
