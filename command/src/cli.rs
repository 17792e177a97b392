//! The command line: one file per command, with its arguments, its help and its output.
//!
//! Parses and checks arguments; the work is done by the libraries, which print nothing.

use tarflume_base::{Exit, Outcome};

/// Prints a line of results: see [`out::print_result`].
macro_rules! print_result {
    ($($words:tt)*) => { $crate::cli::out::print_result(format_args!($($words)*)) };
}

/// Prints a line on stderr: see [`out::print_message`].
macro_rules! print_message {
    ($($words:tt)*) => { $crate::cli::out::print_message(format_args!($($words)*)) };
}

mod append;
mod args;
mod bench;
mod browser;
mod build;
#[cfg(feature = "remote")]
mod cache;
mod cat;
mod completions;
mod dedupe;
mod diff;
mod doctor;
mod export;
mod features;
mod finalize;
mod help;
mod image_args;
mod index;
mod info;
mod ls;
mod man;
mod out;
mod packing;
mod pictures;
mod places;
mod plan;
mod plan_epoch;
mod preparation;
mod progress;
mod reshard;
mod run;
mod scan;
mod slurm;
mod source_args;
mod stats;
mod status;
mod storage;
mod summary;
mod sync;
mod tokens;
mod unpack;
mod verify;
mod view;
mod wrong_words;
mod zeros;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::signals;

/// Pack folders of images and JSON into WebDataset shards with a sidecar index, and verify shards
#[derive(Debug, Parser)]
#[command(name = "pack", version, about, max_term_width = 100, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// Set an option of the store of a URL: endpoint, region, profile, anonymous, requester_pays,
    /// allow_http, account, ...; repeatable [default: from the environment]
    #[arg(long, global = true, hide_short_help = true, value_name = "NAME=VALUE", value_parser = storage::parse,
          help_heading = "Stores")]
    storage: Vec<(String, String)>,
    /// Read tars on behind their end markers, as `tar --ignore-zeros` does: tars that were joined
    /// (cat a.tar b.tar), also compressed ones [default: bytes there are an error]
    #[arg(long, global = true, hide_short_help = true, help_heading = "Tars")]
    ignore_zeros: bool,
}

const EXAMPLES: &str = "\
Examples:
  pack build photos/ -o shards/              pack a folder, check every file, publish
  pack append photos/ -o shards/             add new samples
  pack reshard a/ b/ -o both/                split, merge, shuffle and filter shards
  pack build photos/ -o s3://bucket/photos   pack into an object store
  pack verify shards/                        check that nothing is missing or damaged (for CI)
  pack index old-shards/                     make index and manifest for tars of other tools
  pack view shards/                          photographs and charts in the browser
  pack diff main/ branch/                    samples that were added, removed and changed
  pack dedupe --near val/ train/             images that occur twice or look alike
  pack cat shards/ cats/001.json             print one part
  pack tokens text/ -o tokens/ --tokenizer tokenizer.json --length 2048
                                             tokenize text and pack it into blocks
  pack export shards/ --to mds -o mds/       write the format of another loader
  pack sync shards/ s3://bucket/photos       copy a data set, or what is new of it
  pack cache stat                            show the cache of this machine
  pack bench shards/                         measure reading and decoding on this machine
  pack plan-epoch s3://bucket/photos         requests, bytes and cost of an epoch, before it runs
  pack doctor                                check that this machine can feed its GPUs

The command is also installed as `tarflume`.

Exit codes:
  0    done
  1    problems found
  2    wrong usage, or the named file or data set does not exist
  65   bad data: a second try gives the same result
  73   the system refuses (read-only, no permission): remove the cause first
  75   try again: the machine failed (full disk, I/O error, open files, threads),
       or other machines are not finished
  130  interrupted";

#[derive(Debug, Subcommand)]
enum Command {
    Build(build::Args),
    Append(append::Args),
    Reshard(reshard::Args),
    Scan(scan::Args),
    Plan(plan::Args),
    Run(run::Args),
    Status(status::Args),
    Finalize(finalize::Args),
    Slurm(slurm::Args),
    Verify(verify::Args),
    Index(index::Args),
    Info(info::Args),
    Ls(ls::Args),
    Stats(stats::Args),
    View(view::Args),
    Diff(diff::Args),
    Dedupe(dedupe::Args),
    Cat(cat::Args),
    Unpack(unpack::Args),
    Tokens(tokens::Args),
    Export(export::Args),
    Sync(sync::Args),
    #[cfg(feature = "remote")]
    Cache(cache::Args),
    Bench(bench::Args),
    PlanEpoch(plan_epoch::Args),
    Doctor(doctor::Args),
    Completions(completions::Args),
    Man(man::Args),
}

/// Runs the command line of the process.
pub fn main() -> ExitCode {
    run(std::env::args_os()).into()
}

