//! `pack bench`: measures a data set on this machine.

mod recommendation;

use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::time::Duration;

use console::Term;
use tarflume::{Size, SourceKind, Verify};
use tarflume_base::{Exit, Outcome, size, units};
use tarflume_formats::shown;

use crate::bench;
use crate::bench::options::{Options, Until};
use crate::bench::recommendation::Recommendation;
use crate::bench::report::{Accelerator, Rate, Report};
use crate::cli::arguments::args::{self, BLOCKS, BUFFER, Format, ShuffleChoice};
use crate::cli::arguments::storage;
use crate::cli::output::out;

const AFTER: &str = "\
Examples:
  pack bench shards/                              raw and decoded samples per second, and what limits
  pack bench shards/ --step-ms 30 --batch 256     feed an accelerator that takes a batch every 30 ms
  pack bench shards/ --raw --shuffle none         reading only, from end to end
  pack bench shards/ --recommend --step-ms 30     the fewest threads that feed it; settings to paste
  pack bench shards/ --jobs 8 --source mapped     with the settings of a training run
  pack bench shards/ --format json | jq .decoded.samples_per_s

Each part runs for --seconds, or for --samples. The decoded part decodes each image, resizes a random
crop to 224 x 224, flips half of the images, and makes batches. Data that was read before comes from the
page cache: to measure a cold disk, take a data set larger than memory, or one that was not read yet.
The accelerator's utilization is defined as in MLPerf Storage: ideal computing time divided by running
time, without the first step.

Exit codes: 0 done   2 wrong usage   65 a sample or shard is damaged   75 try again";

/// Measure how fast this machine reads and decodes a data set, and what limits the rate
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER)]
pub(in crate::cli) struct Args {
    /// Folder of shards, or one tar with its sidecar
    #[arg(value_name = "DIR|SHARD")]
    pub(in crate::cli) path: PathBuf,
    /// Measure reading only; the default also decodes images, if there are any
    #[arg(long)]
    raw: bool,
    /// Simulate an accelerator that computes MS milliseconds on each batch
    #[arg(long, value_name = "MS", value_parser = args::milliseconds)]
    step_ms: Option<Duration>,
    /// Measure each part for S seconds
    #[arg(long, value_name = "S", default_value = "10", value_parser = seconds)]
    seconds: Duration,
    /// Measure N samples in each part instead of --seconds, rounded up to whole batches
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), conflicts_with = "seconds")]
    samples: Option<u64>,
    /// Measure with 1, 2, 4, .. threads, up to the processors of this machine, and print settings to paste
    #[arg(long, conflicts_with = "jobs")]
    recommend: bool,
    /// Print text, or one JSON object
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    /// Read samples in this order: the buffer has 1,000 samples; blocks of 64 in windows of 16
    #[arg(long, value_enum, default_value_t = ShuffleChoice::Full, help_heading = "Loader")]
    shuffle: ShuffleChoice,
    /// Use this seed for the order
    #[arg(long, value_name = "SEED", default_value_t = 0, help_heading = "Loader")]
    seed: u64,
    /// Make batches of N samples
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::value_parser!(u64).range(1..), help_heading = "Loader")]
    batch: u64,
    /// Use N threads [default: number of processors]
    #[arg(short, long, value_name = "N", value_parser = out::jobs, help_heading = "Loader")]
    jobs: Option<usize>,
    /// Prepare N batches at once
    #[arg(long, value_name = "N", default_value = "4", value_parser = out::jobs, help_heading = "Loader")]
    prefetch: usize,
    /// Limit the memory of batches, threads and decoding [default: 2GiB, more for many threads]
    #[arg(long, value_name = "SIZE", value_parser = size::parse, help_heading = "Loader")]
    memory: Option<u64>,
    /// Read shards this way
    #[arg(long, value_enum, default_value_t = SourceChoice::usual(), help_heading = "Loader")]
    source: SourceChoice,
    /// Compare checksums of these parts: `sampled` is one sample in 64
    #[arg(long, value_enum, default_value_t = VerifyChoice::Off, help_heading = "Loader")]
    verify: VerifyChoice,
}

/// The values of `--source`.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum SourceChoice {
    /// Read with pread
    File,
    /// Map into memory
    Mapped,
    /// Read ahead by threads: for NFS, Lustre and FUSE
    Threads,
}

impl SourceChoice {
    /// Returns a loader's default.
    fn usual() -> SourceChoice {
        match SourceKind::default() {
            SourceKind::Mapped => SourceChoice::Mapped,
            SourceKind::Threads => SourceChoice::Threads,
            _ => SourceChoice::File,
        }
    }
}

/// The values of `--verify`.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum VerifyChoice {
    Off,
    Sampled,
    All,
}

fn seconds(text: &str) -> Result<Duration, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.001..=86_400.0).contains(&seconds) => {
            Ok(Duration::from_secs_f64(seconds))
        }
        _ => Err("expected seconds from 0.001 to 86400, such as 10".into()),
    }
}

