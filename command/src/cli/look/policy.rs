//! `pack policy`: writes and checks `pack.toml`, what a repository demands of its data sets.

mod init;

use std::path::{Path, PathBuf};

use clap::Subcommand;
use tarflume_base::{Exit, Failure, Outcome};
use tarflume_formats::files;
use tarflume_formats::message;
use tarflume_formats::output::{OutputFile, OutputKind, contains};
use tarflume_formats::{Durability, shown};
use tarflume_verify::policy::{Date, FILE_NAME, Policy};

use super::verify::policy::found;
use crate::cli::arguments::args::Jobs;
use crate::cli::features::or_url;

const AFTER: &str = "\
Examples:
  pack policy init shards/                   write pack.toml with the numbers of today, and some room
  pack policy init data/train data/val       a table of bounds for each data set
  pack policy check                          pack.toml of the repository
  pack verify shards/                        demands what pack.toml states

pack.toml is found in the working directory, or in a folder above it up to the one with .git. It is not looked
for beside the data: what is downloaded must not decide how it is judged. docs/POLICY.md has all tables.

Exit codes: 0 done   2 the policy has a fault, or a file is there already   65 bad data   75 try again";

/// Write and check pack.toml: what a repository demands of its data sets
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER)]
pub(in crate::cli) struct Args {
    #[command(subcommand)]
    pub(in crate::cli) task: Task,
}

impl Args {
    /// Returns the data sets that are named.
    pub(in crate::cli) fn paths(&self) -> &[PathBuf] {
        match &self.task {
            Task::Init(args) => &args.paths,
            Task::Check(_) => &[],
        }
    }
}

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum Task {
    /// Write a policy with the numbers of today
    Init(InitArgs),
    /// Check that a policy can be read
    Check(CheckArgs),
}

/// What `pack policy init` measures.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct InitArgs {
    /// Data sets
    #[arg(required = true, value_name = or_url("DIR|URL", "DIR"))]
    pub(in crate::cli) paths: Vec<PathBuf>,
    /// Write the policy to this file
    #[arg(long, short, value_name = "FILE", default_value = FILE_NAME)]
    out: PathBuf,
    /// Leave this much room around the numbers of today
    #[arg(long, value_name = "PERCENT", default_value = "5%", value_parser = percent)]
    tolerance: f64,
    #[command(flatten)]
    jobs: Jobs,
}

/// The policy that `pack policy check` reads.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct CheckArgs {
    /// The policy [default: pack.toml of the working directory, or of a folder above it in the repository]
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
}

const POLICY: OutputKind = OutputKind { name: "a policy", is: |bytes| contains(bytes, "[total]") };

fn percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim().parse::<f64>().ok();
    number
        .filter(|percent| (0.0..=100.0).contains(percent))
        .ok_or_else(|| "expected a percentage from 0 to 100, such as 5%".into())
}

pub(in crate::cli) fn run(args: &Args) -> Outcome {
    match &args.task {
        Task::Init(args) => init(args),
        Task::Check(args) => check(args),
    }
}

fn init(args: &InitArgs) -> Outcome {
    if files::exists(&args.out)? {
        let text = message!(
            "{out} is there already, and what it demands was decided by someone: remove it first, or write another file with -o";
            out = args.out.as_path()
        );
        return Err(Failure::usage(text).with_file(&args.out));
    }
    let file = OutputFile::new(&args.out, POLICY)?;
    let text = init::policy(&args.paths, &args.out, args.tolerance, args.jobs.count())?;
    // What is written can be read.
    Policy::parse(&args.out, &text)?;
    file.write(text.as_bytes(), Durability::Synced)?;
    print_result!(
        "{} is written. Look at what it demands before you commit it:",
        shown::text(&args.out.display().to_string())
    );
    for line in text.lines().skip(1).filter(|line| !line.is_empty()) {
        print_result!("  {line}");
    }
    Ok(Exit::Done)
}

fn check(args: &CheckArgs) -> Outcome {
    let path = match &args.file {
        Some(path) => path.clone(),
        None => found()?.ok_or_else(|| {
            Failure::usage("there is no pack.toml here or above; `pack policy init DIR` writes one")
        })?,
    };
    let policy = Policy::read(&path)?;
    policy.check_words()?;
    print_result!("{}: {}", shown_path(policy.path()), policy.summary());
    for line in policy.ended(Date::today()) {
        print_message!("warning: {}: the date of this acceptance has passed", policy.line(line));
    }
    Ok(Exit::Done)
}

fn shown_path(path: &Path) -> String {
    shown::text(&path.display().to_string()).into_owned()
}
