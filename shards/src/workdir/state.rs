//! The state of an output folder: what is planned, finished, and published.
//!
//! Reads only, except for [`write_problems`].

use std::path::Path;

use tarflume_base::check::Content;
use tarflume_base::{Failure, Problem};
use tarflume_formats::message;
use tarflume_formats::message::{Call, Task};
use tarflume_formats::plan::PlanFoot;
use tarflume_formats::publish::{remove_if_exists, write_whole};
use tarflume_formats::{Index, Manifest, Plan, ShardRecord, files, index_path, read_manifest};

use super::staging::Staging;

/// Limit on the numbers of unfinished shards in a failure's message.
const NAMED: usize = 10;

/// The finished and the unfinished shards of a plan.
#[derive(Debug)]
pub struct Progress {
    /// Number of shards in the plan.
    pub total: usize,
    /// Numbers of the unfinished shards.
    pub missing: Vec<usize>,
    /// Records of the finished shards, in order.
    pub records: Vec<ShardRecord>,
}

impl Progress {
    /// Returns the failure of a command that needs every shard.
    pub fn unfinished(&self, out: &Path) -> Failure {
        let few: Vec<_> = self.missing.iter().take(NAMED).map(usize::to_string).collect();
        let more = if self.missing.len() > few.len() { ", ..." } else { "" };
        Failure::try_again(
            message!("{} of {} shards are not finished ({}{more}); pack them with `{run}`", self.missing.len(), self.total, few.join(", "); run = Call::of(Task::Run).on_path(out)),
        )
    }
}

/// Looks up the state of each shard of the plan.
///
/// # Errors
/// Returns an error if the operating system refuses to read a record or a shard.
pub fn progress(staging: &Staging, foot: &PlanFoot) -> Result<Progress, Failure> {
    let mut progress =
        Progress { total: foot.shards.len(), missing: Vec::new(), records: Vec::new() };
    for number in 0..foot.shards.len() {
        match staging.finished(foot, number)? {
            Some(record) => progress.records.push(record),
            None => progress.missing.push(number),
        }
    }
    Ok(progress)
}

/// Returns the manifest of the published data set; `None` if there is none.
///
/// # Errors
/// Returns an error if the manifest cannot be read or the operating system refuses.
pub fn published(staging: &Staging) -> Result<Option<Manifest>, Failure> {
    let path = staging.manifest_path();
    if !files::exists(&path)? {
        return Ok(None);
    }
    Ok(Some(read_manifest(&path)?))
}

/// Returns the blake3 of the manifest in hex.
///
/// # Errors
/// Returns an error if it cannot be read.
pub fn manifest_digest(staging: &Staging) -> Result<String, Failure> {
    let bytes = files::read_whole(&staging.manifest_path(), "read the manifest")?;
    Ok(blake3::hash(&bytes).to_hex().to_string())
}

/// Returns the names of the shards that an interrupted append adds to the data set; none if the working folder has no
/// plan of an append to the manifest as it is.
///
/// # Errors
/// Returns an error if the plan or the manifest cannot be read.
pub fn shards_of_append(staging: &Staging) -> Result<Vec<String>, Failure> {
    let Some(plan) = staging.existing_plan()? else { return Ok(Vec::new()) };
    let foot = plan.foot();
    match &foot.base {
        Some(base) if manifest_digest(staging)? == *base => {
            Ok(foot.shards.iter().map(|shard| shard.name.clone()).collect())
        }
        _ => Ok(Vec::new()),
    }
}

/// As [`published`], but `None` if the working folder holds the plan of another data set.
fn settled(staging: &Staging) -> Result<Option<Manifest>, Failure> {
    let Some(manifest) = published(staging)? else { return Ok(None) };
    let plan = staging.existing_plan()?;
    let other = plan.is_some_and(|plan| !manifest.has_plan(&plan.foot().content));
    Ok((!other).then_some(manifest))
}

/// The content of an output folder.
#[derive(Debug)]
pub enum OutputState {
    /// A data set. Its working folder may still exist.
    Published(Manifest),
    /// A plan that is not published.
    Planned(Plan),
}

/// Reads the content of an output folder, while other commands may publish it.
///
/// # Errors
/// Returns the errors of [`published`], and an error if the folder has neither a plan nor a data
/// set or the plan cannot be read.
pub fn output_state(staging: &Staging) -> Result<OutputState, Failure> {
    if let Some(manifest) = settled(staging)? {
        return Ok(OutputState::Published(manifest));
    }
    if let Some(plan) = staging.existing_plan()? {
        return Ok(OutputState::Planned(plan));
    }
    // `finalize` writes the manifest before it removes the plan: another command may have published
    // between the two lookups above.
    match settled(staging)? {
        Some(manifest) => Ok(OutputState::Published(manifest)),
        None => Ok(OutputState::Planned(staging.plan()?)),
    }
}

/// Returns true if the data set has JPEGs and no sidecar has entry points. JPEGs of some kinds
/// never have any.
///
/// # Errors
/// Returns an error if a sidecar cannot be opened.
pub fn lacks_entry_points(staging: &Staging, manifest: &Manifest) -> Result<bool, Failure> {
    let mut contents = manifest.extensions.keys().map(|ext| Content::of(ext.as_bytes()));
    if !contents.any(|content| content == Content::Jpeg) {
        return Ok(false);
    }
    for shard in &manifest.shards {
        if Index::open(index_path(staging.out().join(&shard.name)))?.has_entry_points() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Writes `problems.jsonl`, one object per line; removes an existing file if there are no problems.
///
/// # Errors
/// Returns an error if the operating system refuses.
pub fn write_problems(path: &Path, problems: &[serde_json::Value]) -> Result<(), Failure> {
    if problems.is_empty() {
        return Ok(remove_if_exists(path)?);
    }
    Ok(write_whole(path, Problem::lines(problems).as_bytes())?)
}
