//! The command line: one file per command, with its arguments, its help and its output.
//!
//! Parses and checks arguments; the work is done by the libraries, which print nothing.

use tarflume_base::{Exit, Outcome};

/// Prints a line of results: see [`output::out::print_result`].
macro_rules! print_result {
    ($($words:tt)*) => { $crate::cli::output::out::print_result(format_args!($($words)*)) };
}

/// Prints a line on stderr: see [`output::out::print_message`].
macro_rules! print_message {
    ($($words:tt)*) => { $crate::cli::output::out::print_message(format_args!($($words)*)) };
}

mod arguments;
mod features;
mod look;
mod manual;
mod measure;
mod output;
mod pack;
mod shards;
mod steps;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use self::features::HelpPart::{Always, With};
use self::features::{Feature, HelpPart};
use crate::signals;

/// Pack folders of images and JSON into WebDataset shards with a sidecar index, and verify shards
#[derive(Debug, Parser)]
#[command(name = "pack", version, about, max_term_width = 100, after_help = features::text(EXAMPLES))]
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// Set an option of the store of a URL: endpoint, region, profile, anonymous, requester_pays,
    /// allow_http, account, ...; repeatable [default: from the environment]
    #[arg(long, global = true, hide_short_help = true, value_name = "NAME=VALUE", value_parser = arguments::storage::parse,
          help_heading = "Stores", hide = Feature::Remote.is_missing())]
    storage: Vec<(String, String)>,
    /// Read tars on behind their end markers, as `tar --ignore-zeros` does: tars that were joined
    /// (cat a.tar b.tar), also compressed ones [default: bytes there are an error]
    #[arg(long, global = true, hide_short_help = true, help_heading = "Tars")]
    ignore_zeros: bool,
}

const EXAMPLES: &[HelpPart] = &[
    Always(
        "\
Examples:
  pack build photos/ -o shards/              pack a folder, check every file, publish
  pack append photos/ -o shards/             add new samples
  pack reshard a/ b/ -o both/                split, merge, shuffle and filter shards",
    ),
    With(
        Feature::Remote,
        "
  pack build photos/ -o s3://bucket/photos   pack into an object store",
    ),
    Always(
        "
  pack verify shards/                        check that nothing is missing or damaged (for CI)
  pack index old-shards/                     make index and manifest for tars of other tools
  pack view shards/                          photographs and charts in the browser
  pack diff main/ branch/                    samples that were added, removed and changed
  pack dedupe --near val/ train/             images that occur twice or look alike
  pack cat shards/ cats/001.json             print one part",
    ),
    With(
        Feature::Tokenizers,
        "
  pack tokens text/ -o tokens/ --tokenizer tokenizer.json --length 2048
                                             tokenize text and pack it into blocks",
    ),
    Always(
        "
  pack export shards/ --to mds -o mds/       write the format of another loader",
    ),
    With(
        Feature::Remote,
        "
  pack sync shards/ s3://bucket/photos       copy a data set, or what is new of it
  pack cache stat                            show the cache of this machine",
    ),
    Always(
        "
  pack bench shards/                         measure reading and decoding on this machine",
    ),
    With(
        Feature::Remote,
        "
  pack plan-epoch s3://bucket/photos         requests, bytes and cost of an epoch, before it runs",
    ),
    Always(
        "
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
  130  interrupted",
    ),
];

#[derive(Debug, Subcommand)]
enum Command {
    Build(pack::build::Args),
    Append(pack::append::Args),
    Reshard(pack::reshard::Args),
    Scan(pack::scan::Args),
    Plan(pack::plan::Args),
    Run(pack::run::Args),
    Status(pack::status::Args),
    Finalize(pack::finalize::Args),
    Slurm(pack::slurm::Args),
    Verify(look::verify::Args),
    Index(shards::index::Args),
    Info(look::info::Args),
    Ls(look::ls::Args),
    Stats(look::stats::Args),
    View(look::view::Args),
    Diff(look::diff::Args),
    Dedupe(look::dedupe::Args),
    Explain(look::explain::Args),
    Policy(look::policy::Args),
    Cat(look::cat::Args),
    Unpack(shards::unpack::Args),
    Tokens(pack::tokens::Args),
    Export(shards::export::Args),
    Sync(shards::sync::Args),
    Sign(shards::sign::Args),
    Repair(shards::repair::Args),
    #[cfg(feature = "remote")]
    Cache(shards::cache::Args),
    Bench(measure::bench::Args),
    PlanEpoch(measure::plan_epoch::Args),
    Doctor(measure::doctor::Args),
    Completions(manual::completions::Args),
    Man(manual::man::Args),
}

/// Runs the command line of the process.
pub fn main() -> ExitCode {
    run(std::env::args_os()).into()
}

