//! The further steps of a build, and the arguments of all commands that pack.

use tarflume_base::{Exit, Outcome};
use tarflume_formats::Durability;
use tarflume_packer::session::{Build, Finalized, RunSettings, StoreOutcome};

use super::{preparation, summary};
use crate::cli::arguments::source_args::ShowArgs;
use crate::cli::output::progress;

/// How shards are packed; nothing here changes their bytes.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct RunArgs {
    /// Do not wait for the disk: faster, but a power cut may damage finished shards
    #[arg(long)]
    no_fsync: bool,
    /// Accept files of the planned size with any modification time (for copied sources)
    #[arg(long)]
    ignore_times: bool,
}

impl RunArgs {
    /// Returns the settings of a run.
    pub(in crate::cli) fn settings(&self) -> RunSettings {
        let durability = if self.no_fsync { Durability::Cached } else { Durability::Synced };
        RunSettings { durability, times: !self.ignore_times }
    }
}

/// Plans, packs and publishes, and prints what was done.
pub(in crate::cli) fn build(build: Build, show: ShowArgs) -> Outcome {
    let out = build.out().to_path_buf();
    let counter = build.counter();
    let planned = preparation::plan(build, show)?;
    let planned = match preparation::ready(planned, &out, &counter, show)? {
        Ok(planned) => planned,
        Err(exit) => return Ok(exit),
    };
    summary::scanned(&planned, show);
    let stored = match planned.store()? {
        StoreOutcome::Ready(stored) => stored,
        StoreOutcome::Published(manifest, plan) => {
            summary::leftovers(&plan.finalize()?.leftovers, show);
            summary::already_published(&out, &manifest, show);
            return Ok(Exit::Done);
        }
    };
    let packed = progress::during_run(show.mode(), &counter, "packing", || stored.run())?;
    match packed.finalize()? {
        Finalized::Refused(ran) => {
            summary::refused_run(&out, &ran, show);
            Ok(Exit::Problems)
        }
        Finalized::Published(done) => {
            summary::leftovers(&done.leftovers, show);
            summary::published(&out, &done, show);
            // The data set is published: a sidecar that cannot be read now is no failure of the build.
            if let Ok(empty) = done.empty_columns() {
                summary::empty_columns(&empty, show);
            }
            Ok(Exit::Done)
        }
    }
}
