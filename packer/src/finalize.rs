//! Finalizing: finished shards -> a published data set. The manifest is written last.
//!
//! It may be ended at any instant and run again: what was moved stays moved.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use tarflume_formats::dataset::read_manifest;
use tarflume_formats::plan::PlanFoot;
use tarflume_formats::publish::{Published, rename_new, sync_folder, write_whole};
use tarflume_formats::record::ShardRecord;
use tarflume_formats::shard::index_path;
use tarflume_formats::{Index, Manifest};

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
pub fn progress(staging: &Staging, foot: &PlanFoot) -> Progress {
    let mut progress =
        Progress { total: foot.shards.len(), missing: Vec::new(), records: Vec::new() };
    for number in 0..foot.shards.len() {
        match staging.finished(foot, number) {
            Some(record) => progress.records.push(record),
            None => progress.missing.push(number),
        }
    }
    progress
}

/// The manifest that was published here, if any.
///
/// # Errors
/// There is one, but it can't be read.
pub fn published(staging: &Staging) -> Result<Option<Manifest>, Failure> {
    let path = staging.manifest_path();
    if !path.exists() {
        return Ok(None);
    }
    Ok(Some(read_manifest(&path)?))
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
/// # Errors
/// Shards are missing (try again); a sidecar is not what its record says; a file of a shard's name
/// stands in the way; the operating system's refusal.
pub fn finalize(staging: &Staging, foot: &PlanFoot) -> Result<Manifest, Failure> {
    let found = progress(staging, foot);
    if !found.missing.is_empty() {
        return Err(missing(staging, &found));
    }
    let mut extensions: BTreeMap<String, u64> = BTreeMap::new();
    let mut entries = Vec::with_capacity(found.records.len());
    let mut problems = foot.problems.clone();
    for record in found.records {
        problems.extend(record.problems);
        if record.entry.samples == 0 {
            continue; // all of its samples were left out
        }
        move_out(staging, &record.entry.name, &record.entry.index_blake3)?;
        for (ext, parts) in record.extensions {
            *extensions.entry(ext).or_insert(0) += parts;
        }
        entries.push(record.entry);
    }
    sync_folder(staging.out())?;
    staging.sweep()?; // before the manifest: once that stands, nobody sweeps again
    write_problems(&staging.problems_path(), &problems)?;
    let manifest = Manifest::new(TOOL, Some(foot.content.clone()), extensions, entries);
    write_whole(&staging.manifest_path(), &manifest.to_json())?;
    staging.remove()?;
    Ok(manifest)
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

/// Moves one shard to where readers look for it: the tar first, the sidecar last.
///
/// # Errors
/// As [`finalize`].
pub fn move_out(staging: &Staging, name: &str, index_blake3: &str) -> Result<(), Failure> {
    let (from, to) = (staging.shards().join(name), staging.out().join(name));
    let index = if index_path(&from).exists() { index_path(&from) } else { index_path(&to) };
    if Index::open(&index)?.digest().to_hex().as_str() != index_blake3 {
        return Err(Failure::bad_data(format!(
            "{}: the sidecar is not what its record says; remove {} and run again",
            index.shown(),
            staging.record_path(name).shown()
        )));
    }
    for (from, to) in [(from.clone(), to.clone()), (index_path(&from), index_path(&to))] {
        if !from.exists() {
            continue; // moved by an earlier attempt
        }
        if rename_new(&from, &to)? == Published::AlreadyThere {
            return Err(Failure::bad_data(format!(
                "{} stands in the way of a shard of this data set; move it away and finalize again",
                to.shown()
            )));
        }
    }
    Ok(())
}

/// Writes `problems.jsonl`, one object a line; removes an old one if there is nothing to tell.
///
/// # Errors
/// The operating system's refusal.
pub fn write_problems(path: &Path, problems: &[serde_json::Value]) -> Result<(), Failure> {
    if problems.is_empty() {
        return match fs::remove_file(path) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                Err(Failure::io(e, "remove the old list of problems", path))
            }
            _ => Ok(()),
        };
    }
    let mut lines = String::new();
    for problem in problems {
        lines.push_str(&shown::json(problem));
        lines.push('\n');
    }
    Ok(write_whole(path, lines.as_bytes())?)
}
