//! The options of `pack verify` about its rules: the policy, chosen rules, the baseline.

use std::path::{Path, PathBuf};

use tarflume_base::{Failure, ProblemKind};
use tarflume_formats::Durability;
use tarflume_formats::message;
use tarflume_formats::output::{OutputFile, OutputKind, contains};
use tarflume_verify::policy::{Baseline, Policy, find, rule};
use tarflume_verify::scope::Change;
use tarflume_verify::{Report, Rules};

use crate::cli::output::report_files::checked;

/// The rules of a verification.
#[derive(Debug, clap::Args)]
pub(super) struct PolicyArgs {
    /// Demand what FILE states: levels of rules, shares of parts, ranges of values, sizes, totals [default:
    /// pack.toml of the working directory, or of a folder above it in the repository]
    #[arg(long, value_name = "FILE", conflicts_with = "no_policy")]
    policy: Option<PathBuf>,
    /// Read no policy
    #[arg(long)]
    no_policy: bool,
    /// Report these rules alone; pack explain lists them
    #[arg(long, value_name = "RULE,...", value_delimiter = ',', value_parser = rule)]
    select: Vec<ProblemKind>,
    /// Leave these rules out
    #[arg(long, value_name = "RULE,...", value_delimiter = ',', value_parser = rule)]
    ignore: Vec<ProblemKind>,
    /// Know the problems in FILE, which --write-baseline wrote: only others fail
    #[arg(long, value_name = "FILE", conflicts_with = "write_baseline")]
    baseline: Option<PathBuf>,
    /// Write the problems to FILE for --baseline, and succeed
    #[arg(long, value_name = "FILE", conflicts_with_all = ["select", "ignore"])]
    write_baseline: Option<PathBuf>,
}

/// What `--write-baseline` writes.
const BASELINE: OutputKind = OutputKind {
    name: "a baseline that --write-baseline wrote",
    is: |bytes| contains(bytes, "\"tarflume_baseline\""),
};

impl PolicyArgs {
    /// Reads the policy and the baseline.
    ///
    /// # Errors
    /// Returns an error if one cannot be read.
    pub(super) fn rules(&self) -> Result<Rules, Failure> {
        let policy = self.policy()?;
        let stated = policy.as_ref().and_then(Policy::baseline);
        // A new baseline has all problems, also those that the one before has.
        let stated = stated.filter(|_| self.write_baseline.is_none());
        let baseline = self.baseline.as_deref().or(stated).map(Baseline::read).transpose()?;
        Ok(Rules::new(policy, self.select.clone(), self.ignore.clone(), baseline))
    }

    fn policy(&self) -> Result<Option<Policy>, Failure> {
        if self.no_policy {
            return Ok(None);
        }
        match &self.policy {
            Some(path) => Policy::read(path).map(Some),
            None => found()?.as_deref().map(Policy::read).transpose(),
        }
    }

    /// Checks that a baseline can be written, if one is asked for.
    ///
    /// # Errors
    /// Returns an error if it cannot.
    pub(super) fn output(&self) -> Result<Option<OutputFile>, Failure> {
        let path = self.write_baseline.as_deref();
        path.map(|path| checked("--write-baseline", path, BASELINE)).transpose()
    }
}

/// Returns what is verified: the given paths, or without any the data sets that the policy names.
///
/// # Errors
/// Returns an error if there is no path and no policy, or one that names no data set.
pub(super) fn paths(
    given: &[PathBuf],
    policy: Option<&Policy>,
    change: Option<&Change>,
) -> Result<Vec<PathBuf>, Failure> {
    match (change, policy) {
        _ if !given.is_empty() => Ok(given.to_vec()),
        // A list of files names the data sets itself.
        (Some(Change::Files(_)), _) => Ok(Vec::new()),
        (Some(Change::Paths), _) => {
            Err(Failure::usage("--changed takes the files that have changed: give their paths"))
        }
        (_, Some(policy)) => policy.set_paths(),
        (_, None) => {
            let text = "no path is given, and no pack.toml here or above names data sets in [sets]; give the path of a \
                        data set, or write a policy with `pack policy init DIR DIR`";
            Err(Failure::usage(text))
        }
    }
}

/// Returns the policy of the working directory.
///
/// # Errors
/// Returns an error if there is no working directory.
pub(in crate::cli::look) fn found() -> Result<Option<PathBuf>, Failure> {
    let here = std::env::current_dir()
        .map_err(|error| Failure::io(error, "find the working directory", Path::new(".")))?;
    let path = find(&here)?;
    Ok(path.map(|path| path.strip_prefix(&here).map(PathBuf::from).unwrap_or(path)))
}

/// Writes the problems of a report to a baseline. They are known then.
///
/// # Errors
/// Returns an error if it cannot be written, or if the report does not list all problems.
pub(super) fn write(file: &OutputFile, report: &mut Report) -> Result<(), Failure> {
    if report.unlisted > 0 {
        let text = message!(
            "--write-baseline {path}: there are more problems than are listed; repair the data set first, or turn a rule \
             off in pack.toml";
            path = file.path()
        );
        return Err(Failure::usage(text).with_file(file.path()));
    }
    let baseline = Baseline::of(&report.problems, report.level, file.path())?;
    file.write(baseline.to_text().as_bytes(), Durability::Synced)?;
    report.know_all();
    Ok(())
}
