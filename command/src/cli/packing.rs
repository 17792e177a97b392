//! Shared by `build` and `run`: the arguments of a run, and its progress display.

use std::path::PathBuf;

use tarflume_formats::plan::PlanFoot;
use tarflume_formats::{Durability, Plan};
use tarflume_packer::build::{Request, Scanned};
use tarflume_packer::progress::Goal;
use tarflume_packer::run::{self, RunCounter, RunOptions, RunReport};
use tarflume_packer::workdir::{Policy, Staging};
use tarflume_packer::{Failure, build};

use super::progress;
use super::source_args::ShowArgs;
use crate::signals;

/// How shards are packed; nothing here changes their bytes.
#[derive(Debug, clap::Args)]
pub(super) struct RunArgs {
    /// Do not wait for the disk: faster, but a power cut may damage finished shards
    #[arg(long)]
    no_fsync: bool,
    /// Accept files of the planned size with any modification time (for copied sources)
    #[arg(long)]
    ignore_times: bool,
}

impl RunArgs {
    /// Returns the options of a run of this plan.
    pub(super) fn options(
        &self,
        policy: Policy,
        jobs: usize,
        roots: Vec<PathBuf>,
        foot: &PlanFoot,
    ) -> Result<RunOptions, Failure> {
        let mut options = RunOptions::of_plan(foot, policy, jobs, roots)?;
        options.stop = signals::stop();
        options.checks.times = !self.ignore_times;
        if self.no_fsync {
            options.durability = Durability::Cached;
        }
        Ok(options)
    }
}

/// Runs shards of the plan and shows the progress.
pub(super) fn run_shown(
    plan: &Plan,
    staging: &Staging,
    shards: &[usize],
    options: &RunOptions,
    show: ShowArgs,
) -> Result<RunReport, Failure> {
    let counter = RunCounter::default();
    let goal = Goal::of(plan.foot(), shards);
    progress::during_run(show.mode(), &counter, goal, "packing", || {
        run::run(plan, staging, shards, options, &counter)
    })
}

/// Checks the contents of a plan that is not run, and shows the progress.
pub(super) fn look_shown(
    request: &Request,
    plan: &Plan,
    scanned: &mut Scanned,
    show: ShowArgs,
) -> Result<(), Failure> {
    let counter = RunCounter::default();
    let shards: Vec<usize> = (0..plan.foot().shards.len()).collect();
    let goal = Goal::of(plan.foot(), &shards);
    progress::during_run(show.mode(), &counter, goal, "checking", || {
        build::look_at_contents(request, plan, scanned, &counter)
    })
}
