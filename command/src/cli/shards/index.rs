//! `pack index`: makes sidecars and a manifest for existing tars.

use std::io::Write;
use std::path::{Path, PathBuf};

use tarflume_base::{Columns, Exit, Failure, Outcome, Problems, Stop, units};
use tarflume_export::foreign_index::{self, ForeignIndexOptions, IndexFormat};
use tarflume_formats::Reading;
use tarflume_formats::json::JsonRules;
use tarflume_formats::shown::ShowPath;
use tarflume_shards::braces::expand_all;
use tarflume_shards::index::{self, Indexed, IndexedPath, Options, SeenValues, SidecarInfo};

use crate::cli::arguments::args::{Jobs, choice};
use crate::cli::arguments::{storage, zeros};
use crate::cli::features::HelpPart::{Always, With};
use crate::cli::features::{self, Feature, HelpPart};
use crate::cli::output::out::{self, Bar};

const AFTER: &[HelpPart] = &[
    Always("\
Examples:
  pack index imagenet-wds/                   every *.tar of the folder: sidecars, then dataset.json
  pack index --entry-points imagenet-wds/    JPEG entry points, too: training decodes faster
  pack index --columns class:u32 wds/        labels in the sidecars: training parses no JSON
  pack index --split-by source wds/          train-*.tar and val-*.tar as splits
  pack index --headers laion/                fast: no digests, checksums or image dimensions
  pack index 'cc3m/{00000..00099}.tar'       some tars: sidecars alone
  pack index --force cc3m-00007.tar          make a new sidecar after the tar was replaced
  pack index --accept-edits shards/          after dataset.json was edited by hand"),
    With(Feature::Sqlite, "
  pack index --export dali,energon shards/   the indexes of other readers, too"),
    Always("
  pack index --ignore-zeros joined.tar       tars that were joined: all their samples

A member belongs to a sample by WebDataset's rule: the key is its name up to the first dot after the
last slash, and members of one sample are neighbors. Directories, links and files without extension
are skipped, as WebDataset does. A tar that is cut, damaged or ambiguous (the same part twice in a
sample) is refused: it gets no sidecar, and its folder no manifest. The other tars are indexed.

--export writes, after the sidecars: dali: SHARD.idx;"),
    With(Feature::Sqlite, " energon: SHARD.tar.idx and .nv-meta;"),
    Always(" wids:
shardindex.json; hfutils: SHARD.json; hf: README.md. Without --headers, every byte is read for the
digests that wids and hfutils contain. A file with other contents stays without --force.

--entry-points reads every Huffman code of the JPEGs, takes about as long as decoding them, and makes
new sidecars where entry points are missing. A damaged JPEG is reported and gets none.

A sidecar stays if it describes its tar. If the tar may have been changed later, by the times of both files, the whole tar
is compared with the digest in its sidecar first.

JSON that no strict reader accepts, NaN and Infinity among it, is reported with its place.

Exit codes: 0 done   2 nothing to index   65 a tar was refused   73 the system refuses   75 try again"),
];

const EXPORT: &[HelpPart] = &[
    Always("Write the index files of other readers, too: dali,"),
    With(Feature::Sqlite, " energon,"),
    Always(" wids, hfutils, or hf (the card of the Hugging Face Hub)"),
];

/// Number of damaged parts of a shard that are listed one by one.
const SHOWN: usize = 20;

/// Make sidecars and a manifest for tars of other tools
#[derive(Debug, clap::Args)]
#[command(after_help = features::text(AFTER))]
pub(in crate::cli) struct Args {
    /// Tars, and folders of tars
    #[arg(required = true, value_name = "SHARD|DIR")]
    pub(in crate::cli) paths: Vec<PathBuf>,
    /// Read headers only: no digests, no checksums, no image dimensions
    #[arg(long)]
    headers: bool,
    /// Add the places inside JPEGs from which decoding can start, also to existing sidecars
    #[arg(long, conflicts_with = "headers")]
    entry_points: bool,
    /// Store typed values of samples in the sidecars, in place of the columns that they have: class:u32,split:str; see
    /// `pack build --help`. A value of another type is reported and left out
    #[arg(long, value_name = "COLUMNS", conflicts_with = "headers")]
    columns: Option<String>,
    /// Which texts are JSON: strict, or python, which also accepts NaN, Infinity, halves of surrogate pairs
    /// and repeated names
    #[arg(long, value_name = "RULES", value_parser = choice::<JsonRules>(), default_value = "strict")]
    json_rules: JsonRules,
    /// Write splits into the manifest: `source` takes the split of each shard from its name (train-0.tar, val-0.tar)
    #[arg(long, value_name = "source")]
    split_by: Option<SplitBy>,
    /// Replace existing sidecars and manifests
    #[arg(long)]
    force: bool,
    #[arg(help = features::text(EXPORT), long, value_name = "READER", value_delimiter = ',')]
    export: Vec<ReaderName>,
    /// Accept a dataset.json that was edited by hand, or that an earlier version wrote, and write its digest again.
    /// Without it an edited one is refused
    #[arg(long)]
    accept_edits: bool,
    /// Accept a tar without an end marker, with a warning
    #[arg(long)]
    allow_missing_end: bool,
    #[command(flatten)]
    jobs: Jobs,
    /// Print errors and warnings only
    #[arg(long, short)]
    quiet: bool,
}

pub(in crate::cli) fn run(args: &Args) -> Outcome {
    let options = Options {
        reading: if args.headers { Reading::Headers } else { Reading::Everything },
        entry_points: args.entry_points,
        columns: args
            .columns
            .as_deref()
            .map(Columns::parse)
            .transpose()?
            .unwrap_or_default()
            .with_rules(args.json_rules),
        splits: args.split_by.is_some(),
        force: args.force,
        accept_edits: args.accept_edits,
        allow_missing_end: args.allow_missing_end,
        ignore_zeros: zeros::are_ignored(),
        jobs: args.jobs.count(),
        stop: Stop::new(),
        storage: storage::given().to_vec(),
    };
    let mut exit = Exit::Done;
    let mut single = SeenValues::default();
    for path in &expand_all(&args.paths)? {
        let bar = Bar::new(args.quiet || args.headers);
        let done = index::index(path, &options, &|bytes| bar.advance(bytes))?;
        bar.end();
        if done.manifest.is_none() {
            single.add(&done.tars);
        }
        let indexed = print(&done, args.quiet)?;
        exit = worse(exit, indexed);
        if indexed == Exit::Done && !args.export.is_empty() {
            export(path, args, &options)?;
        }
    }
    single.expect(&options.columns)?;
    Ok(exit)
}

/// What states the split of a shard.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum SplitBy {
    Source,
}

/// A reader whose index files are written.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum ReaderName {
    Dali,
    #[cfg_attr(not(feature = "sqlite"), value(hide = true))]
    Energon,
    Wids,
    Hfutils,
    Hf,
}

impl From<ReaderName> for IndexFormat {
    fn from(name: ReaderName) -> IndexFormat {
        match name {
            ReaderName::Dali => IndexFormat::Dali,
            ReaderName::Energon => IndexFormat::Energon,
            ReaderName::Wids => IndexFormat::Wids,
            ReaderName::Hfutils => IndexFormat::Hfutils,
            ReaderName::Hf => IndexFormat::Hf,
        }
    }
}

fn export(path: &Path, args: &Args, options: &Options) -> Result<(), Failure> {
    let mut formats: Vec<IndexFormat> = args.export.iter().map(|&name| name.into()).collect();
    formats.sort_unstable();
    formats.dedup();
    let stop = options.stop.clone();
    let digests = !args.headers;
    let options =
        ForeignIndexOptions { formats, digests, force: args.force, jobs: options.jobs, stop };
    let bar = Bar::new(args.quiet);
    let made = foreign_index::write(path, &options, &|bytes| bar.advance(bytes))?;
    bar.end();
    made.notes.iter().for_each(|note| print_message!("warning: {}", note.text()));
    if args.quiet {
        return Ok(());
    }
    let mut to = out::screen();
    for file in &made.files {
        let state = if file.kept { "kept" } else { "written" };
        out::printed(writeln!(to, "{}: {state}", file.path.shown()))?;
    }
    out::printed(to.flush())
}

fn print(done: &IndexedPath, quiet: bool) -> Outcome {
    let mut exit = Exit::Done;
    let mut to = out::screen();
    for Indexed { tar, result } in &done.tars {
        match result {
            Ok(made) => {
                for warning in &made.warnings {
                    print_message!("warning: {}: {}", tar.shown(), warning.text());
                }
                damaged(&made.damaged);
                if !quiet {
                    out::printed(writeln!(to, "{}: {}", tar.shown(), line(made)))?;
                }
            }
            Err(failure) => exit = worse(exit, refused(failure)),
        }
    }
    match &done.manifest {
        Some(Ok(made)) if !quiet => {
            let m = &made.manifest;
            let state = if made.kept { "kept" } else { "written" };
            out::printed(writeln!(
                to,
                "{}: {state}: {}, {}, {}",
                made.path.shown(),
                units::counted(m.shards.len() as u64, "shard", "shards"),
                units::counted(m.samples, "sample", "samples"),
                units::bytes(m.bytes)
            ))?;
            if let Some(note) = made.split_note() {
                print_message!("notice: {}", note.text());
            }
        }
        Some(Err(failure)) => exit = worse(exit, refused(failure)),
        _ => {}
    }
    out::printed(to.flush())?;
    Ok(exit)
}

/// Prints the JPEGs that got no entry points and JSON that cannot be read: the first of them one by one.
fn damaged(found: &Problems) {
    for problem in found.listed.iter().take(SHOWN) {
        print_message!("warning: {problem}");
    }
    let more = found.listed.len().saturating_sub(SHOWN) as u64 + found.unlisted;
    if more > 0 {
        let more = units::counted(more, "part is damaged", "parts are damaged");
        print_message!("warning: {more}, too; `pack verify --level decode` lists them");
    }
}

fn line(made: &SidecarInfo) -> String {
    let exts: Vec<String> =
        made.extensions.iter().map(|(ext, n)| format!("{ext} {}", units::count(*n))).collect();
    let mut line = format!(
        "{}{} ({}), {}",
        if made.kept { "kept: " } else { "" },
        units::counted(made.entry.samples, "sample", "samples"),
        exts.join(", "),
        units::bytes(made.entry.bytes)
    );
    let skipped = made.skipped;
    for (n, one, many) in [
        (skipped.directories, "directory", "directories"),
        (skipped.not_regular, "link or device", "links or devices"),
        (skipped.without_key, "file without key", "files without key"),
    ] {
        if n > 0 {
            line.push_str(&format!("; {} passed over", units::counted(n, one, many)));
        }
    }
    if made.entry_points > 0 {
        let parts = units::counted(made.entry_points, "JPEG", "JPEGs");
        line.push_str(&format!("; entry points of {parts}"));
    }
    line
}

fn refused(failure: &Failure) -> Exit {
    print_message!("error: {failure}");
    failure.exit()
}

/// Returns the more serious code: bad data outweighs what a second attempt may fix.
fn worse(a: Exit, b: Exit) -> Exit {
    if weight(b) > weight(a) { b } else { a }
}

fn weight(exit: Exit) -> u8 {
    match exit {
        Exit::Done => 0,
        Exit::TryAgain => 1,
        _ => 2,
    }
}
