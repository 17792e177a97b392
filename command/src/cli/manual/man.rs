//! `pack man`: writes the man pages, for makers of packages. Hidden from the help.

use std::path::PathBuf;

use clap_mangen::generate_to;
use tarflume_base::{Exit, Failure, Outcome};
use tarflume_formats::output::must_be_outside;
use tarflume_formats::publish::create_folders;

/// Write a man page of the command and of each of its commands
#[derive(Debug, clap::Args)]
#[command(hide = true)]
pub(in crate::cli) struct Args {
    /// Write the pages to this folder; created if missing
    #[arg(short, long, value_name = "DIR")]
    out: PathBuf,
}

/// Writes the pages of the command line `cli` of the program `name`.
pub(in crate::cli) fn run(args: &Args, cli: clap::Command, name: &'static str) -> Outcome {
    must_be_outside(&args.out.join(format!("{name}.1")))?;
    create_folders(&args.out)?;
    let written = generate_to(cli.name(name), &args.out);
    written.map_err(|e| Failure::io(e, "write the man pages to", &args.out))?;
    Ok(Exit::Done)
}
