//! `pack cat`: one part's bytes to standard output.

use std::ffi::OsString;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use tarflume_base::{Exit, Failure, Outcome};
use tarflume_shards::listing;

use crate::cli::arguments::{args, storage};
use crate::cli::features::{self, or_url};
use crate::cli::output::out;

const AFTER: &str = "\
Examples:
  pack cat shards/ cats/001.json                print one part of a data set
  pack cat shards/ cats/001.jpg > 001.jpg       extract an image
  pack cat shards/train-000003.tar 001.txt      from one tar, with or without sidecar

Finds the key by binary search in each sidecar, which takes milliseconds for any data set. Compares
the checksum after the last byte: exit code 65 means that the printed bytes are damaged.

Exit codes: 0 done   2 no such part   65 damaged data   73 the system refuses   75 try again";

/// Print the bytes of one part
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER)]
pub(in crate::cli) struct Args {
    #[arg(help = features::text(args::DATA_SET), value_name = or_url("DIR|SHARD|URL", "DIR|SHARD"))]
    pub(in crate::cli) path: PathBuf,
    /// Key of the sample, a dot, extension of the part
    #[arg(value_name = "KEY.EXT")]
    part: OsString,
}

pub(in crate::cli) fn run(args: &Args) -> Outcome {
    let listing = storage::listing(&args.path)?;
    let found = listing.find(args.part.as_bytes())?;
    let mut to = out::stdout();
    let mut closed = false;
    listing::read_part(&found, |piece| {
        if !closed {
            let result = to.write_all(piece);
            closed = out::is_closed(&result);
            out::printed(result)?;
        }
        Ok::<(), Failure>(())
    })?;
    out::printed(to.flush())?;
    Ok(Exit::Done)
}
