//! `pack unpack`: the files of shards, back under a folder.

use std::io::Write;
use std::path::PathBuf;

use tarflume_packer::Exit;
use tarflume_packer::Outcome;
use tarflume_packer::unpack;
use tarflume_packer::{listing, units};

use super::out::{self, Bar};

const AFTER: &str = "\
Examples:
  pack unpack shards/ -o photos/                 all files of a data set
  pack unpack shards/train-000003.tar -o out/    of one tar, with or without sidecar

Nothing is ever written outside the folder, and nothing in it is overwritten: names with '..',
absolute names, links and devices are refused, each file is created new, and each is held against
its checksum. What was refused is listed, the rest is unpacked, and the exit code is 1.

Exit codes: 0 done   1 some members were not unpacked   2 wrong usage   65 bad data
            73 refused for good   75 try again";

/// Unpacks shards into a folder, safely
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER)]
pub(super) struct Args {
    /// A folder of shards, or one tar
    #[arg(value_name = "DIR|SHARD")]
    path: PathBuf,
    /// The folder to unpack into; it must be new or empty
    #[arg(long, short, value_name = "OUT")]
    output: PathBuf,
    /// Shards to work on at the same time [default: number of processors]
    #[arg(long, short, value_name = "N", value_parser = out::jobs)]
    jobs: Option<usize>,
    /// Print problems only
    #[arg(long, short)]
    quiet: bool,
}

pub(super) fn run(args: &Args) -> Outcome {
    let listing = listing::open(&args.path)?;
    let bar = Bar::new(args.quiet);
    let jobs = args.jobs.unwrap_or_else(out::processors);
    let done = unpack::unpack(&listing, &args.output, jobs, &|bytes| bar.advance(bytes))?;
    bar.end();
    for problem in &done.problems {
        tell!("{problem}");
    }
    if done.unproved > 0 {
        let shards = units::counted(done.unproved, "shard has", "shards have");
        tell!("warning: {shards} no checksums, so the files were not proved");
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
