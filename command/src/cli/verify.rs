//! `pack verify`: verifies data sets and shards, and lists every problem.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use rustix::fs::Access;
use tarflume_formats::Durability;
use tarflume_formats::files::{self, Kind};
use tarflume_formats::json::JsonRules;
use tarflume_formats::publish::{folder_of, write_as};
use tarflume_formats::shown::{self, ShowPath};
use tarflume_packer::expect::Expect;
use tarflume_packer::verify::{self, ClassField, Level, Options, Profile, Report};
use tarflume_packer::{Exit, Failure, Outcome, PartSchema, Stop};

use super::args::{Jobs, choice};
use super::out::{self, Bar};
use super::{storage, zeros};
use crate::reports;

const AFTER: &str = "\
Levels:
  quick    lengths, end markers and sidecars, and some headers of each tar; reads no data
  full     one pass over every byte: all headers, checksums and digests; keys that repeat or differ
           only in case, within and across shards; samples that are split
  decode   as full, and every image and JSON is decoded: of JPEGs every Huffman code is
           read, and entry points must be those that were found again. Pictures of kinds that are
           not decoded here are warnings if --check structure has packed them

Missing parts: --require names what each sample must have (image stands for any image). Without it a
part that at most a tenth of the samples, or a single one, lack is a warning, which changes no exit
code; optional captions are none. --require '' expects nothing and warns of nothing.

What was asked for and matches nothing ends with 2 and is in each report: a --schema for a part that no
sample has, a path at which there is nothing, --profile for shards in a store. Shards without checksums,
which `pack index --headers` makes, are a warning; --require-checksums makes them a problem.

Of --report and --format, sarif has at most 25,000 results, junit 10,000 lines, markdown 200 rows, and
github 100 annotations of errors and 100 of warnings; each states how many it leaves out. json and text
have all.

Index files of other readers beside the tars are compared with them: DALI's SHARD.idx, Energon's
SHARD.tar.idx and .nv-meta, shardindex.json of wids, SHARD.json of hfutils.

Examples:
  pack verify shards/                                  check a data set before training on it
  pack verify --level quick /data/train /data/val      seconds, also for terabytes
  pack verify --format json --require jpg,json shards/ | jq .counts
  pack verify --profile hf,ray,dali shards/            what these readers would misread
  pack verify --format markdown shards/ >> $GITHUB_STEP_SUMMARY
  pack verify --schema sample.schema.json shards/      each JSON against a JSON Schema
  pack verify --write-expect data.json shards/         totals, classes, digests for --expect
  pack verify --expect data.json --report junit=report.xml shards/
  pack verify some.tar                                 one tar; reports a missing sidecar

