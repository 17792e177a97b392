//! `pack finalize`: publishes a plan whose shards are all finished.

use std::path::PathBuf;

use tarflume_base::{Exit, Outcome};
use tarflume_packer::session::{Opened, StoredPlan};

use crate::cli::arguments::source_args::ShowArgs;
use crate::cli::arguments::{args, storage};
use crate::cli::features;
use crate::cli::steps::summary;
use crate::signals;

/// Publish a data set whose shards are all finished, and remove temporary files.
///
/// The result is byte for byte what `pack build` makes on one machine.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    #[arg(help = features::text(args::PLAN), value_name = "DIR")]
    out: PathBuf,
    #[command(flatten)]
    show: ShowArgs,
}

pub(in crate::cli) fn run(args: &Args) -> Outcome {
    let _ = signals::listen();
    let output = storage::output(&args.out)?;
    match StoredPlan::open(&output)? {
        Opened::Planned(plan) => {
            let publication = plan.finalize()?;
            summary::leftovers(&publication.leftovers, args.show);
            summary::finalized(&args.out, &publication.manifest, args.show);
        }
        Opened::Published(manifest) => {
            output.sweep_published(&manifest)?;
            summary::already_published(&args.out, &manifest, args.show);
        }
    }
    Ok(Exit::Done)
}
