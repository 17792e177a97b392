//! `pack verify`: verifies data sets and shards, and lists every problem.

use std::io::Write;
use std::path::PathBuf;

use tarflume_formats::shown;
use tarflume_packer::verify::{self, Level, Options, Profile, Report};
use tarflume_packer::{Exit, Failure, Outcome, Stop};

use super::args::{Jobs, choice};
use super::out::{self, Bar};
use super::storage;
use crate::reports;

const AFTER: &str = "\
Levels:
  quick    lengths, end markers and sidecars, and some headers of each tar; reads no data
  full     one pass over every byte: all headers, checksums and digests; keys that repeat or differ
           only in case, within and across shards; samples that are split or lack a part
  decode   as full, and every image and JSON is decoded: of JPEGs every Huffman code is
           read, and entry points must be those that were found again

Missing parts: --require names what each sample must have (image stands for any image). Without it a
part is expected of every sample if most samples have it and at most a tenth of them, or a single
one, lack it; optional captions are no problem then. --require '' expects nothing.

Index files of other readers beside the tars are compared with them: DALI's SHARD.idx, Energon's
SHARD.tar.idx and .nv-meta, shardindex.json of wids, SHARD.json of hfutils.

Examples:
  pack verify shards/                                  check a data set before training on it
  pack verify --level quick /data/train /data/val      seconds, also for terabytes
  pack verify --format json --require jpg,json shards/ | jq .counts
  pack verify --profile hf,ray,dali shards/            what these readers would misread
  pack verify --format markdown shards/ >> $GITHUB_STEP_SUMMARY
  pack verify some.tar                                 one tar; reports a missing sidecar

Exit codes: 0 no problem   1 problems found   2 could not run   73 the system refuses
            75 the machine failed: try again   130 interrupted";

/// Check that data sets and shards are complete and undamaged, or list what is wrong
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER)]
pub(super) struct Args {
    /// Folders of shards, and single tars
    #[arg(required = true, value_name = "DIR|SHARD|URL")]
    paths: Vec<PathBuf>,
    /// Check at this level
    #[arg(long, value_parser = choice::<Level>(), default_value = "full")]
    level: Level,
    /// Print the report in this form
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    format: ReportFormat,
    /// Require these parts of every sample, by extension
    #[arg(long, value_name = "EXT,...")]
    require: Option<String>,
    /// Report what these readers would misread or drop, too: webdataset, dali, energon, hf, ray, wids,
    /// datago, spdl
    #[arg(long, value_name = "READER,...", value_delimiter = ',', value_parser = choice::<Profile>())]
    profile: Vec<Profile>,
    #[command(flatten)]
    jobs: Jobs,
    /// Print nothing if no problem is found
    #[arg(long, short)]
    quiet: bool,
}

pub(super) fn run(args: &Args) -> Outcome {
    let split = |list: &String| {
        list.split(',').map(str::trim).filter(|ext| !ext.is_empty()).map(String::from).collect()
    };
    let options = Options {
        level: args.level,
        require: args.require.as_ref().map(split),
        profiles: args.profile.clone(),
        jobs: args.jobs.count(),
        stop: Stop::new(),
        storage: storage::given().to_vec(),
    };
    let bar = Bar::new(args.quiet);
    // Any failure to run must have another exit code than problems, so that CI can distinguish
    // them.
    let report = verify::verify(&args.paths, &options, &|bytes| bar.advance(bytes));
    let report = report.map_err(|failure| match failure.exit {
        Exit::TryAgain | Exit::Barred | Exit::Interrupted | Exit::Terminated => failure,
        _ => failure.with_exit(Exit::Usage),
    })?;
    bar.end();
    match args.format {
        ReportFormat::Text => out::printed(text(&report, args.quiet))?,
        ReportFormat::Json => out::printed(json(&report))?,
        ReportFormat::Junit => print(&reports::junit(&report))?,
        ReportFormat::Sarif => print(&reports::sarif(&report))?,
        ReportFormat::Github => print(&reports::github(&report))?,
        ReportFormat::Markdown => print(&reports::markdown(&report))?,
    }
    Ok(if report.whole { Exit::Done } else { Exit::Problems })
}

/// The form of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum ReportFormat {
    /// A line for each problem, and the totals
    Text,
    /// One JSON object
    Json,
    /// JUnit's XML, for Jenkins, GitLab, Azure Pipelines
    Junit,
    /// SARIF 2.1.0, for code scanning
    Sarif,
    /// Annotations of GitHub Actions
    Github,
    /// A table for the summary of a job, or for a pull request
    Markdown,
}

fn print(text: &str) -> Result<(), Failure> {
    let mut to = out::stdout();
    out::printed(to.write_all(text.as_bytes()).and_then(|()| to.flush()))
}

fn json(report: &Report) -> std::io::Result<()> {
    let mut to = out::stdout();
    writeln!(to, "{}", shown::json_lines(report))?;
    to.flush()
}

fn text(report: &Report, quiet: bool) -> std::io::Result<()> {
    let mut to = out::screen();
    if !(quiet && report.whole) {
        writeln!(to, "{report}")?;
    }
    to.flush()
}