Exit codes: 0 no problem   1 problems found   2 could not run, or not all   73 the system refuses
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
    /// Report shards and manifests without checksums as problems. By default they are warnings
    #[arg(long)]
    require_checksums: bool,
    /// Check each part with this extension against a JSON Schema [default EXT: json]; repeatable
    #[arg(long, value_name = "[EXT=]FILE")]
    schema: Vec<String>,
    /// Compare totals, classes, columns and digests with FILE, which --write-expect wrote
    #[arg(long, value_name = "FILE", conflicts_with = "write_expect")]
    expect: Option<PathBuf>,
    /// Write totals, classes, columns and digests to FILE, if no problem is found
    #[arg(long, value_name = "FILE")]
    write_expect: Option<PathBuf>,
    /// Count the classes for --write-expect: EXT:/FIELD of a JSON, or EXT, a part that is the class
    /// [default: the classes of dataset.json]
    #[arg(long, value_name = "FIELD", requires = "write_expect", value_parser = ClassField::parse)]
    class: Option<ClassField>,
    /// Write the report to FILE, too: text, json, junit, sarif, github or markdown; repeatable
    #[arg(long, value_name = "FORMAT=FILE", value_parser = report_file)]
    report: Vec<ReportFile>,
    /// Which texts are JSON: strict, or python, which also accepts NaN, Infinity, halves of surrogate pairs
    /// and repeated names [default: as the data set was packed]
    #[arg(long, value_name = "RULES", value_parser = choice::<JsonRules>())]
    json_rules: Option<JsonRules>,
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
    // The pass may take hours: what would fail after it is refused before.
    let reports = args.report.iter().map(|report| ("--report", report.path.as_path()));
    let written = reports.chain(args.write_expect.as_deref().map(|path| ("--write-expect", path)));
    for (option, path) in written {
        expect_folder(option, path)?;
    }
    let expected = args.expect.as_deref().map(read_expect).transpose()?;
    let options = Options {
        level: args.level,
        require: args.require.as_ref().map(split),
        profiles: args.profile.clone(),
        schemas: args
            .schema
            .iter()
            .map(|text| PartSchema::parse(text))
            .collect::<Result<_, Failure>>()?,
        class: class_field(args, expected.as_ref())?,
        count_classes: args.write_expect.is_some(),
        class_table: None,
        require_checksums: args.require_checksums,
        json: args.json_rules,
        check: None,
        ignore_zeros: zeros::are_ignored(),
        jobs: args.jobs.count(),
        stop: Stop::new(),
        storage: storage::given().to_vec(),
    };
    let bar = Bar::new(args.quiet);
    // Any failure to run must have another exit code than problems, so that CI can distinguish
    // them.
    let report = verify::verify(&args.paths, &options, &|bytes| bar.advance(bytes));
    let mut report = report.map_err(|failure| match failure.exit {
        Exit::TryAgain | Exit::Barred | Exit::Interrupted | Exit::Terminated => failure,
        _ => failure.with_exit(Exit::Usage),
    })?;
    bar.end();
    if let Some((path, expect)) = args.expect.as_deref().zip(expected.as_ref()) {
        report.compare(expect, path);
    }
    let failures = write_reports(args, &report);
    if let Some(path) = args.write_expect.as_deref().filter(|_| report.whole) {
        let refused = |why| Failure::usage(format!("--write-expect {}: {why}", path.shown()));
        report.found.is_complete().map_err(refused)?;
        write_as(path, report.found.to_json().as_bytes(), Durability::Synced)?;
    }
    Ok(exit_of(&report, &failures))
}

/// Returns the exit code: that of problems, also if a report could not be written.
fn exit_of(report: &Report, failures: &[Failure]) -> Exit {
    match failures.first() {
        _ if !report.problems.is_empty() => Exit::Problems,
        Some(failure) => failure.exit,
        None if report.whole => Exit::Done,
        None => Exit::Usage,
    }
}

/// Writes and prints all reports, also after one has failed. Prints and returns the failures.
fn write_reports(args: &Args, report: &Report) -> Vec<Failure> {
    let mut failures = Vec::new();
    for ReportFile { form, path } in &args.report {
        let written = write_as(path, form.of(report).as_bytes(), Durability::Cached);
        failures.extend(written.err().map(Failure::from));
    }
    let printed = match args.format {
        ReportFormat::Text => out::printed(text(report, args.quiet)),
        form => print(&form.of(report)),
    };
    failures.extend(printed.err());
    for failure in &failures {
        print_message!("error: {failure}");
    }
    if args.format != ReportFormat::Text {
        report.unchecked.iter().for_each(|what| print_message!("error: not checked: {what}"));
    }
    failures
}

