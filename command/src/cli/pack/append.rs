//! `pack append`: adds shards with new samples to a data set.

use std::path::PathBuf;

use tarflume_base::{Failure, Outcome};
use tarflume_packer::build::{AppendOptions, Request};
use tarflume_packer::session::Build;
use tarflume_shards::workdir::Policy;

use super::plan;
use crate::cli::arguments::args::{Jobs, choice};
use crate::cli::arguments::source_args::ShowArgs;
use crate::cli::features::HelpPart::{Always, With, Without};
use crate::cli::features::{self, Feature, HelpPart};
use crate::cli::steps::packing::{self, RunArgs};
use crate::signals;

/// Add shards with the new samples of folders to a data set.
///
/// A sample is new if the data set has no sample with its key. The shards of the data set do not
/// change, the new ones follow them, and dataset.json is replaced at the end. Names, extensions,
/// labels, splits and the size of shards are those of the first build. New classes get the numbers
/// after the old ones. After an interruption or a kill, the same command continues.
///
/// A sample whose files differ from those in the data set stays as it was packed, and is reported
/// (`differs`). Sizes of files and generated JSON are compared, not all bytes.
///
/// A data set that was packed with a table or annotations gets them again, with the new rows alone or
/// with all rows: samples that the data set has need no row, and their rows no file. Columns keep
/// their types and classes their numbers; a value or a class that does not fit ends the append. New
/// columns are added. A column that the table lacks is left out of the new JSON and is nullable from
/// then on. Folders that were paired are paired again.
///
/// Readers see the new samples when they open the data set again. A shuffle of more samples is
/// another order: read `version=1` for that of the first build.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(in crate::cli) struct Args {
    /// Folders to pack; keys are paths relative to them, as in the first build
    #[arg(required = true, value_name = "SRC")]
    pub(in crate::cli) sources: Vec<PathBuf>,
    /// The folder of the data set
    #[arg(short, long, value_name = "DIR")]
    pub(in crate::cli) out: PathBuf,
    /// Leave out paths under SRC that match GLOB, or the samples whose keys FILE lists, beside
    /// those of the first build; repeatable
    #[arg(long, value_name = "GLOB|@FILE")]
    exclude: Vec<String>,
    #[arg(help = features::text(JOIN), long_help = features::long(JOIN, JOIN_MORE), long, value_name = "FILE")]
    join: Vec<String>,
    /// Join the annotations of a COCO file, if the first build did; options as in --join
    #[arg(long, value_name = "FILE", conflicts_with_all = ["yolo", "voc", "annotations"])]
    coco: Vec<String>,
    /// Join the YOLO label files (.txt) of a folder, if the first build did; options as in --join
    #[arg(long, value_name = "DIR", conflicts_with_all = ["voc", "annotations"])]
    yolo: Option<String>,
    /// Read the names of YOLO's classes from FILE: those of the data set, and new ones after them
    #[arg(long, value_name = "FILE", requires = "yolo")]
    yolo_names: Option<PathBuf>,
    /// Join the Pascal VOC annotations (.xml) of a folder, if the first build did; options as in
    /// --join
    #[arg(long, value_name = "DIR", conflicts_with = "annotations")]
    voc: Option<String>,
    /// Join the annotations that another program has exported, if the first build did; options as in --join
    #[arg(long, value_name = "FILE")]
    annotations: Option<String>,
    /// Pair the files of parallel folders or by patterns, as the first build did; it need not be given again
    #[arg(long, value_name = "DIR=EXT", num_args = 1..)]
    pair: Vec<String>,
    /// Take the splits of the new samples from lists, if the first build did: train=train.txt,val=val.txt
    #[arg(long, value_name = "NAME=FILE,..")]
    split_list: Option<String>,
    /// State something about this build, which dataset.json keeps and `pack info` shows: by=jane@example.org;
    /// repeatable
    #[arg(long, value_name = "NAME=VALUE")]
    provenance: Vec<String>,
    /// Handle problems this way; `fail` adds nothing
    #[arg(long, value_parser = choice::<Policy>(), default_value = "fail")]
    on_problem: Policy,
    /// Plan only; `pack run` packs the shards, on any machine, and `pack finalize` adds them
    #[arg(long)]
    plan: bool,
    /// Show the plan (shards, sizes, problems) and write nothing
    #[arg(long, conflicts_with = "plan")]
    dry_run: bool,
    #[command(flatten)]
    jobs: Jobs,
    /// Discard an unfinished append in DIR and start over
    #[arg(long)]
    fresh: bool,
    #[command(flatten)]
    run: RunArgs,
    #[command(flatten)]
    show: ShowArgs,
}

const JOIN: &[HelpPart] = &[Always(
    "Make each row of a table the JSON of its sample, if the first build did: FILE, or FILE:key=COLUMN,on=NAME,as=EXT; repeatable",
)];

const JOIN_MORE: &[HelpPart] = &[
    Always(
        ".\n\nOptions that are not given are those of the first build; others than those are an error. metadata.csv",
    ),
    With(Feature::Tables, ", .jsonl and .parquet"),
    Without(Feature::Tables, " and .jsonl"),
    Always(" of image folders are joined without this option, as in a build."),
];

const EXAMPLES: &str = "\
Examples:
  pack append photos/ -o shards/                 add what is new in the folder of the first build
  pack append more/ -o shards/                   add the samples of another folder
  pack append photos/ -o shards/ --join new.csv  with the rows of the new samples
  pack append photos/ -o shards/ --dry-run       show what would be added
  pack append photos/ -o shards/ --plan          then `pack run shards/`, `pack finalize shards/`";

pub(in crate::cli) fn run(args: &Args) -> Outcome {
    let _ = signals::listen();
    let request = args.request()?;
    if args.plan {
        return plan::plan(None, request, false, args.show);
    }
    packing::build(Build::new(request).with_settings(args.run.settings()), args.show)
}

impl Args {
    fn request(&self) -> Result<Request, Failure> {
        let options = AppendOptions {
            sources: self.sources.clone(),
            out: self.out.clone(),
            exclude: self.exclude.clone(),
            join: self.join.clone(),
            coco: self.coco.clone(),
            yolo: self.yolo.clone(),
            yolo_names: self.yolo_names.clone(),
            voc: self.voc.clone(),
            annotations: self.annotations.clone(),
            pair: self.pair.clone(),
            split_list: self.split_list.clone(),
            provenance: self.provenance.clone(),
            on_problem: self.on_problem,
            jobs: self.jobs.given().map(|n| n as u64),
            fresh: self.fresh,
            dry_run: self.dry_run,
        };
        let mut request = options.request()?;
        request.stop = signals::stop();
        Ok(request)
    }
}
