//! `pack unpack`: restores the files of shards under a folder.

use std::io::Write;
use std::path::PathBuf;

use tarflume_base::{Exit, Outcome, units};
use tarflume_export::unpack;

use crate::cli::arguments::args::Jobs;
use crate::cli::arguments::storage;
use crate::cli::features::or_url;
use crate::cli::output::out::{self, Bar};

const AFTER: &str = "\
Examples:
  pack unpack shards/ -o photos/                 all files of a data set
  pack unpack shards/train-000003.tar -o out/    of one tar, with or without sidecar

Writes nothing outside the folder and overwrites nothing in it: refuses names with '..', absolute
names, links and devices, creates each file new, and compares each file with its checksum. Refused
members are listed, the others are unpacked, and the exit code is 1. After a kill, the same command goes on.

Exit codes: 0 done   1 some members were not unpacked   2 wrong usage   65 bad data
            73 the system refuses   75 try again";

/// Unpack shards into a folder
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER)]
pub(in crate::cli) struct Args {
    /// Folder of shards, or one tar
    #[arg(value_name = or_url("DIR|SHARD|URL", "DIR|SHARD"))]
    pub(in crate::cli) path: PathBuf,
    /// Write the files to this folder, which must be new, empty, or left by the same command when it was killed
    #[arg(short, long, value_name = "DIR")]
    out: PathBuf,
    #[command(flatten)]
    jobs: Jobs,
    /// Print problems only
    #[arg(long, short)]
    quiet: bool,
}

pub(in crate::cli) fn run(args: &Args) -> Outcome {
    let listing = storage::listing(&args.path)?;
    let bar = Bar::new(args.quiet);
    let jobs = args.jobs.count();
    let done = unpack::unpack(&listing, &args.out, jobs, &|bytes| bar.advance(bytes))?;
    bar.end();
    for problem in &done.problems {
        print_message!("{problem}");
    }
    if done.unproved > 0 {
        let shards = units::counted(done.unproved, "shard has", "shards have");
        print_message!("warning: {shards} no checksums, so the files were not verified");
    }
    if !args.quiet {
        let mut to = out::stdout();
        let files = units::counted(done.files, "file", "files");
        out::printed(
            writeln!(to, "{files}, {}", units::bytes(done.bytes)).and_then(|()| to.flush()),
        )?;
    }
    Ok(if done.problems.is_empty() { Exit::Done } else { Exit::Problems })
}
