//! `pack verify`: verifies data sets and shards, and lists every problem.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use tarflume_formats::json::JsonRules;
use tarflume_formats::output::{OutputFile, OutputKind, contains};
use tarflume_formats::shown::{self, ShowPath};
use tarflume_formats::url::url_of;
use tarflume_formats::{Durability, files, read_manifest};
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

Index files of other readers beside the tars are compared with them: DALI's SHARD.idx, Energon's
SHARD.tar.idx and .nv-meta, shardindex.json of wids, SHARD.json of hfutils.

Examples:
  pack verify shards/                                  check a data set before training on it
  pack verify --level quick /data/train /data/val      seconds, also for terabytes
  pack verify --format json --require jpg,json shards/ | jq .counts
  pack verify --profile hf,ray,dali shards/            what these readers would misread
  pack verify --format markdown shards/ >> $GITHUB_STEP_SUMMARY
  pack verify --schema sample.schema.json shards/      each JSON against a JSON Schema
  pack verify --write-expect data.json shards/         totals, class counts, digests for --expect
  pack verify --expect data.json --report junit=report.xml shards/
  pack verify some.tar                                 one tar; reports a missing sidecar
  pack verify --level quick --changed shards/shard-000003.tar shards/dataset.json

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
    /// Check each part with this extension against a JSON Schema [default EXT: json]; repeatable
    #[arg(long, value_name = "[EXT=]FILE")]
    schema: Vec<String>,
    /// Compare totals, class counts and digests with FILE, which --write-expect wrote
    #[arg(long, value_name = "FILE", conflicts_with = "write_expect")]
    expect: Option<PathBuf>,
    /// Write totals, class counts and digests to FILE, if no problem is found
    #[arg(long, value_name = "FILE")]
    write_expect: Option<PathBuf>,
    /// Count the classes for --write-expect: EXT:/FIELD of a JSON, or EXT, a part that is the class
    /// [default: the classes of dataset.json]
    #[arg(long, value_name = "FIELD", requires = "write_expect", value_parser = ClassField::parse)]
    class: Option<ClassField>,
    /// Write the report to FILE, too: text, json, junit, sarif, github or markdown; - is standard output;
    /// repeatable
    #[arg(long, value_name = "FORMAT=FILE", value_parser = report_file)]
    report: Vec<ReportFile>,
    /// Take the paths as changed files, as pre-commit names them, and verify the data sets that have them. Tars
    /// that are not here, or are Git LFS pointers, are no problems
    #[arg(long)]
    changed: bool,
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
    let outputs = Outputs::of(args)?; // a wrong path is refused before the work
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
        json: args.json_rules,
        check: None,
        changed: args.changed,
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
    match args.format {
        ReportFormat::Text if outputs.printed.is_some() => {
            if !(args.quiet && report.whole) {
                print_message!("{report}");
            }
        }
        ReportFormat::Text => out::printed(text(&report, args.quiet))?,
        form => print(&form.of(&report))?,
    }
    outputs.write(&report)?;
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

/// A report to be written; without a path, to standard output.
#[derive(Debug, Clone)]
struct ReportFile {
    form: ReportFormat,
    path: Option<PathBuf>,
}

/// What is written after the verification, checked before it.
struct Outputs {
    files: Vec<(ReportFormat, OutputFile)>,
    /// The report on standard output, instead of the text.
    printed: Option<ReportFormat>,
    expect: Option<OutputFile>,
}

