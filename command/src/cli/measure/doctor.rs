//! `pack doctor`: checks whether this machine is set up to feed its GPUs, and shows how busy they
//! are.

mod ranks_output;
mod report;
mod watch_output;

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use tarflume_base::{Exit, Failure, Outcome};
use tarflume_formats::shown;

use crate::cli::arguments::args::Format;
use crate::cli::output::out;
use crate::doctor;
use crate::doctor::nvml::Nvml;
use crate::doctor::ranks;
use crate::doctor::surroundings::Surroundings;
use crate::doctor::watch;
use crate::signals;

const AFTER: &str = "\
Examples:
  pack doctor                          what is wrong, what it costs, what to do
  pack doctor --format json | jq .findings   the same for programs
  pack doctor --watch 1                each GPU every second during a training; the means at Ctrl-C
  pack doctor --watch 0.5 --count 20   ten seconds
  pack doctor --ranks 'stats/*.jsonl'  which rank of a job waits for data, and why

SM is the share of time in which at least one kernel ran, as in nvidia-smi: a GPU at 100 % may still
have room. Memory busy is the share of time in which GPU memory was read or written. The command
changes nothing and takes no GPU memory. A machine without a GPU is no finding.

Exit codes: 0 nothing costs speed   1 something does   2 nothing to watch   75 try again";

/// Check that this machine is set up to feed its GPUs, and show how busy they are
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER)]
pub(in crate::cli) struct Args {
    /// Show how busy the GPUs are every SECONDS, and the means at the end
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    watch: Option<Duration>,
    /// Stop --watch after N samples instead of at Ctrl-C
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), requires = "watch")]
    count: Option<u64>,
    /// Compare the ranks of a job by the lines that each wrote with `loader.stats().append("stats/")`:
    /// files, folders, or names with wildcards
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with = "watch")]
    ranks: Vec<PathBuf>,
    /// Print text, or one JSON object; with --watch one object per line, the means last
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

fn seconds(text: &str) -> Result<Duration, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.05..=3600.0).contains(&seconds) => Ok(Duration::from_secs_f64(seconds)),
        _ => Err("expected seconds from 0.05 to 3600, such as 1".into()),
    }
}

pub(in crate::cli) fn run(args: &Args) -> Outcome {
    let format = args.format;
    if !args.ranks.is_empty() {
        return compare(&args.ranks, format);
    }
    let surroundings = Surroundings::of_process();
    let gpus = Nvml::open(|| doctor::has_management_library(&surroundings));
    if let Some(every) = args.watch {
        return watch(gpus, every, args.count, format);
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

fn watch(
    gpus: Result<Option<Nvml>, String>,
    every: Duration,
    count: Option<u64>,
    format: Format,
) -> Outcome {
    let gpus = match gpus {
        Ok(Some(gpus)) => gpus,
        Ok(None) => {
            return Err(Failure::usage("there is no NVIDIA driver here, so nothing to watch"));
        }
        Err(why) => {
            let text = format!("NVIDIA's driver refuses: {why}; run 'pack doctor' for details");
            return Err(Failure::try_again(text));
        }
    };
    signals::listen().map_err(|e| Failure::try_again(format!("cannot listen to signals: {e}")))?;
    let mut to = out::screen();
    let mut result = match format {
        Format::Text => watch_output::head(&mut to).and_then(|()| to.flush()),
        Format::Json => Ok(()),
    };
    let means = watch::watch(&gpus, every, count, &signals::stop(), |time, samples| {
        if result.is_ok() {
            let written = match format {
                Format::Text => watch_output::lines(&mut to, time, samples),
                Format::Json => watch_output::object(&mut to, time, samples),
            };
            result = written.and_then(|()| to.flush());
        }
        result.is_ok()
    });
    let end = result.and_then(|()| match format {
        Format::Text => watch_output::means(&mut to, &means),
        Format::Json => watch_output::last_object(&mut to, &means),
    });
    out::printed(end.and_then(|()| to.flush()))?;
    // Ctrl-C is the normal end of a watch; SIGTERM is not.
    Ok(if signals::exit() == Exit::Terminated { Exit::Terminated } else { Exit::Done })
}
