//! The command line: one file a command, each with its arguments, its help and its output.
//!
//! Arguments are recorded and checked here; the work is done by the library below, which prints
//! nothing.

/// Prints a line of results: see [`out::say`].
macro_rules! say {
    ($($said:tt)*) => { $crate::cli::out::say(format_args!($($said)*)) };
}

/// Prints a line on stderr: see [`out::tell`].
macro_rules! tell {
    ($($said:tt)*) => { $crate::cli::out::tell(format_args!($($said)*)) };
}

mod bench;
mod build;
mod cat;
mod doctor;
mod finalize;
mod index;
mod info;
mod ls;
mod out;
mod packing;
mod plan;
mod progress;
mod run;
mod source_args;
mod status;
mod summary;
mod unpack;
mod verify;
mod words;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use tarflume_packer::Exit;
use tarflume_packer::Outcome;

use crate::signals;

/// Turns folders of images and JSON into WebDataset shards with a sidecar index, and proves them whole.
#[derive(Debug, Parser)]
#[command(name = "pack", version, about, max_term_width = 100, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  pack build photos/ -o shards/              pack a folder, check every file, publish
  pack verify shards/                        prove that nothing is missing or damaged (for CI)
  pack index old-shards/                     make index and manifest for tars that others made
  pack cat shards/ cats/001.json             print one part
  pack bench shards/                         how fast it is read and decoded here
  pack doctor                                is this machine set up to feed its GPUs?

Exit codes:
  0    done
  1    problems found
  2    wrong usage, or nothing of the kind there
  65   bad data: trying again gives the same
  73   refused for good (read-only, no permission): mend what is named first
  75   try again: the machine failed (full disk, I/O error, open files, threads),
       or others are not done yet
  130  interrupted";

#[derive(Debug, Subcommand)]
enum Command {
    Build(build::Args),
    Plan(plan::Args),
    Run(run::Args),
    Status(status::Args),
    Finalize(finalize::Args),
    Verify(verify::Args),
    Index(index::Args),
    Info(info::Args),
    Ls(ls::Args),
    Cat(cat::Args),
    Unpack(unpack::Args),
    Bench(bench::Args),
    Doctor(doctor::Args),
}

/// Runs the command that the process was started with.
pub fn main() -> ExitCode {
    run(std::env::args_os()).into()
}

/// Runs the command that these words are, its own name first; gives the exit code.
pub fn run(words: impl IntoIterator<Item = OsString>) -> u8 {
    out::begin();
    let outcome = match Cli::try_parse_from(words) {
        Ok(cli) => command(&cli.command),
        Err(told) if told.use_stderr() => {
            let _ = told.print(); // stderr may be closed
            return told.exit_code() as u8;
        }
        Err(help) => {
            out::keep(help.print());
            Ok(Exit::Done)
        }
    };
    // A command that has done its work and could not say so has not done all of it.
    let outcome = outcome.and_then(|exit| match (exit, out::printed(out::end())) {
        (Exit::Done, Err(lost)) => Err(lost),
        _ => Ok(exit),
    });
    let exit = outcome.unwrap_or_else(|failure| {
        out::told(format!("error: {failure}"));
        match failure.exit {
            Exit::Interrupted => signals::exit(),
            exit => exit,
        }
    });
    exit as u8
}

fn command(command: &Command) -> Outcome {
    match command {
        Command::Build(args) => build::run(args),
        Command::Plan(args) => plan::run(args),
        Command::Run(args) => run::run(args),
        Command::Status(args) => status::run(args),
        Command::Finalize(args) => finalize::run(args),
        Command::Verify(args) => verify::run(args),
        Command::Index(args) => index::run(args),
        Command::Info(args) => info::run(args),
        Command::Ls(args) => ls::run(args),
        Command::Cat(args) => cat::run(args),
        Command::Unpack(args) => unpack::run(args),
        Command::Bench(args) => bench::run(args),
        Command::Doctor(args) => doctor::run(args),
    }
}
