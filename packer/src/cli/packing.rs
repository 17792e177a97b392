//! What `build` and `run` share: the arguments of a run, and showing it.

use std::path::PathBuf;

use clap::ValueEnum;
use tarflume_formats::Plan;
use tarflume_formats::plan::PlanFoot;
use tarflume_formats::shard::Durability;

use super::progress::{self, Goal};
use super::source_args::ShowArgs;
use crate::check::CheckLevel;
use crate::failure::Failure;
use crate::quarantine::Policy;
use crate::running::options::{Checks, RunOptions};
use crate::running::{self, Ran, RunCounter};
use crate::staging::Staging;

/// How shards are packed; nothing here changes their bytes.
#[derive(Debug, clap::Args)]
pub(super) struct RunArgs {
    /// Does not wait until shards are on disk: faster, but a power cut may spoil finished shards
    #[arg(long)]
    no_fsync: bool,
    /// Trusts files of the planned size, whatever their modification time (for copied sources)
    #[arg(long)]
    ignore_times: bool,
}

impl RunArgs {
    /// The options of a run of this plan.
    pub(super) fn options(
        &self,
        policy: Policy,
        jobs: usize,
        roots: Vec<PathBuf>,
        foot: &PlanFoot,
    ) -> Result<RunOptions, Failure> {
        let level = foot.options.get("check").and_then(|word| word.as_str()).unwrap_or_default();
        let level = CheckLevel::from_str(level, false).map_err(|_| {
            Failure::bad_data(format!("the plan asks for an unknown check '{level}'"))
        })?;
        if roots.len() != foot.roots.len() {
            return Err(Failure::usage(format!(
                "the plan has {} source folders, {} were given",
                foot.roots.len(),
                roots.len()
            )));
        }
        Ok(RunOptions {
            checks: Checks { level, times: !self.ignore_times },
            policy,
            jobs,
            durability: if self.no_fsync { Durability::Cached } else { Durability::Synced },
            roots,
        })
    }
}

/// Runs shards of the plan and shows how far it is.
pub(super) fn run_shown(
    plan: &Plan,
    staging: &Staging,
    shards: &[usize],
    options: &RunOptions,
    show: ShowArgs,
) -> Result<Ran, Failure> {
    let counter = RunCounter::default();
    let goal = Goal {
        bytes: shards.iter().map(|&s| plan.foot().shards[s].source_bytes).sum(),
        shards: shards.len() as u64,
    };
    progress::during_run(show.mode(), &counter, goal, || {
        running::run(plan, staging, shards, options, &counter)
    })
}