impl Args {
    fn options(&self) -> Options {
        Options {
            path: self.path.clone(),
            storage: storage::given().to_vec(),
            shuffle: self.shuffle.with(self.seed, BUFFER, BLOCKS),
            batch: self.batch,
            threads: self.jobs,
            prefetch: self.prefetch,
            memory: self.memory,
            source: match self.source {
                SourceChoice::File => SourceKind::File,
                SourceChoice::Mapped => SourceKind::Mapped,
                SourceChoice::Threads => SourceKind::Threads,
            },
            verify: match self.verify {
                VerifyChoice::Off => Verify::Off,
                VerifyChoice::Sampled => Verify::Sampled,
                VerifyChoice::All => Verify::All,
            },
            raw: self.raw,
            until: self.samples.map_or(Until::Time(self.seconds), Until::Samples),
            step: self.step_ms,
        }
    }

    /// Returns `shuffle full, seed 0; batch 256; ..`: the options that reproduce a measurement.
    fn settings(&self, threads: u64) -> String {
        format!(
            "shuffle {}, seed {}; batch {}; {}; prefetch {}; memory {}; source {}; verify {}",
            args::word_of(self.shuffle),
            self.seed,
            units::count(self.batch),
            units::counted(threads, "thread", "threads"),
            self.prefetch,
            self.memory.map_or("default".into(), |bytes| Size::new(bytes).to_string()),
            args::word_of(self.source),
            args::word_of(self.verify)
        )
    }
}

pub(in crate::cli) fn run(args: &Args) -> Outcome {
    if args.samples.is_none() && io::stderr().is_terminal() {
        print_message!("measuring, {} s for each part", args.seconds.as_secs_f64());
    }
    let options = args.options();
    let written = if args.recommend {
        let found = bench::recommendation::recommend(&options, out::processors())?;
        recommended(&found, &options, args.format)
    } else {
        reported(&bench::bench(&options)?, args)
    };
    let mut to = out::screen();
    out::printed(to.write_all(written.as_bytes()).and_then(|()| to.flush()))?;
    Ok(Exit::Done)
}

fn recommended(found: &Recommendation, options: &Options, format: Format) -> String {
    let mut lines = Vec::new();
    match format {
        Format::Text => {
            recommendation::write(&mut lines, found, options).expect("memory takes bytes");
        }
        Format::Json => return shown::json_lines(found) + "\n",
    }
    fitted(&lines)
}

fn reported(report: &Report, args: &Args) -> String {
    let mut lines = Vec::new();
    match args.format {
        Format::Text => text(&mut lines, report, args).expect("memory takes bytes"),
        Format::Json => return shown::json_lines(report) + "\n",
    }
    fitted(&lines)
}

fn fitted(lines: &[u8]) -> String {
    out::fitted(&String::from_utf8_lossy(lines), &Term::stdout())
}

fn text(to: &mut impl Write, report: &Report, args: &Args) -> io::Result<()> {
    let parts: Vec<_> =
        report.parts.iter().map(|(ext, n)| format!("{ext} {}", units::count(*n))).collect();
    writeln!(
        to,
        "{}: {} in {} ({})",
        report.path,
        units::counted(report.samples, "sample", "samples"),
        units::counted(report.shards, "shard", "shards"),
        parts.join(", ")
    )?;
    writeln!(to, "{}", args.settings(report.threads))?;
    for note in &report.notes {
        writeln!(to, "note: {note}")?;
    }
    writeln!(to)?;
    writeln!(to, "raw          {}", rate(&report.raw))?;
    if let Some(decoded) = &report.decoded {
        writeln!(to, "decoded      {}", rate(decoded))?;
    }
    if let Some(accelerator) = &report.accelerator {
        writeln!(to, "accelerator  {}", utilization(accelerator))?;
    }
    let parts = [
        ("raw", Some(&report.raw.account)),
        ("decoded", report.decoded.as_ref().map(|rate| &rate.account)),
        ("accelerator", report.accelerator.as_ref().map(|accelerator| &accelerator.account)),
    ];
    for (name, account) in parts {
        if let Some(account) = account {
            writeln!(to, "\n{name}:\n{}", account.table)?;
        }
    }
    Ok(())
}

/// `12,345 samples/s, 678.9 MB/s; first batch after 2.1 ms; 123,456 samples (1.2 passes) in 10.0 s`
fn rate(rate: &Rate) -> String {
    let bytes = rate.mb_per_s.map_or(String::new(), |mb| format!(", {mb:.1} MB/s"));
    format!(
        "{} samples/s{bytes}; first batch after {:.1} ms; {} ({:.1} passes) in {:.2} s",
        units::count(rate.samples_per_s.round() as u64),
        rate.first_batch_ms,
        units::counted(rate.samples, "sample", "samples"),
        rate.passes,
        rate.seconds
    )
}

fn utilization(of: &Accelerator) -> String {
    let reached = if of.utilization_percent >= of.target_percent { "reached" } else { "missed" };
    format!(
        "{:.1} % utilization, target {} % {reached}; {} of {} ms; batch wait p50 {:.2} ms, p99 {:.2} ms, \
         max {:.2} ms",
        of.utilization_percent,
        of.target_percent,
        units::counted(of.steps, "step", "steps"),
        of.step_ms,
        of.wait_p50_ms,
        of.wait_p99_ms,
        of.wait_max_ms
    )
}
