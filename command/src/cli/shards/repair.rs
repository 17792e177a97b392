//! `pack repair`: replaces damaged bytes of a data set by those of copies.

use std::path::PathBuf;

use tarflume_base::{Exit, Outcome, units};
use tarflume_formats::message::Face;
use tarflume_formats::shown;
use tarflume_formats::shown::ShowPath;
use tarflume_verify::repair::{Options, Repaired, Replaced, repair};

use crate::cli::arguments::args::{Format, Jobs};
use crate::cli::arguments::storage;
use crate::cli::features::or_url;
use crate::cli::output::out::Bar;
use crate::signals;

const AFTER: &str = "\
Examples:
  pack repair shards/ --from /backup/shards      what is damaged or missing, from a copy
  pack repair shards/ --from photos/             damaged parts, from the files that were packed
  pack repair shards/ --from a/ --from b/        each part from the first that has it
  pack repair shards/ --from a/ --dry-run        what could be repaired
  pack repair shards/ --from a/ --root 3f2a...   dataset.json, too

Every tar and sidecar is compared with its digest in dataset.json. In a damaged tar, parts whose
checksum differs are replaced; headers are written again; else the whole file is copied. A copy may be
damaged elsewhere, and may hold the samples in other shards. A file is replaced only by bytes that
have the digest of dataset.json, so the result is the data set as it was, byte for byte. What no copy
has stays as it is and is listed. dataset.json itself is restored by --root, the root digest that
`pack info` of a copy prints.

Labels and joined fields are in no source file: for such JSON give a copy.

Exit codes: 0 all is as dataset.json states   1 something is not repaired   2 wrong usage
            65 bad data   73 the system refuses   75 try again   130 interrupted";

/// Replace what is damaged in a data set by the bytes of copies, until each digest is right again
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER)]
pub(in crate::cli) struct Args {
    /// Folder of the data set
    #[arg(value_name = "DIR")]
    pub(in crate::cli) folder: PathBuf,
    /// Take whole bytes from this copy of the data set, or from the folder that was packed; repeatable
    #[arg(long, required = true, value_name = or_url("DIR|URL", "DIR"))]
    from: Vec<PathBuf>,
    /// Restore a damaged or missing dataset.json: the one with this root digest
    #[arg(long, value_name = "HEX")]
    root: Option<String>,
    /// Show what can be repaired, and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Print text, or one JSON object
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    #[command(flatten)]
    jobs: Jobs,
    /// Print problems only
    #[arg(long, short)]
    quiet: bool,
}

pub(in crate::cli) fn run(args: &Args) -> Outcome {
    let _ = signals::listen();
    let options = Options {
        from: args.from.clone(),
        root: args.root.clone(),
        dry_run: args.dry_run,
        jobs: args.jobs.count(),
        stop: signals::stop(),
        storage: storage::given().to_vec(),
    };
    let bar = Bar::new(args.quiet);
    let done = repair(&args.folder, &options, &|bytes| bar.advance(bytes))?;
    bar.end();
    match args.format {
        Format::Json => print_result!("{}", shown::json(&done.to_value(Face::Command))),
        Format::Text => text(&done, args),
    }
    Ok(if done.problems.is_empty() { Exit::Done } else { Exit::Problems })
}

fn text(done: &Repaired, args: &Args) {
    for problem in &done.problems {
        print_message!("{problem}");
    }
    if args.quiet {
        return;
    }
    for file in &done.files {
        let from = match file.from.as_slice() {
            [] => String::new(),
            [one] => format!(" from {}", one.shown()),
            [one, more @ ..] => {
                let others = units::counted(more.len() as u64, "other file", "other files");
                format!(" from {} and {others}", one.shown())
            }
        };
        let bytes = units::bytes(file.bytes);
        print_result!("{}: {}, {bytes}{from}", file.path.shown(), what(file.what));
    }
    let shards = units::counted(done.shards, "shard", "shards");
    let files = units::counted(done.files.len() as u64, "file", "files");
    let verb = if args.dry_run { "can be replaced" } else { "replaced" };
    let rest = match done.problems.len() as u64 {
        0 => String::new(),
        n => format!(", {} not repaired", units::count(n)),
    };
    print_result!("{shards}, {} sound, {files} {verb}{rest}", units::count(done.sound));
}

fn what(replaced: Replaced) -> String {
    match replaced {
        Replaced::Whole => "the whole file".into(),
        Replaced::Parts { parts: 0, .. } => "headers".into(),
        Replaced::Parts { samples, parts, headers } => format!(
            "{} of {}{}",
            units::counted(parts, "part", "parts"),
            units::counted(samples, "sample", "samples"),
            if headers { " and headers" } else { "" }
        ),
    }
}
