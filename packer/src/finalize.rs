//! Finalizing: finished shards -> a published data set. The manifest is written last.
//!
//! It may be ended at any instant and run again: what was moved stays moved.

mod transfer;

use std::collections::BTreeMap;
use std::path::Path;

use tarflume_formats::dataset::read_manifest;
use tarflume_formats::files;
use tarflume_formats::plan::PlanFoot;
use tarflume_formats::publish::{Durability, remove_if_there, sync_folder, write_whole};
use tarflume_formats::record::ShardRecord;
use tarflume_formats::shard::index_path;
use tarflume_formats::{Index, Manifest, Plan};

use crate::check::Content;
use crate::failure::Failure;
use crate::planning::TOOL;
use crate::staging::Staging;
use tarflume_formats::shown::{self, ShowPath};

/// How far the shards of a plan are.
#[derive(Debug)]
pub struct Progress {
    /// Shards of the plan.
    pub total: usize,
    /// Numbers of those that are not finished.
    pub missing: Vec<usize>,
    /// The records of the others, in order.
    pub records: Vec<ShardRecord>,
}

/// Asks every shard of the plan whether it is finished.
///
/// # Errors
/// The operating system's refusal to say.
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

/// The manifest that was published here, if any.
///
/// # Errors
/// There is one, but it can't be read; whether there is one can't be asked.
pub fn published(staging: &Staging) -> Result<Option<Manifest>, Failure> {
    let path = staging.manifest_path();
    if !files::is_there(&path)? {
        return Ok(None);
    }
    Ok(Some(read_manifest(&path)?))
}

/// As [`published`], but `None` if the working folder holds the plan of another data set.
///
/// # Errors
/// As [`published`]; the plan can't be read.
pub fn settled(staging: &Staging) -> Result<Option<Manifest>, Failure> {
    let Some(manifest) = published(staging)? else { return Ok(None) };
    let plan = staging.plan_if_there()?;
    let other = plan.is_some_and(|plan| manifest.plan.as_ref() != Some(&plan.foot().content));
    Ok((!other).then_some(manifest))
}

/// What stands in an output folder.
#[derive(Debug)]
pub enum Standing {
    /// A data set, whose working folder may be left.
    Published(Manifest),
    /// A plan that is not published.
    Planned(Plan),
}

/// Says what stands in an output folder while other commands may publish it.
///
/// # Errors
/// There is neither a plan nor a data set; as [`settled`].
pub fn standing(staging: &Staging) -> Result<Standing, Failure> {
    if let Some(manifest) = settled(staging)? {
        return Ok(Standing::Published(manifest));
    }
    if let Some(plan) = staging.plan_if_there()? {
        return Ok(Standing::Planned(plan));
    }
    // The plan goes after the manifest came: it may have been published since it was asked for.
    match settled(staging)? {
        Some(manifest) => Ok(Standing::Published(manifest)),
        None => Ok(Standing::Planned(staging.plan()?)),
    }
}

