//! What reports of a build say beside its result: problems of contents, columns without values, advice.

use std::path::Path;

use tarflume_base::Failure;
use tarflume_base::check::CheckLevel;
use tarflume_formats::message;
use tarflume_formats::message::{Face, Message, Name};
use tarflume_formats::{Manifest, Plan, open_index};
use tarflume_shards::index::values;
use tarflume_shards::workdir::staging::Staging;
use tarflume_shards::workdir::state::write_problems;

use super::prepare::Scanned;
use crate::build::requests::request::Request;
use crate::run::look::look;
use crate::run::options::RunOptions;
use crate::run::{RunCounter, RunReport};

/// Checks the contents of a plan that is not run, so that one report has all problems; does nothing
/// if contents are not to be checked. Adds the problems to those of the scan, and to the list in
/// the output folder.
///
/// # Errors
/// Returns an error for a failure of the machine, if the list of problems cannot be written, and
/// after an interruption.
pub(crate) fn look_at_contents(
    request: &Request,
    plan: &Plan,
    scanned: &mut Scanned,
    counter: &RunCounter,
) -> Result<(), Failure> {
    let mut options =
        RunOptions::of_plan(plan.foot(), request.policy, request.jobs, request.roots.clone())?;
    if options.checks.level == CheckLevel::None || (request.dry_run && !request.look) {
        return Ok(());
    }
    options.stop = request.stop.clone();
    let found = look(plan, &options, counter)?;
    scanned.unlisted = found.unlisted;
    if found.is_empty() {
        return Ok(());
    }
    scanned.problems.extend(found.listed);
    if !request.dry_run {
        let values: Vec<_> =
            scanned.problems.iter().map(|problem| problem.to_value(Face::Command)).collect();
        write_problems(&Staging::of(&request.out).problems_path(), &values)?;
    }
    Ok(())
}

/// Returns the typed columns of a published data set in which no sample has a value: their fields may be misspelt.
///
/// # Errors
/// Returns an error if a sidecar cannot be read.
pub(crate) fn empty_columns(out: &Path, manifest: &Manifest) -> Result<Vec<String>, Failure> {
    if manifest.sidecar_columns.is_empty() {
        return Ok(Vec::new());
    }
    let mut empty: Option<Vec<String>> = None;
    for entry in manifest.shards.iter().filter(|entry| entry.samples > 0) {
        let missing = values::missing(&open_index(out, entry)?)?;
        match &mut empty {
            None => empty = Some(missing),
            Some(empty) => empty.retain(|name| missing.contains(name)),
        }
        if empty.as_ref().is_some_and(Vec::is_empty) {
            break;
        }
    }
    Ok(empty.into_iter().flatten().collect())
}

/// Returns the advice after a refused scan.
pub fn mend(scanned: &Scanned) -> Message {
    match &scanned.lacks_json {
        Some(advice) => message!("nothing was packed; {advice}"; advice = advice),
        None => {
            message!("nothing was packed; fix the files, or leave them out with {on_problem}"; on_problem = Name::OnProblem.any_of(&["skip", "quarantine"]))
        }
    }
}

/// Advice after a refused run.
pub fn kept(ran: &RunReport) -> Message {
    message!("nothing was published; {} kept. To leave the bad samples out, run the same command with \
             {on_problem}; after fixing the files, with {fresh}", tarflume_base::units::counted(ran.packed + ran.skipped, "finished shard is", "finished shards are"); on_problem = Name::OnProblem.any_of(&["skip", "quarantine"]), fresh = Name::Fresh.on())
}
