//! `pack doctor --watch`: options, the live view or lines, and the verdicts at the end.

use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use tarflume_base::{Exit, Failure, Outcome};

use super::block::Style;
use super::screen::{LiveView, has_unicode};
use super::watch_output;
use crate::cli::arguments::args::Format;
use crate::cli::output::out;
use crate::doctor::gpus::Gpus;
use crate::doctor::nvml::Nvml;
use crate::doctor::surroundings::Surroundings;
use crate::doctor::watch::look::Look;
use crate::doctor::watch::snapshot::{Snapshot, Subject};
use crate::doctor::watch::targets::{self, Asked};
use crate::doctor::watch::{self, Pace, verdicts};
use crate::signals;

/// The width of the means where no terminal has one.
const WIDTH: usize = 160;

#[derive(Debug, clap::Args)]
pub(super) struct WatchArgs {
    /// Show every SECONDS what GPUs, processors, disks, memory and network do, and the means at the end
    #[arg(long, value_name = "SECONDS", value_parser = seconds, num_args = 0..=1, default_missing_value = "1")]
    pub(super) watch: Option<Duration>,
    /// Stop --watch after N samples instead of at Ctrl-C
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), requires = "watch")]
    count: Option<u64>,
    /// Watch a training, too: this process and all that it started, and their loaders, if they were started with
    /// TARFLUME_STATS=FOLDER; ends with the process
    #[arg(long, value_name = "PID", value_parser = clap::value_parser!(u64).range(1..), requires = "watch")]
    pid: Option<u64>,
    /// The folder in which loaders tell what they do, if --pid does not find it
    #[arg(long, value_name = "FOLDER", requires = "watch")]
    stats: Option<PathBuf>,
    /// Judge the means, and exit with 1 if a limit is broken: `all`, or figures with limits such as sm=80,
    /// batch-p99=50ms, epoch=9h
    #[arg(long, value_name = "FIGURE=LIMIT", value_delimiter = ',', value_parser = targets::parse, requires = "watch")]
    require: Vec<Asked>,
}

fn seconds(text: &str) -> Result<Duration, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.05..=3600.0).contains(&seconds) => Ok(Duration::from_secs_f64(seconds)),
        _ => Err("expected seconds from 0.05 to 3600, such as 1".into()),
    }
}

/// Watches until the end that the options ask for.
pub(super) fn watch(
    args: &WatchArgs,
    every: Duration,
    gpus: Result<Option<Nvml>, String>,
    of: &Surroundings,
    format: Format,
) -> Outcome {
    let gpus = gpus.unwrap_or_else(|why| {
        print_message!("notice: NVIDIA's driver refuses: {why}; run 'pack doctor' for details");
        None
    });
    let subject = subject(args, of)?;
    signals::listen().map_err(|e| Failure::try_again(format!("cannot listen to signals: {e}")))?;
    let live = match format {
        Format::Text => LiveView::begin(title(args)),
        Format::Json => Ok(None),
    };
    let live = live.map_err(|e| Failure::try_again(format!("cannot draw: {e}")))?;
    let has_training = args.pid.is_some() || args.stats.is_some();
    let mut result = match format {
        Format::Text if live.is_none() => head(has_training),
        _ => Ok(()),
    };
    let pace = Pace { every, count: args.count };
    let taker = Taker { of, subject: &subject, gpus: gpus.as_ref(), begin: Instant::now() };
    let summary = watch::watch(
        |is_first| taker.take(is_first),
        pace,
        &signals::stop(),
        |look| {
            if result.is_ok() {
                result = show(look, live.as_ref(), format, has_training);
            }
            result.is_ok()
        },
    );
    drop(live);
    let requirements = targets::requirements(&args.require);
    let verdicts = verdicts::judge(&requirements, &summary);
    let width = console::Term::stdout().size_checked().map_or(WIDTH, |(_, width)| width.into());
    let style = Style { width, unicode: has_unicode() };
    let end = result.and_then(|()| {
        let mut to = out::screen();
        match format {
            Format::Text => watch_output::means(&mut to, &summary, &verdicts, style)?,
            Format::Json => watch_output::last_object(&mut to, &summary, &verdicts)?,
        }
        to.flush()
    });
    out::printed(end)?;
    // Ctrl-C is the normal end of a watch; SIGTERM is not.
    if signals::exit() == Exit::Terminated {
        return Ok(Exit::Terminated);
    }
    let fails = verdicts.iter().any(verdicts::Verdict::fails);
    Ok(if fails { Exit::Problems } else { Exit::Done })
}

/// Takes snapshots of what is watched.
struct Taker<'a> {
    of: &'a Surroundings,
    subject: &'a Subject,
    gpus: Option<&'a Nvml>,
    begin: Instant,
}

impl Taker<'_> {
    /// Takes one. The first one is that before the watch: what a GPU did then is not asked for.
    fn take(&self, is_first: bool) -> Snapshot {
        let gpus = self.gpus.filter(|_| !is_first).map_or(Vec::new(), Gpus::sample);
        Snapshot::take(self.of, self.subject, self.begin, gpus)
    }
}

/// Checks that what is to be watched exists.
fn subject(args: &WatchArgs, of: &Surroundings) -> Result<Subject, Failure> {
    let stats = args.stats.as_deref().map(std::path::absolute).transpose();
    let stats = stats.map_err(|e| Failure::usage(format!("--stats: {e}")))?;
    let subject = Subject { pid: args.pid, stats: stats.map(|path| path.to_string_lossy().into()) };
    if let Some(pid) = subject.pid
        && subject.has_ended(of)
    {
        return Err(Failure::usage(format!("--pid: there is no process {pid} here")));
    }
    Ok(subject)
}

fn title(args: &WatchArgs) -> String {
    match args.pid {
        Some(pid) => format!("pack doctor: this machine and process {pid}"),
        None => "pack doctor: this machine".to_string(),
    }
}

fn head(has_training: bool) -> std::io::Result<()> {
    let mut to = out::screen();
    watch_output::head(&mut to, has_training)?;
    to.flush()
}

fn show(
    look: &Look,
    live: Option<&LiveView>,
    format: Format,
    has_training: bool,
) -> std::io::Result<()> {
    if let Some(live) = live {
        return live.draw(look);
    }
    let mut to = out::screen();
    match format {
        Format::Text => watch_output::line(&mut to, look, has_training)?,
        Format::Json => watch_output::object(&mut to, look)?,
    }
    to.flush()
}
