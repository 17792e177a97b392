//! `pack scan`: scans a part of the source folders, on one of several machines.

use tarflume_base::{Exit, Failure, Outcome, units};
use tarflume_formats::shown::ShowPath;
use tarflume_order::rank;
use tarflume_packer::build::Subtree;
use tarflume_packer::session::Build;

use crate::cli::arguments::source_args::SourceArgs;
use crate::cli::output::progress;
use crate::cli::steps::summary;
use crate::signals;

/// Scan a part of the folders on one of several machines, for `pack plan --from-scans`.
///
/// Writes what it found to part-K-of-N.scan in DIR. The folders are divided among the machines; each
/// file is examined by one of them. Give every part and `pack plan` the same options. Without
/// --subtree, takes the part from the launcher, as `pack run` takes its share.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(in crate::cli) struct Args {
    #[command(flatten)]
    pub(in crate::cli) source: SourceArgs,
    /// Scan part K of N, from 0
    #[arg(long, value_name = "K/N", value_parser = parse)]
    subtree: Option<Subtree>,
    /// Divide the folders into N parts, if the launcher gives the part alone
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), conflicts_with = "subtree")]
    of: Option<u64>,
}

const EXAMPLES: &str = "\
Examples:
  pack scan photos/ -o scans/ --subtree 0/16        on the first of 16 machines
  srun -n16 pack scan photos/ -o scans/             on all 16: the part is taken from the launcher
  pack plan photos/ -o shards/ --from-scans scans/  once: the plan that one machine would make";

fn parse(text: &str) -> Result<Subtree, String> {
    let numbers = text.split_once('/');
    let subtree = numbers.and_then(|(part, count)| {
        Some(Subtree { part: part.parse().ok()?, count: count.parse().ok()? })
    });
    subtree
        .filter(|subtree| subtree.part < subtree.count)
        .ok_or_else(|| format!("invalid part '{text}'; give --subtree 0/16 for the first of 16"))
}

pub(in crate::cli) fn run(args: &Args) -> Outcome {
    let _ = signals::listen();
    let request = args.source.request(false)?;
    let show = args.source.show;
    let subtree = args.part()?;
    let build = Build::new(request);
    let counter = build.counter();
    let report = progress::during_scan(show.mode(), &counter, || build.scan_part(subtree))?;
    if !show.quiet {
        let samples = units::counted(report.samples, "sample", "samples");
        let problems = match report.problems {
            0 => String::new(),
            n => format!(", {}", units::counted(n as u64, "problem", "problems")),
        };
        print_result!("{samples}{problems}: {}", report.path.shown());
    }
    Ok(Exit::Done)
}

impl Args {
    fn part(&self) -> Result<Subtree, Failure> {
        if let Some(subtree) = self.subtree {
            return Ok(subtree);
        }
        match rank::find(None, self.of, &rank::variable).map_err(tarflume::Error::from)? {
            Some(rank) => {
                summary::chosen_rank(&rank, self.source.show);
                Ok(Subtree { part: rank.rank, count: rank.world })
            }
            None => Err(Failure::usage("which part? give --subtree 0/16 for the first of 16")),
        }
    }
}
