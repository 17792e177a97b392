//! `pack doctor`: checks whether this machine is set up to feed its GPUs, and shows what a training
//! does.

mod block;
mod ranks_output;
mod report;
mod screen;
mod verdicts_output;
mod watch_output;
mod watching;

use std::io::Write;
use std::path::PathBuf;

use tarflume_base::{Exit, Outcome};
use tarflume_formats::shown;

use crate::cli::arguments::args::Format;
use crate::cli::output::out;
use crate::doctor;
use crate::doctor::nvml::Nvml;
use crate::doctor::ranks;
use crate::doctor::surroundings::Surroundings;
use watching::WatchArgs;

const AFTER: &str = "\
Examples:
  pack doctor                          what is wrong, what it costs, what to do
  pack doctor --format json | jq .findings   the same for programs
  pack doctor --watch                  GPUs, processors, disks, memory, network every second; the means at Ctrl-C
  pack doctor --watch 0.5 --count 20   ten seconds
  pack doctor --watch --pid 4242       a training, too: its processes, and its loaders if it was started with
                                       TARFLUME_STATS=FOLDER
  pack doctor --watch --count 60 --pid 4242 --require all,epoch=9h   for CI: 1 if a limit is broken
  pack doctor --ranks 'stats/*.jsonl'  which rank of a job waits for data, and why

SM is the share of time in which at least one kernel ran, as in nvidia-smi: a GPU at 100 % may still
have room. The command changes nothing and takes no GPU memory. A machine without a GPU is no finding.

--require: sm, gpu-memory and cache are at least their limits, batch-p50, batch-p95, batch-p99,
worker-cpu, disk and epoch at most. `all` is sm=80,gpu-memory=60,batch-p50=50ms,batch-p95=50ms,
batch-p99=50ms,worker-cpu=80,disk=70,cache=95. A figure that this machine cannot measure is listed as
not measured; it fails only if it was named. docs/WATCHING.md says how each is measured.

Exit codes: 0 nothing costs speed   1 something does, or a limit is broken   2 wrong words   75 try again";

/// Check that this machine is set up to feed its GPUs, and show what a training does
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER)]
pub(in crate::cli) struct Args {
    #[command(flatten)]
    watch: WatchArgs,
    /// Compare the ranks of a job by the lines that each wrote with `loader.stats().append("stats/")`:
    /// files, folders, or names with wildcards
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with = "watch")]
    ranks: Vec<PathBuf>,
    /// Print text, or one JSON object; with --watch one object per line, the means last
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

pub(in crate::cli) fn run(args: &Args) -> Outcome {
    let format = args.format;
    if !args.ranks.is_empty() {
        return compare(&args.ranks, format);
    }
    let surroundings = Surroundings::of_process();
    let gpus = Nvml::open(|| doctor::has_management_library(&surroundings));
    if let Some(every) = args.watch.watch {
        return watching::watch(&args.watch, every, gpus, &surroundings, format);
    }
    let report = doctor::examine(&surroundings, &gpus);
    let mut to = out::screen();
    let written = match format {
        Format::Text => report::text(&mut to, &report),
        Format::Json => writeln!(to, "{}", shown::json_lines(&report)),
    };
    out::printed(written.and_then(|()| to.flush()))?;
    Ok(if report.costs_speed() { Exit::Problems } else { Exit::Done })
}

fn compare(patterns: &[PathBuf], format: Format) -> Outcome {
    let report = ranks::compare(&ranks_output::read(patterns)?);
    let mut to = out::screen();
    let written = match format {
        Format::Text => ranks_output::text(&mut to, &report),
        Format::Json => writeln!(to, "{}", shown::json_lines(&report)),
    };
    out::printed(written.and_then(|()| to.flush()))?;
    Ok(if report.slow.is_empty() { Exit::Done } else { Exit::Problems })
}
