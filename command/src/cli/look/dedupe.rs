//! `pack dedupe`: lists images that are those of other samples.

mod found;
mod outputs;

use std::collections::BTreeMap;
use std::io::{BufWriter, StdoutLock, Write};
use std::path::PathBuf;

use serde_json::json;
use tarflume_base::{Exit, Failure, Outcome, units};
use tarflume_formats::Durability;
use tarflume_formats::output::{OutputFile, OutputKind, is_json_line};
use tarflume_formats::shown;
use tarflume_inspect::dedupe::{Duplicate, MOST_DISTANCE, Options, Totals, dedupe};

use self::found::Listed;
use self::outputs::{LINES, Outputs, is_of_lines};
use crate::cli::arguments::args::Jobs;
use crate::cli::features::or_url;
use crate::cli::output::out;
use crate::cli::output::report_files::{ReportFile, report_file};
use crate::reports::ReportForm;
use crate::signals;

const AFTER: &str = "\
Equal bytes are found from the sidecars; only images with equal size and checksum are read. --near decodes
every image, and compares perceptual hashes of 64 bits. Recompressed, resized and slightly changed images
differ in few bits; mirrored and strongly cropped ones in many. Blank images look alike.

Of several duplicates the first is kept, in the order in which data sets are given: give validation data
before training data, and the list has the samples to leave out of training.

Examples:
  pack dedupe shards/                                  images with equal bytes
  pack dedupe --near shards/                           and those that look alike
  pack dedupe --near val/ train/ --exclude-list leak.jsonl
  pack reshard train/ -o clean/ --exclude @leak.jsonl  leave them out
  pack dedupe --format markdown shards/ >> $GITHUB_STEP_SUMMARY
  pack dedupe --near val/ train/ --report junit=leaks.xml --report sarif=leaks.sarif

Exit codes: 0 no duplicates   1 there are some   2 no data set   65 bad data   75 try again";

/// List images that are the same as, or look like, those of other samples, across data sets and splits
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER)]
pub(in crate::cli) struct Args {
    /// Data sets, and tars with sidecars
    #[arg(required = true, value_name = or_url("DIR|SHARD|URL", "DIR|SHARD"))]
    pub(in crate::cli) paths: Vec<PathBuf>,
    /// Find images that look alike, too
    #[arg(long)]
    near: bool,
    /// Bits of the hashes in which images that look alike differ at most
    #[arg(long, value_name = "BITS", default_value_t = 6, requires = "near",
          value_parser = clap::value_parser!(u32).range(0..=i64::from(MOST_DISTANCE)))]
    distance: u32,
    /// Compare the parts with this extension [default: the first image of each sample]
    #[arg(long, value_name = "EXT")]
    part: Option<String>,
    /// Write the duplicates in the last data set to FILE, for `--exclude @FILE` of build and reshard, and for
    /// loaders; give it once for each data set to write one list of each
    #[arg(long, value_name = "FILE")]
    exclude_list: Vec<PathBuf>,
    /// Print text, one JSON object a line with the totals last, or a report as that of pack verify
    #[arg(long, value_enum, default_value_t = ReportForm::Text)]
    format: ReportForm,
    /// Write the report to FILE, too: text, json, junit, sarif, github, gitlab or markdown; repeatable. The file is written
    /// before the search, and again after it
    #[arg(long, value_name = "FORMAT=FILE", value_parser = report_file)]
    report: Vec<ReportFile>,
    /// Print the totals only
    #[arg(long)]
    summary: bool,
    #[command(flatten)]
    jobs: Jobs,
}

pub(in crate::cli) fn run(args: &Args) -> Outcome {
    let _ = signals::listen();
    let options = Options {
        part: args.part.as_ref().map(|ext| ext.trim_start_matches('.').to_ascii_lowercase()),
        near: args.near.then_some(args.distance),
        jobs: args.jobs.count(),
        stop: signals::stop(),
    };
    let mut found = Found::begin(args)?; // a wrong call is refused before the work
    let totals = dedupe(&args.paths, &options, &mut |duplicate| found.take(&duplicate))?;
    found.end(&totals)?;
    Ok(if totals.exact + totals.near == 0 { Exit::Done } else { Exit::Problems })
}

/// What becomes of each duplicate: a line, an entry of a list, a problem of a report.
struct Found<'a> {
    args: &'a Args,
    lists: ExcludeLists,
    outputs: Outputs,
    /// The problems of reports; empty if no report lists problems.
    listed: Listed,
    lists_problems: bool,
    between: Between,
    to: BufWriter<StdoutLock<'static>>,
    is_closed: bool,
}

/// Samples by the group that has the image, too, and their own group.
type Between = BTreeMap<(String, String), u64>;

