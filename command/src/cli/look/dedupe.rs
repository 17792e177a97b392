//! `pack dedupe`: lists images that are those of other samples.

mod found;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;

use serde_json::json;
use tarflume_base::{Exit, Failure, Outcome, units};
use tarflume_formats::Durability;
use tarflume_formats::output::{OutputFile, OutputKind, is_json_line};
use tarflume_formats::shown;
use tarflume_inspect::dedupe::{Duplicate, MOST_DISTANCE, Options, Totals, dedupe};

use self::found::Listed;
use crate::cli::arguments::args::Jobs;
use crate::cli::features::or_url;
use crate::cli::output::out;
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
    let mut to = out::stdout();
    let mut is_closed = false;
    let mut lists = ExcludeLists::new(args)?; // a wrong call is refused before the work
    let mut between = BTreeMap::new();
    let mut listed = Listed::default();
    let totals = dedupe(&args.paths, &options, &mut |found| {
        lists.add(&found);
        if found.sample.group != found.kept.group {
            let groups = (found.kept.group.clone(), found.sample.group.clone());
            *between.entry(groups).or_insert(0u64) += 1;
        }
        if args.summary || is_closed {
            return Ok(());
        }
        let line = match args.format {
            ReportForm::Text => text(&found),
            ReportForm::Json => shown::json(&json_of(&found)),
            _ => {
                listed.add(&found, text(&found), &args.paths);
                return Ok(());
            }
        };
        let written = writeln!(to, "{line}");
        is_closed = out::is_closed(&written);
        if is_closed { Ok(()) } else { out::printed(written) }
    })?;
    lists.write()?;
    if let Some(report) = listed.report(args.format, &summary(&totals), totals.exact + totals.near)
    {
        out::printed(to.write_all(report.as_bytes()).and_then(|()| to.flush()))?;
    } else if !is_closed {
        end(args, &totals, &between, &mut to)?;
    }
    Ok(if totals.exact + totals.near == 0 { Exit::Done } else { Exit::Problems })
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

/// Prints the totals.
fn end(
    args: &Args,
    totals: &Totals,
    between: &BTreeMap<(String, String), u64>,
    to: &mut impl Write,
) -> Result<(), Failure> {
    let lines = match args.format {
        ReportForm::Json => {
            let leaks: Vec<_> = between
                .iter()
                .map(|((kept, sample), n)| json!({"kept": kept, "group": sample, "samples": n}))
                .collect();
            vec![
                json!({"samples": totals.samples, "images": totals.images, "unread": totals.unread,
                       "exact": totals.exact, "near": totals.near, "between": leaks})
                .to_string(),
            ]
        }
        _ => {
            let mut lines: Vec<String> = between
                .iter()
                .map(|((kept, sample), n)| {
                    let samples = units::counted(*n, "sample", "samples");
                    format!("{samples} of {} in {}, too", named_group(sample), named_group(kept))
                })
                .collect();
            lines.push(summary(totals));
            lines
        }
    };
    let written = lines.iter().try_for_each(|line| writeln!(to, "{line}"));
    out::printed(written.and_then(|()| to.flush()))
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