/// Runs the command line `words`, which begins with the program's name; returns the exit code.
pub fn run(words: impl IntoIterator<Item = OsString>) -> u8 {
    tarflume_formats::panics::silence();
    output::out::begin();
    let words: Vec<OsString> = words.into_iter().collect();
    let name = name_of(&words);
    // The help takes most of the time of a start, and only a help or an error shows it: these are parsed again, with it.
    let parsed = Cli::command()
        .try_get_matches_from(&words)
        .or_else(|_| line().try_get_matches_from(&words));
    let outcome = match parsed.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => {
            arguments::storage::keep(&cli.storage);
            arguments::zeros::keep(cli.ignore_zeros);
            command(&cli.command, name)
        }
        Err(error) if error.use_stderr() => {
            let error = manual::wrong_words::advised(error, line(), &words);
            let _ = error.print(); // stderr may be closed
            return error.exit_code() as u8;
        }
        Err(help) => {
            output::out::keep(help.print());
            Ok(Exit::Done)
        }
    };
    // A command whose results did not reach stdout has not succeeded.
    let outcome = outcome.and_then(|exit| match (exit, output::out::printed(output::out::end())) {
        (Exit::Done, Err(lost)) => Err(lost),
        _ => Ok(exit),
    });
    let exit = outcome.unwrap_or_else(|failure| {
        output::out::print_wrapped(format!("error: {failure}"));
        match failure.exit() {
            Exit::Interrupted => signals::exit(),
            exit => exit,
        }
    });
    exit as u8
}

/// Returns the command line with its help.
fn line() -> clap::Command {
    manual::help::with_help(Cli::command())
}

/// Returns the name of this program from the first word of its command line.
fn name_of(words: &[OsString]) -> &'static str {
    let program = words.first().and_then(|word| Path::new(word).file_name());
    if program.is_some_and(|name| name == "tarflume") { "tarflume" } else { "pack" }
}

fn command(command: &Command, name: &'static str) -> Outcome {
    use self::arguments::places::Takes::{DataSets, Nested, Tars};
    match command {
        Command::Build(args) => {
            pack::build::run(args).map_err(|failure| args.source.misplaced(failure))
        }
        Command::Append(args) => pack::append::run(args).map_err(|failure| {
            let failure = arguments::places::no_source(&args.sources, &args.out, failure);
            arguments::places::no_data_set([&args.out], DataSets, failure)
        }),
        Command::Reshard(args) => pack::reshard::run(args).map_err(|failure| {
            arguments::places::no_shards(&args.sources, Tars, &args.out, failure)
        }),
        Command::Scan(args) => {
            pack::scan::run(args).map_err(|failure| args.source.misplaced(failure))
        }
        Command::Plan(args) => {
            pack::plan::run(args).map_err(|failure| args.source.misplaced(failure))
        }
        Command::Run(args) => pack::run::run(args),
        Command::Status(args) => pack::status::run(args),
        Command::Finalize(args) => pack::finalize::run(args),
        Command::Slurm(args) => {
            pack::slurm::run(args).map_err(|failure| args.source.misplaced(failure))
        }
        Command::Verify(args) => look::verify::run(args)
            .map_err(|failure| arguments::places::no_data_set(&args.paths, Nested, failure)),
        Command::Index(args) => shards::index::run(args)
            .map_err(|failure| arguments::places::no_data_set(&args.paths, Tars, failure)),
        Command::Info(args) => look::info::run(args)
            .map_err(|failure| arguments::places::no_data_set([&args.path], DataSets, failure)),
        Command::Ls(args) => look::ls::run(args)
            .map_err(|failure| arguments::places::no_data_set([&args.path], DataSets, failure)),
        Command::Stats(args) => look::stats::run(args)
            .map_err(|failure| arguments::places::no_data_set([&args.path], DataSets, failure)),
        Command::View(args) => look::view::run(args)
            .map_err(|failure| arguments::places::no_data_set([&args.path], DataSets, failure)),
        Command::Diff(args) => look::diff::run(args).map_err(|failure| {
            arguments::places::no_data_set([&args.before, &args.after], DataSets, failure)
        }),
        Command::Dedupe(args) => look::dedupe::run(args)
            .map_err(|failure| arguments::places::no_data_set(&args.paths, Tars, failure)),
        Command::Explain(args) => look::explain::run(args),
        Command::Policy(args) => look::policy::run(args)
            .map_err(|failure| arguments::places::no_data_set(args.paths(), DataSets, failure)),
        Command::Cat(args) => look::cat::run(args)
            .map_err(|failure| arguments::places::no_data_set([&args.path], DataSets, failure)),
        Command::Unpack(args) => shards::unpack::run(args)
            .map_err(|failure| arguments::places::no_data_set([&args.path], DataSets, failure)),
        Command::Tokens(args) => pack::tokens::run(args),
        Command::Export(args) => shards::export::run(args)
            .map_err(|failure| arguments::places::no_data_set([&args.path], DataSets, failure)),
        Command::Sync(args) => shards::sync::run(args)
            .map_err(|failure| arguments::places::no_data_set([&args.from], DataSets, failure)),
        Command::Sign(args) => shards::sign::run(args)
            .map_err(|failure| arguments::places::no_data_set(&args.folders, DataSets, failure)),
        Command::Repair(args) => shards::repair::run(args),
        #[cfg(feature = "remote")]
        Command::Cache(args) => shards::cache::run(args),
        Command::Bench(args) => measure::bench::run(args)
            .map_err(|failure| arguments::places::no_data_set([&args.path], DataSets, failure)),
        Command::PlanEpoch(args) => measure::plan_epoch::run(args)
            .map_err(|failure| arguments::places::no_data_set([&args.path], DataSets, failure)),
        Command::Doctor(args) => measure::doctor::run(args),
        Command::Completions(args) => manual::completions::run(args, line(), name),
        Command::Man(args) => manual::man::run(args, line(), name),
    }
}