impl Outputs {
    fn of(args: &Args) -> Result<Outputs, Failure> {
        let mut outputs = Outputs { files: Vec::new(), printed: None, expect: None };
        for ReportFile { form, path } in &args.report {
            match path {
                Some(path) => outputs.files.push((*form, OutputFile::new(path, form.kind())?)),
                None if outputs.printed.is_some() || args.format != ReportFormat::Text => {
                    let text = "standard output takes one report: give a file to the other with --report FORMAT=FILE";
                    return Err(Failure::usage(text));
                }
                None => outputs.printed = Some(*form),
            }
        }
        if let Some(path) = &args.write_expect {
            outputs.expect = Some(OutputFile::new(path, EXPECTATION)?);
        }
        let mut paths = outputs.files.iter().map(|(_, file)| file).chain(&outputs.expect);
        while let Some(file) = paths.next() {
            if paths.clone().any(|other| other.path() == file.path()) {
                let path = file.path().shown();
                return Err(Failure::usage(format!(
                    "{path}: two outputs have this path; give each one of its own"
                )));
            }
        }
        Ok(outputs)
    }

    fn write(&self, report: &Report) -> Result<(), Failure> {
        if let Some(form) = self.printed {
            print(&form.of(report))?;
        }
        for (form, file) in &self.files {
            file.write(form.of(report).as_bytes(), Durability::Cached)?;
        }
        if let Some(file) = self.expect.as_ref().filter(|_| report.whole) {
            let path = file.path().shown();
            let refused = |why| Failure::usage(format!("--write-expect {path}: {why}"));
            report.found.is_complete().map_err(refused)?;
            file.write(report.found.to_json().as_bytes(), Durability::Synced)?;
        }
        Ok(())
    }
}

/// What `--write-expect` writes.
const EXPECTATION: OutputKind = OutputKind {
    name: "a file that --write-expect wrote",
    is: |bytes| contains(bytes, "\"tarflume-expect\""),
};

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
    Ok(ReportFile { form, path: (path != "-").then(|| path.into()) })
}

impl ReportFormat {
    /// Returns how files of this form are known again.
    fn kind(self) -> OutputKind {
        match self {
            ReportFormat::Text => OutputKind {
                name: "a report as text",
                is: |bytes| {
                    let has = |words: [&str; 2]| words.iter().any(|word| contains(bytes, word));
                    has([" shard, ", " shards, "])
                        && has([" sample, ", " samples, "])
                        && has([": whole", " problem"])
                },
            },
            ReportFormat::Json => OutputKind {
                name: "a report as JSON",
                is: |bytes| {
                    bytes.starts_with(b"{") && contains(bytes, "\"shards_without_checksums\"")
                },
            },
            ReportFormat::Junit => OutputKind {
                name: "a report in JUnit's XML",
                is: |bytes| bytes.starts_with(b"<") && contains(bytes, "<testsuite"),
            },
            ReportFormat::Sarif => OutputKind {
                name: "a report in SARIF",
                is: |bytes| bytes.starts_with(b"{") && contains(bytes, "sarif"),
            },
            ReportFormat::Github => {
                OutputKind { name: "a list of annotations", is: |bytes| bytes.starts_with(b"::") }
            }
            ReportFormat::Markdown => OutputKind {
                name: "a report in Markdown",
                is: |bytes| ["✅", "❌"].iter().any(|mark| bytes.starts_with(mark.as_bytes())),
            },
        }
    }

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

/// Returns where classes are: as given, as the expectation was made, or as the manifest states it.
fn class_field(args: &Args, expected: Option<&Expect>) -> Result<Option<ClassField>, Failure> {
    if let Some(field) = expected.filter(|expect| expect.classes.is_some()) {
        let parsed = field.class.as_deref().map(ClassField::parse).transpose();
        return parsed.map_err(|why| Failure::usage(format!("--expect: the field class: {why}")));
    }
    if args.class.is_some() || args.write_expect.is_none() || args.level == Level::Quick {
        return Ok(args.class.clone());
    }
    let [path] = args.paths.as_slice() else { return Ok(None) };
    let manifest = path.join(tarflume_formats::manifest::FILE_NAME);
    if url_of(path).is_some() || !files::exists(&manifest)? {
        return Ok(None);
    }
    let classes = read_manifest(&manifest)?.about.classes;
    Ok(classes.and_then(|classes| ClassField::parse(&format!("json:{}", classes.pointer)).ok()))
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