/// Checks that a file can be written at a path: its folder exists and admits files, and no folder has its name.
fn expect_folder(option: &str, path: &Path) -> Result<(), Failure> {
    let refused = |why: &str| {
        Err(Failure::usage(format!(
            "{option} {}: {why}; create it, or name another path",
            path.shown()
        )))
    };
    let folder = folder_of(path);
    if files::kind(folder)? != Some(Kind::Folder) {
        return refused(&format!("there is no folder {}", folder.shown()));
    }
    if files::kind(path)? == Some(Kind::Folder) {
        let text = format!("{option} {}: this is a folder; name a file in it", path.shown());
        return Err(Failure::usage(text));
    }
    match rustix::fs::access(folder, Access::WRITE_OK) {
        Ok(()) => Ok(()),
        Err(error) => Err(Failure::io(error.into(), "write a file in the folder", folder)),
    }
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

/// A report to be written.
#[derive(Debug, Clone)]
struct ReportFile {
    form: ReportFormat,
    path: PathBuf,
}

/// Parses `FORMAT=FILE`.
fn report_file(text: &str) -> Result<ReportFile, String> {
    let words: Vec<String> = ReportFormat::value_variants()
        .iter()
        .filter_map(|form| Some(form.to_possible_value()?.get_name().to_string()))
        .collect();
    let wrong = || format!("'{text}': give FORMAT=FILE with one of {}", words.join(", "));
    let (form, path) =
        text.split_once('=').filter(|(_, path)| !path.is_empty()).ok_or_else(wrong)?;
    let form = <ReportFormat as ValueEnum>::from_str(form, false).map_err(|_| wrong())?;
    Ok(ReportFile { form, path: path.into() })
}

impl ReportFormat {
    /// Returns the report in this form.
    fn of(self, report: &Report) -> String {
        match self {
            ReportFormat::Text => format!("{report}\n"),
            ReportFormat::Json => format!("{}\n", shown::json_lines(report)),
            ReportFormat::Junit => reports::junit(report),
            ReportFormat::Sarif => reports::sarif(report),
            ReportFormat::Github => reports::github(report),
            ReportFormat::Markdown => reports::markdown(report),
        }
    }
}

fn read_expect(path: &Path) -> Result<Expect, Failure> {
    let refused = |why: String| Failure::usage(format!("--expect {}: {why}", path.shown()));
    if !files::exists(path)? {
        return Err(refused("there is no such file; --write-expect writes it".into()));
    }
    Expect::from_json(&files::read_whole(path, "read what is expected")?).map_err(refused)
}

/// Returns where classes are: as given, or as the expectation was made.
fn class_field(args: &Args, expected: Option<&Expect>) -> Result<Option<ClassField>, Failure> {
    match expected.filter(|expect| expect.classes.is_some()) {
        Some(expect) => {
            let parsed = expect.class.as_deref().map(ClassField::parse).transpose();
            parsed.map_err(|why| Failure::usage(format!("--expect: the field class: {why}")))
        }
        None => Ok(args.class.clone()),
    }
}

fn print(text: &str) -> Result<(), Failure> {
    let mut to = out::stdout();
    out::printed(to.write_all(text.as_bytes()).and_then(|()| to.flush()))
}

fn text(report: &Report, quiet: bool) -> std::io::Result<()> {
    let mut to = out::screen();
    if !(quiet && report.whole) {
        writeln!(to, "{report}")?;
    }
    to.flush()
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use tarflume_packer::{Problem, ProblemKind};

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    #[test]
    fn a_report_that_cannot_be_written_costs_neither_the_others_nor_the_exit_code() {
        let folder = tempfile::tempdir().unwrap();
        let gone = folder.path().join("gone/a.sarif");
        let last = folder.path().join("last.json");
        let reports = [format!("sarif={}", gone.display()), format!("json={}", last.display())];
        let words = ["pack", "set", "--quiet", "--report", &reports[0], "--report", &reports[1]];
        let args = Line::parse_from(words).args;
        let problem = Problem::new(ProblemKind::Digest, "a.tar", "its bytes changed");
        let problems = reports::tests::report(vec![problem]);
        let whole = reports::tests::report(Vec::new());
        for (report, exit) in [(&problems, Exit::Problems), (&whole, Exit::Barred)] {
            let failures = write_reports(&args, report);
            assert_eq!(failures.len(), 1, "{failures:?}");
            assert!(failures[0].text.contains("gone"), "{failures:?}");
            assert_eq!(exit_of(report, &failures), exit);
            assert!(files::exists(&last).unwrap());
            std::fs::remove_file(&last).unwrap();
        }
        assert_eq!(exit_of(&whole, &[]), Exit::Done);
        let unchecked = Report { whole: false, unchecked: vec!["a schema".into()], ..whole };
        assert_eq!(exit_of(&unchecked, &[]), Exit::Usage);
    }
}