/// Runs the command line `words`, which begins with the program's name; returns the exit code.
pub fn run(words: impl IntoIterator<Item = OsString>) -> u8 {
    tarflume_formats::panics::silence();
    out::begin();
    let words: Vec<OsString> = words.into_iter().collect();
    let name = name_of(&words);
    let parsed = line().try_get_matches_from(&words);
    let outcome = match parsed.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => {
            storage::keep(&cli.storage);
            zeros::keep(cli.ignore_zeros);
            command(&cli.command, name)
        }
        Err(error) if error.use_stderr() => {
            let error = wrong_words::advised(error, line(), &words);
            let _ = error.print(); // stderr may be closed
            return error.exit_code() as u8;
        }
        Err(help) => {
            out::keep(help.print());
            Ok(Exit::Done)
        }
    };
    // A command whose results did not reach stdout has not succeeded.
    let outcome = outcome.and_then(|exit| match (exit, out::printed(out::end())) {
        (Exit::Done, Err(lost)) => Err(lost),
        _ => Ok(exit),
    });
    let exit = outcome.unwrap_or_else(|failure| {
        out::print_wrapped(format!("error: {failure}"));
        match failure.exit() {
            Exit::Interrupted => signals::exit(),
            exit => exit,
        }
    });
    exit as u8
}

/// Returns the command line with its help.
fn line() -> clap::Command {
    help::with_help(Cli::command())
}

/// Returns the name of this program from the first word of its command line.
fn name_of(words: &[OsString]) -> &'static str {
    let program = words.first().and_then(|word| Path::new(word).file_name());
    if program.is_some_and(|name| name == "tarflume") { "tarflume" } else { "pack" }
}

fn command(command: &Command, name: &'static str) -> Outcome {
    use self::places::Takes::{DataSets, Tars};
    match command {
        Command::Build(args) => build::run(args).map_err(|failure| args.source.misplaced(failure)),
        Command::Append(args) => append::run(args).map_err(|failure| {
            let failure = places::no_source(&args.sources, &args.out, failure);
            places::no_data_set([&args.out], DataSets, failure)
        }),
        Command::Reshard(args) => reshard::run(args)
            .map_err(|failure| places::no_shards(&args.sources, Tars, &args.out, failure)),
        Command::Scan(args) => scan::run(args).map_err(|failure| args.source.misplaced(failure)),
        Command::Plan(args) => plan::run(args).map_err(|failure| args.source.misplaced(failure)),
        Command::Run(args) => run::run(args),
        Command::Status(args) => status::run(args),
        Command::Finalize(args) => finalize::run(args),
        Command::Slurm(args) => slurm::run(args).map_err(|failure| args.source.misplaced(failure)),
        Command::Verify(args) => {
            verify::run(args).map_err(|failure| places::no_data_set(&args.paths, Tars, failure))
        }
        Command::Index(args) => {
            index::run(args).map_err(|failure| places::no_data_set(&args.paths, Tars, failure))
        }
        Command::Info(args) => {
            info::run(args).map_err(|failure| places::no_data_set([&args.path], DataSets, failure))
        }
        Command::Ls(args) => {
            ls::run(args).map_err(|failure| places::no_data_set([&args.path], DataSets, failure))
        }
        Command::Stats(args) => {
            stats::run(args).map_err(|failure| places::no_data_set([&args.path], DataSets, failure))
        }
        Command::View(args) => {
            view::run(args).map_err(|failure| places::no_data_set([&args.path], DataSets, failure))
        }
        Command::Diff(args) => diff::run(args)
            .map_err(|failure| places::no_data_set([&args.before, &args.after], DataSets, failure)),
        Command::Dedupe(args) => {
            dedupe::run(args).map_err(|failure| places::no_data_set(&args.paths, Tars, failure))
        }
        Command::Cat(args) => {
            cat::run(args).map_err(|failure| places::no_data_set([&args.path], DataSets, failure))
        }
        Command::Unpack(args) => unpack::run(args)
            .map_err(|failure| places::no_data_set([&args.path], DataSets, failure)),
        Command::Tokens(args) => tokens::run(args),
        Command::Export(args) => export::run(args)
            .map_err(|failure| places::no_data_set([&args.path], DataSets, failure)),
        Command::Sync(args) => {
            sync::run(args).map_err(|failure| places::no_data_set([&args.from], DataSets, failure))
        }
        #[cfg(feature = "remote")]
        Command::Cache(args) => cache::run(args),
        Command::Bench(args) => {
            bench::run(args).map_err(|failure| places::no_data_set([&args.path], DataSets, failure))
        }
        Command::PlanEpoch(args) => plan_epoch::run(args)
            .map_err(|failure| places::no_data_set([&args.path], DataSets, failure)),
        Command::Doctor(args) => doctor::run(args),
        Command::Completions(args) => completions::run(args, line(), name),
        Command::Man(args) => man::run(args, line(), name),
    }
}
