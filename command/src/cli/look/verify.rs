//! `pack verify`: verifies data sets and shards, and lists every problem.

mod live;
mod outputs;
mod part_args;
pub(super) mod policy;
mod scope;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tarflume_base::{Exit, Failure, FailureKind, Outcome};
use tarflume_formats::files;
use tarflume_formats::json::JsonRules;
use tarflume_formats::message;
use tarflume_inspect::kept_apart;
use tarflume_verify::expect::Expect;
use tarflume_verify::policy::Policy;
use tarflume_verify::schema::PartSchema;
use tarflume_verify::signature::Signers;
use tarflume_verify::{ClassField, Level, Options, Profile};

use self::live::Live;
use self::outputs::{Outputs, Wanted, exit_of};
use self::part_args::PartArgs;
use self::policy::PolicyArgs;
use crate::cli::arguments::args::{Jobs, choice};
use crate::cli::arguments::{storage, zeros};
use crate::cli::features::HelpPart::{Always, With};
use crate::cli::features::{self, Feature, HelpPart, or_url};
use crate::cli::output::out::Bar;
use crate::cli::output::report_files::{ReportFile, report_file};
use crate::reports::ReportForm;
use crate::signals;

const AFTER: &[HelpPart] = &[
    Always("\
Levels:
  quick    lengths, end markers and sidecars, and some headers of each tar; reads no data
  full     one pass over every byte: all headers, checksums and digests; keys that repeat or differ
           only in case, within and across shards; samples that are split
  decode   as full, and every image and JSON is decoded: of JPEGs every Huffman code is
           read, and entry points must be those that were found again. Pictures of kinds that are
           not decoded here are warnings if --check structure has packed them. The structure of
           npy, npz, pickles, ten, safetensors, text, cls, jsonl, avif, mp4, webm, wav, flac, mp3,
           ogg and others is checked; the last line of the report says which parts were not checked

Missing parts: --require names what each sample must have (image stands for any image). Without it a
part that at most a tenth of the samples, or a single one, lack is a warning, which changes no exit
code; optional captions are none. --require '' expects nothing and warns of nothing.

--sample, --slice, --time-budget, --changed and their relatives read a part of the data; the rest is checked
as the level quick does. The report states how much was read, and `whole` is not claimed. The exit code is 0
if no problem is found.

What was asked for and matches nothing ends with 2 and is in each report:"),
    With(Feature::Schema, " a --schema for a part that no
sample has,"),
    Always(" a path at which there is nothing, --profile for shards in a store. Shards without checksums,
which `pack index --headers` makes, are a warning; --require-checksums makes them a problem.

Of --report and --format, sarif has at most 25,000 results, junit 10,000 lines, gitlab 5,000 issues,
markdown 200 rows, and github 100 annotations of errors and 100 of warnings, the worst first; each states
how many it leaves out. json and text have all. A file of --report is whole at any time: until the end it
says that the verification has not finished, and has what was found so far.

Index files of other readers beside the tars are compared with them: DALI's SHARD.idx, Energon's
SHARD.tar.idx and .nv-meta, shardindex.json of wids, SHARD.json of hfutils.

pack.toml, found in the working directory or above it, states levels of rules and what is demanded of parts,
values, classes, pictures, shards and totals; options of the command line come first. docs/POLICY.md has it.

Examples:
  pack verify shards/                                  check a data set before training on it
  pack verify --level quick /data/train /data/val      seconds, also for terabytes
  pack verify --format json --require jpg,json shards/ | jq .counts
  pack verify --profile hf,ray,dali shards/            what these readers would misread
  pack verify --format markdown shards/ >> $GITHUB_STEP_SUMMARY"),
    With(Feature::Schema, "
  pack verify --schema sample.schema.json shards/      each JSON against a JSON Schema"),
    Always("
  pack verify --write-expect data.json shards/         totals, classes, digests for --expect
  pack verify --expect data.json --report junit=report.xml shards/
  pack verify --write-baseline known.json shards/      what is there today is known from now on
  pack verify --baseline known.json shards/            only what is new fails
  pack verify some.tar                                 one tar; reports a missing sidecar
  pack verify --level quick --changed shards/shard-000003.tar shards/dataset.json
  pack verify --level decode --slice 3/30 shards/      a thirtieth of all bytes, another each day
  pack verify --time-budget 5m --cache shards/         what was not verified yet, for five minutes
  pack verify --changed-since origin/main data/        the shards that a branch changes
  pack verify data/                                    all data sets below a folder

Exit codes: 0 no problem   1 problems found   2 could not run, or not all   73 the system refuses
            75 the machine failed: try again   130 interrupted"),
];

/// Check that data sets and shards are complete and undamaged, or list what is wrong
#[derive(Debug, clap::Args)]
#[command(after_help = features::text(AFTER))]
pub(in crate::cli) struct Args {
    /// Folders of shards, and single tars [default: the data sets in [sets] of the policy]
    #[arg(value_name = or_url("DIR|SHARD|URL", "DIR|SHARD"))]
    pub(in crate::cli) paths: Vec<PathBuf>,
    /// Check at this level [default: full]
    #[arg(long, value_parser = choice::<Level>())]
    level: Option<Level>,
    /// Print the report in this form
    #[arg(long, value_enum, default_value_t = ReportForm::Text)]
    format: ReportForm,
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
    /// Demand a signature of this key of minisign over each dataset.json, as `pack sign` makes it; repeatable
    #[arg(long, value_name = "KEY|FILE")]
    signed_by: Vec<String>,
    /// Check boxes, classes, polygons, masks and keypoints of the samples, too: inside of the picture, not empty, with a
    /// listed class, as many as the labels
    #[arg(long)]
    objects: bool,
    /// Check each part with this extension against a JSON Schema [default EXT: json]; repeatable
    #[arg(long, value_name = "[EXT=]FILE", hide = Feature::Schema.is_missing())]
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
    /// Write the report to FILE, too: text, json, junit, sarif, github, gitlab or markdown; - is standard
    /// output; repeatable. The file is written before the data are read, and again while they are
    #[arg(long, value_name = "FORMAT=FILE", value_parser = report_file)]
    report: Vec<ReportFile>,
    #[command(flatten)]
    scope: scope::ScopeArgs,
    /// Which texts are JSON: strict, or python, which also accepts NaN, Infinity, halves of surrogate pairs
    /// and repeated names [default: as the data set was packed]
    #[arg(long, value_name = "RULES", value_parser = choice::<JsonRules>())]
    json_rules: Option<JsonRules>,
    #[command(flatten)]
    parts: PartArgs,
    #[command(flatten)]
    policy: PolicyArgs,
    #[command(flatten)]
    jobs: Jobs,
    /// Print nothing if no problem is found
    #[arg(long, short)]
    quiet: bool,
}

pub(in crate::cli) fn run(args: &Args) -> Outcome {
    // The pass may take hours: what would fail after it is refused before.
    let outputs = Arc::new(Outputs::of(Wanted {
        printed: args.format,
        reports: &args.report,
        expect: args.write_expect.as_deref(),
    })?);
    let baseline = args.policy.output()?;
    let rules = args.policy.rules()?;
    let policy = rules.policy.clone();
    // What a policy expects may count classes, and a hook reads no data.
    let is_read = args.write_expect.is_none() && args.level != Some(Level::Quick);
    let stated = policy.as_deref().and_then(Policy::expect).filter(|_| is_read);
    let expect = args.expect.as_deref().or(stated);
    let expected = expect.map(read_expect).transpose()?;
    let mut options = Options {
        rules,
        require: args.require.as_ref().map(|list| split(list)),
        profiles: args.profile.clone(),
        schemas: args
            .schema
            .iter()
            .map(|text| PartSchema::parse(text))
            .collect::<Result<_, Failure>>()?,
        class: class_field(args, expected.as_ref())?,
        count_classes: args.write_expect.is_some(),
        objects: args.objects,
        require_checksums: args.require_checksums,
        signers: (!args.signed_by.is_empty())
            .then(|| Signers::read(&args.signed_by))
            .transpose()?,
        json: args.json_rules,
        scope: args.scope.read()?,
        ignore_zeros: zeros::are_ignored(),
        jobs: args.jobs.count(),
        stop: signals::stop(),
        storage: storage::given().to_vec(),
        parts: args.parts.options(),
        ..Options::new(args.level.unwrap_or(Level::Full))
    };
    if let Some(policy) = &policy {
        options = policy.complete(options, args.level)?;
    }
    let paths = policy::paths(&args.paths, policy.as_deref(), options.scope.change.as_ref())?;
    let _ = signals::listen();
    let live = Live::begin(&outputs, options.level)?;
    options.watch = live.watch();
    let bar = Bar::new(args.quiet);
    // Any failure to run must have another exit code than problems, so that CI can distinguish
    // them.
    let report = tarflume_verify::verify(&paths, &options, &|bytes| bar.advance(bytes))
        .inspect_err(|failure| live.fail(failure));
    let mut report = report.map_err(|failure| match failure.exit() {
        Exit::TryAgain | Exit::Barred | Exit::Interrupted | Exit::Terminated => failure,
        _ => failure.with_kind(FailureKind::Usage),
    })?;
    bar.end();
    if let Some((path, expect)) = expect.zip(expected.as_ref()) {
        report.compare(expect, path);
    }
    kept_apart::check(&mut report, &options)?;
    report.close();
    if let Some(file) = &baseline {
        policy::write(file, &mut report)?;
    }
    let failures = outputs.write(&report, args.quiet);
    Ok(exit_of(&report, &failures))
}

fn split(list: &str) -> Vec<String> {
    list.split(',').map(str::trim).filter(|ext| !ext.is_empty()).map(String::from).collect()
}

fn read_expect(path: &Path) -> Result<Expect, Failure> {
    if !files::exists(path)? {
        return Err(refused_expect(path, "there is no such file; --write-expect writes it"));
    }
    let text = files::read_whole(path, "read what is expected")?;
    Expect::from_json(&text).map_err(|why| refused_expect(path, &why.text()))
}

fn refused_expect(path: &Path, why: &str) -> Failure {
    Failure::usage(message!("--expect {path}: {why}"; path = path)).with_file(path)
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