impl<'a> Found<'a> {
    fn begin(args: &'a Args) -> Result<Found<'a>, Failure> {
        let lists = ExcludeLists::new(args)?;
        let outputs = Outputs::begin(&args.report)?;
        Ok(Found {
            args,
            lists,
            listed: Listed::default(),
            lists_problems: !is_of_lines(args.format) || outputs.list_problems(),
            outputs,
            between: Between::new(),
            to: out::stdout(),
            is_closed: false,
        })
    }

    fn take(&mut self, found: &Duplicate) -> Result<(), Failure> {
        self.lists.add(found);
        if found.sample.group != found.kept.group {
            let groups = (found.kept.group.clone(), found.sample.group.clone());
            *self.between.entry(groups).or_insert(0u64) += 1;
        }
        if self.lists_problems {
            self.listed.add(found, text(found), &self.args.paths);
        }
        for form in LINES {
            self.outputs.add_line(form, || line(form, found));
        }
        if self.args.summary || self.is_closed || !is_of_lines(self.args.format) {
            return Ok(());
        }
        let written = writeln!(self.to, "{}", line(self.args.format, found));
        self.is_closed = out::is_closed(&written);
        if self.is_closed { Ok(()) } else { out::printed(written) }
    }

    /// Prints the totals, and writes lists and reports.
    fn end(mut self, totals: &Totals) -> Result<(), Failure> {
        self.lists.write()?;
        for form in LINES {
            for line in ending(form, totals, &self.between) {
                self.outputs.add_line(form, || line.clone());
            }
        }
        let format = self.args.format;
        let summary = summary(totals);
        let duplicates = totals.exact + totals.near;
        let to = &mut self.to;
        if let Some(report) = self.listed.report(format, &summary, duplicates) {
            out::printed(to.write_all(report.as_bytes()).and_then(|()| to.flush()))?;
        } else if !self.is_closed {
            let lines = ending(format, totals, &self.between);
            let written = lines.iter().try_for_each(|line| writeln!(to, "{line}"));
            out::printed(written.and_then(|()| to.flush()))?;
        }
        self.outputs.write(&self.listed, &summary, duplicates)
    }
}

/// Returns the line about a duplicate in a form that is a list.
fn line(form: ReportForm, found: &Duplicate) -> String {
    match form {
        ReportForm::Json => shown::json(&json_of(found)),
        _ => text(found),
    }
}

/// One list for each data set: a key names a sample of one data set only, and another may have the same.
struct ExcludeLists {
    files: Vec<OutputFile>,
    /// The number of the data set of the first list.
    first: usize,
    texts: Vec<String>,
    /// Duplicates in data sets without a list.
    unlisted: u64,
}

/// A list of this command.
const LIST: OutputKind = OutputKind {
    name: "a list that --exclude-list wrote",
    is: |bytes| is_json_line(bytes, &["key", "shard", "kept"]),
};

impl ExcludeLists {
    fn new(args: &Args) -> Result<ExcludeLists, Failure> {
        let paths = &args.exclude_list;
        let datasets = args.paths.len();
        if paths.len() > 1 && paths.len() != datasets {
            let text = format!(
                "--exclude-list is given {} times for {}: give it once, for the last one, or once for each",
                paths.len(),
                units::counted(datasets as u64, "data set", "data sets"),
            );
            return Err(Failure::usage(text));
        }
        let files = paths.iter().map(|path| OutputFile::new(path, LIST));
        let files = files.collect::<Result<Vec<_>, _>>()?;
        let texts = vec![String::new(); files.len()];
        let first = datasets - files.len();
        Ok(ExcludeLists { files, first, texts, unlisted: 0 })
    }

    fn add(&mut self, found: &Duplicate) {
        let list = found.sample.dataset.checked_sub(self.first);
        let Some(text) = list.and_then(|list| self.texts.get_mut(list)) else {
            self.unlisted += 1;
            return;
        };
        let line =
            json!({"key": found.sample.key, "shard": found.sample.shard, "kept": found.kept.key});
        text.push_str(&shown::json(&line));
        text.push('\n');
    }

    fn write(self) -> Result<(), Failure> {
        for (file, text) in self.files.iter().zip(&self.texts) {
            file.write(text.as_bytes(), Durability::Synced)?;
        }
        if self.unlisted > 0 && !self.files.is_empty() {
            let duplicates = units::counted(self.unlisted, "duplicate", "duplicates");
            let why = "in data sets before the last one: in no list";
            out::print_message(format_args!("note: {duplicates} {why}"));
        }
        Ok(())
    }
}

/// Returns the last lines of a list: the totals.
fn ending(form: ReportForm, totals: &Totals, between: &Between) -> Vec<String> {
    if form == ReportForm::Json {
        let leaks: Vec<_> = between
            .iter()
            .map(|((kept, sample), n)| json!({"kept": kept, "group": sample, "samples": n}))
            .collect();
        let totals = json!({"samples": totals.samples, "images": totals.images, "unread": totals.unread,
                            "exact": totals.exact, "near": totals.near, "between": leaks});
        return vec![totals.to_string()];
    }
    let leaks = between.iter().map(|((kept, sample), n)| {
        let samples = units::counted(*n, "sample", "samples");
        format!("{samples} of {} in {}, too", named_group(sample), named_group(kept))
    });
    leaks.chain([summary(totals)]).collect()
}

fn named_group(group: &str) -> String {
    if group.is_empty() { "no split".into() } else { format!("'{group}'") }
}

fn summary(totals: &Totals) -> String {
    let images = units::counted(totals.images, "image", "images");
    let mut line = format!(
        "{images} of {}: {} with equal bytes, {} that look alike",
        units::counted(totals.samples, "sample", "samples"),
        units::count(totals.exact),
        units::count(totals.near)
    );
    if totals.unread > 0 {
        line.push_str(&format!("; {} could not be decoded", units::count(totals.unread)));
    }
    line
}

fn named(place: &tarflume_inspect::dedupe::Place) -> String {
    if place.group.is_empty() {
        place.key.clone()
    } else {
        format!("{}: {}", place.group, place.key)
    }
}

fn text(found: &Duplicate) -> String {
    let how = match found.distance {
        None => "has the bytes of".to_string(),
        Some(bits) => format!("looks like ({})", units::counted(u64::from(bits), "bit", "bits")),
    };
    format!("{} {how} {}", named(&found.sample), named(&found.kept))
}

fn json_of(found: &Duplicate) -> serde_json::Value {
    json!({"sample": json_of_place(&found.sample), "kept": json_of_place(&found.kept), "distance": found.distance})
}

fn json_of_place(place: &tarflume_inspect::dedupe::Place) -> serde_json::Value {
    json!({"group": place.group, "key": place.key, "shard": place.shard})
}