/// True if JPEGs of this data set have no entry points, none of them: those of some kinds never have.
///
/// # Errors
/// A sidecar can't be opened.
pub fn lacks_entry_points(staging: &Staging, manifest: &Manifest) -> Result<bool, Failure> {
    let is_jpeg = |ext: &String| Content::of(ext.as_bytes()) == Content::Jpeg;
    if !manifest.extensions.keys().any(is_jpeg) {
        return Ok(false);
    }
    for shard in &manifest.shards {
        if Index::open(&index_path(&staging.out().join(&shard.name)))?.has_entry_points() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Publishes: moves shards out of the working folder, writes problems and manifest, sweeps.
///
/// With [`Durability::Synced`], shards that an attempt did not sync are read and synced first.
///
/// # Errors
/// Shards are missing (try again); all samples were left out; a sidecar is not what its record says; a
/// file of a shard's name stands in the way, or another data set; the operating system's refusal.
pub fn finalize(
    staging: &Staging,
    foot: &PlanFoot,
    durability: Durability,
) -> Result<Manifest, Failure> {
    if let Some(manifest) = published(staging)? {
        if manifest.plan.as_ref() != Some(&foot.content) {
            return Err(other_data_set(staging));
        }
        staging.remove_synced()?;
        return Ok(manifest);
    }
    let mut found = progress(staging, foot)?;
    if durability == Durability::Synced {
        found = secured(staging, found)?;
    }
    if !found.missing.is_empty() {
        return Err(missing(staging, &found));
    }
    let mut problems = foot.problems.clone();
    problems.extend(found.records.iter().flat_map(|record| record.problems.iter().cloned()));
    if found.records.iter().all(|record| record.entry.samples == 0) {
        write_problems(&staging.problems_path(), &problems)?;
        return Err(no_samples(staging, foot.samples));
    }
    // Before anything is moved: what is refused here leaves nothing half published.
    staging.sweep()?;
    let manifest = move_all(staging, found.records, Some(foot.content.clone()))?;
    write_problems(&staging.problems_path(), &problems)?;
    write_whole(&staging.manifest_path(), &manifest.to_json())?;
    staging.remove()?;
    Ok(manifest)
}

/// Makes all finished shards survive a power cut; those that did not survive one are missing.
fn secured(staging: &Staging, found: Progress) -> Result<Progress, Failure> {
    let mut progress = Progress { records: Vec::with_capacity(found.records.len()), ..found };
    for record in found.records {
        let number = record.shard as usize; // one of the plan's
        match staging.secured(record)? {
            Some(record) => progress.records.push(record),
            None => progress.missing.push(number),
        }
    }
    progress.missing.sort_unstable();
    Ok(progress)
}

/// Moves shards to where readers look for them, and gives the manifest that lists them. Each was found
/// there as its record says; empty ones are left out.
///
/// # Errors
/// A shard is gone, or not what its record says; a file of its name stands in the way; the operating
/// system's refusal.
pub fn move_all(
    staging: &Staging,
    records: Vec<ShardRecord>,
    plan: Option<String>,
) -> Result<Manifest, Failure> {
    let mut extensions: BTreeMap<String, u64> = BTreeMap::new();
    let mut entries = Vec::with_capacity(records.len());
    for record in records {
        if record.entry.samples == 0 {
            continue; // all of its samples were left out
        }
        transfer::move_out(staging, &record.entry)?;
        for (ext, parts) in record.extensions {
            *extensions.entry(ext).or_insert(0) += parts;
        }
        entries.push(record.entry);
    }
    sync_folder(staging.out())?;
    for entry in &entries {
        transfer::check(staging, entry)?;
    }
    Ok(Manifest::new(TOOL, plan, extensions, entries))
}

fn other_data_set(staging: &Staging) -> Failure {
    Failure::usage(format!(
        "{} holds another data set than the one that was planned; move that one away and finalize again",
        staging.out().shown()
    ))
}

fn no_samples(staging: &Staging, samples: u64) -> Failure {
    Failure::bad_data(format!(
        "all {samples} samples have problems, which {} lists; nothing was published; mend the files and \
         begin again with --fresh",
        staging.problems_path().shown()
    ))
}

fn missing(staging: &Staging, found: &Progress) -> Failure {
    let few: Vec<_> = found.missing.iter().take(10).map(usize::to_string).collect();
    let more = if found.missing.len() > few.len() { ", ..." } else { "" };
    Failure::try_again(format!(
        "{} of {} shards are not finished ({}{more}); pack them with `pack run {}`",
        found.missing.len(),
        found.total,
        few.join(", "),
        staging.out().shown()
    ))
}

/// Writes `problems.jsonl`, one object a line; removes an old one if there is nothing to tell.
///
/// # Errors
/// The operating system's refusal.
pub fn write_problems(path: &Path, problems: &[serde_json::Value]) -> Result<(), Failure> {
    if problems.is_empty() {
        return Ok(remove_if_there(path)?);
    }
    let mut lines = String::new();
    for problem in problems {
        lines.push_str(&shown::json(problem));
        lines.push('\n');
    }
    Ok(write_whole(path, lines.as_bytes())?)
}
