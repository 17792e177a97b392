//! `pack sync`: copies a data set between folders and stores.

use std::path::PathBuf;

use tarflume_base::{Exit, Outcome, units};
use tarflume_formats::shown::ShowPath;
use tarflume_packer::sync::{Options, sync};

use crate::cli::arguments::args::Jobs;
use crate::cli::arguments::storage;
use crate::cli::features::HelpPart::{Always, With};
use crate::cli::features::{self, Feature, HelpPart};
use crate::cli::output::out::Bar;
use crate::signals;

const AFTER: &[HelpPart] = &[
    Always(
        "\
Examples:",
    ),
    With(
        Feature::Remote,
        "
  pack sync shards/ s3://bucket/photos           upload a data set
  pack sync s3://bucket/photos /local/photos     download it
  pack sync s3://bucket/photos s3://other/photos copy it, through this machine",
    ),
    Always(
        "

A shard is in its place if its tar has the length and its sidecar the digest of the manifest; it is
not copied again, so a command that was killed goes on. Each tar that is copied is compared with its
digest. dataset.json is written last. A target that has an earlier state of the same data set is
extended; another data set there is an error without --force.

Exit codes: 0 done   2 no data set, or another one in the target   65 bad data
            73 the system refuses   75 try again",
    ),
];

const ABOUT: &[HelpPart] =
    &[Always("Copy a data set between folders"), With(Feature::Remote, " and stores")];

const FROM: &[HelpPart] =
    &[Always("Folder"), With(Feature::Remote, " or URL"), Always(" of the data set")];

const TO: &[HelpPart] =
    &[Always("Folder"), With(Feature::Remote, " or URL"), Always(" to copy it to")];

/// The arguments of `pack sync`.
#[derive(Debug, clap::Args)]
#[command(about = features::text(ABOUT), after_help = features::text(AFTER))]
pub(in crate::cli) struct Args {
    #[arg(help = features::text(FROM), value_name = "FROM")]
    pub(in crate::cli) from: PathBuf,
    #[arg(help = features::text(TO), value_name = "TO")]
    to: PathBuf,
    /// Replace another data set in TO. Shards of other names stay
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    jobs: Jobs,
    /// Print errors only
    #[arg(long, short)]
    quiet: bool,
}

pub(in crate::cli) fn run(args: &Args) -> Outcome {
    let _ = signals::listen();
    let options = Options {
        jobs: args.jobs.count(),
        force: args.force,
        stop: signals::stop(),
        storage: storage::given().to_vec(),
    };
    let bar = Bar::new(args.quiet);
    let done = sync(&args.from, &args.to, &options, &|bytes| bar.advance(bytes))?;
    done.leftovers.notices().iter().for_each(|notice| print_message!("notice: {}", notice.text()));
    bar.end();
    if !args.quiet {
        let shards = units::counted(done.shards, "shard", "shards");
        let copied = units::count(done.copied);
        let bytes = units::bytes(done.bytes);
        print_result!("{}: {shards}, {copied} copied ({bytes})", args.to.shown());
    }
    Ok(Exit::Done)
}
