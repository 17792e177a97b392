//! `pack run`: packs some or all shards of a plan.

use std::ops::Range;
use std::path::PathBuf;
use std::time::Duration;

use tarflume_base::{Exit, Failure, Outcome};
use tarflume_order::rank;
use tarflume_packer::session::{Opened, ShareOutcome, StoredPlan, WorkerOptions};
use tarflume_shards::workdir::Policy;

use crate::cli::arguments::args::{self, Jobs, choice};
use crate::cli::arguments::source_args::ShowArgs;
use crate::cli::arguments::storage;
use crate::cli::features;
use crate::cli::output::progress;
use crate::cli::steps::packing::RunArgs;
use crate::cli::steps::summary;
use crate::signals;

/// Pack shards of a plan: all shards, some by number, or this machine's share.
///
/// Skips finished shards, so a second run, or runs on two machines at once, do no harm. Without
/// --shard, --shards or --rank, takes the share from the launcher (torchrun, Open MPI, Slurm,
/// Kubernetes with --of); without a launcher, packs all shards.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(in crate::cli) struct Args {
    #[arg(help = features::text(args::PLAN), value_name = "DIR")]
    out: PathBuf,
    /// Pack shard I (from 0); repeatable
    #[arg(long, value_name = "I", conflicts_with_all = ["shards", "rank"])]
    shard: Vec<usize>,
    /// Pack shards A to B, without B
    #[arg(long, value_name = "A..B", value_parser = parse_range, conflicts_with = "rank")]
    shards: Option<Range<usize>>,
    /// Pack share R of the shards, from 0; needs --of. Shares have nearly the same work
    #[arg(long, value_name = "R")]
    rank: Option<u64>,
    /// Share the shards among N machines
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    of: Option<u64>,
    /// Then pack what others have not finished: shards that nobody has begun, those of a machine
    /// that has not answered for SECONDS, those of a machine that is much slower. Ends when every
    /// shard is finished. Give it to all machines [default: 60 seconds]
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, require_equals = true,
          default_missing_value = "60", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    steal: Option<u64>,
    /// Read the sources from here, in the plan's order: folders, files, or KIND:FILE,FILE as for
    /// `plan` [default: as planned]
    #[arg(long, value_name = "SRC")]
    pub(in crate::cli) source: Vec<PathBuf>,
    /// Handle problems this way [default: as given to `plan`]
    #[arg(long, value_parser = choice::<Policy>())]
    pub(in crate::cli) on_problem: Option<Policy>,
    #[command(flatten)]
    pub(in crate::cli) jobs: Jobs,
    #[command(flatten)]
    pub(in crate::cli) run: RunArgs,
    #[command(flatten)]
    show: ShowArgs,
}

const EXAMPLES: &str = "\
Examples:
  pack run shards/                             all shards, or the launcher's share
  pack run shards/ --rank 3 --of 16            the fourth of 16 equal shares
  pack run shards/ --steal                     on any number of machines: each takes what is left
  pack run shards/ --shards 100..200           for array jobs
  pack run shards/ --of 16                     in a Kubernetes Indexed Job of 16 completions

Exit codes: 0 done or skipped; 65 bad data; 73 the system refuses; 75 try again.";

fn parse_range(text: &str) -> Result<Range<usize>, String> {
    let bounds = text.split_once("..");
    let range = bounds.and_then(|(from, to)| Some(from.parse().ok()?..to.parse().ok()?));
    range.filter(|range| !range.is_empty()).ok_or_else(|| {
        format!("invalid range '{text}'; give --shards 0..100 for the first hundred")
    })
}

pub(in crate::cli) fn run(args: &Args) -> Outcome {
    let _ = signals::listen();
    let plan = match StoredPlan::open(&storage::output(&args.out)?)? {
        Opened::Planned(plan) => plan,
        Opened::Published(manifest) => {
            summary::already_published(&args.out, &manifest, args.show);
            return Ok(Exit::Done);
        }
    };
    let shards = args.chosen(&plan)?;
    let options = args.worker();
    let ran = progress::during_run(args.show.mode(), &options.counter, "packing", || {
        plan.run(&shards, &options)
    })?;
    match ran {
        ShareOutcome::Published(manifest) => {
            summary::already_published(&args.out, &manifest, args.show);
            Ok(Exit::Done)
        }
        ShareOutcome::Packed(ran) => {
            summary::ran(&ran, args.show);
            Ok(if ran.refused > 0 { Exit::BadData } else { Exit::Done })
        }
    }
}

impl Args {
    fn worker(&self) -> WorkerOptions {
        WorkerOptions {
            policy: self.on_problem,
            sources: self.source.clone(),
            steal: self.steal.map(Duration::from_secs),
            settings: self.run.settings(),
            stop: signals::stop(),
            ..WorkerOptions::new(self.jobs.count())
        }
    }

    /// The numbers of the shards to pack.
    fn chosen(&self, plan: &StoredPlan) -> Result<Vec<usize>, Failure> {
        let total = plan.foot().shards.len();
        if !self.shard.is_empty() {
            self.shard.iter().try_for_each(|&number| plan.expect_shard(number))?;
            return Ok(self.shard.clone());
        }
        if let Some(range) = &self.shards {
            plan.expect_shard(range.start)?;
            // The last task of an array may reach past the end.
            return Ok((range.start..range.end.min(total)).collect());
        }
        match rank::find(self.rank, self.of, &rank::variable).map_err(tarflume::Error::from)? {
            None => Ok((0..total).collect()),
            Some(rank) => {
                summary::chosen_rank(&rank, self.show);
                Ok(plan.share(rank.rank, rank.world))
            }
        }
    }
}
