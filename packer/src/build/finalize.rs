//! Finalizing: finished shards -> a published data set. The manifest is written last.
//!
//! It can be interrupted at any instant and repeated: files that were moved stay moved.

mod transfer;

use std::collections::BTreeMap;

use tarflume_base::{Columns, Failure};
use tarflume_formats::manifest::{self, Appended};
use tarflume_formats::message;
use tarflume_formats::message::Name;
use tarflume_formats::plan::PlanFoot;
use tarflume_formats::publish::{Durability, sync_folder, write_whole};
use tarflume_formats::shown::ShowPath;
use tarflume_formats::{Manifest, ShardRecord};
use tarflume_shards::workdir::staging::Staging;
use tarflume_shards::workdir::state::{
    Progress, manifest_digest, progress, published, write_problems,
};

use crate::plan::TOOL;

/// Publishes the data set: moves shards out of the working folder, writes problems and manifest,
/// and removes the working folder.
///
/// With [`Durability::Synced`], shards that an attempt did not sync are read and synced first.
///
/// # Errors
/// Returns an error if shards are missing (try again), all samples were left out, a sidecar differs
/// from its record, the output folder holds another data set or a foreign file with the name of a
/// shard, or the operating system refuses.
pub(crate) fn finalize(
    staging: &Staging,
    foot: &PlanFoot,
    durability: Durability,
) -> Result<Manifest, Failure> {
    let before = match (published(staging)?, &foot.base) {
        (Some(manifest), _) if manifest.has_plan(&foot.content) => {
            staging.remove_synced()?;
            return Ok(manifest);
        }
        (Some(manifest), Some(base)) if manifest_digest(staging)? == *base => Some(manifest),
        (None, None) => None,
        (Some(_), _) => return Err(other_data_set(staging)),
        (None, Some(_)) => return Err(no_data_set(staging)),
    };
    let mut found = progress(staging, foot)?;
    if durability == Durability::Synced {
        found = secured(staging, found)?;
    }
    if !found.missing.is_empty() {
        return Err(found.unfinished(staging.out()));
    }
    let mut problems = foot.problems.clone();
    problems.extend(found.records.iter().flat_map(|record| record.problems.iter().cloned()));
    if found.records.iter().all(|record| record.entry.samples == 0) {
        write_problems(&staging.problems_path(), &problems)?;
        return Err(no_samples(staging, foot.samples));
    }
    // Before anything is moved: an error here leaves nothing half published.
    staging.sweep()?;
    let mut manifest = move_all(staging, found.records, Some(foot.content.clone()))?;
    manifest.about.clone_from(&foot.about);
    manifest.options = Some(foot.options.clone());
    manifest.sidecar_columns = Columns::of_plan(foot)?.texts();
    if let Some(before) = before {
        manifest = joined(before, manifest, &foot.content);
    }
    write_problems(&staging.problems_path(), &problems)?;
    write_whole(staging.manifest_path(), &manifest.to_json())?;
    staging.remove()?;
    Ok(manifest)
}

/// Returns the manifest of a data set with the shards of one more build, whose plan has the content
/// hash `plan`.
fn joined(mut all: Manifest, added: Manifest, plan: &str) -> Manifest {
    all.tool = added.tool;
    all.samples += added.samples;
    all.bytes += added.bytes;
    for (ext, parts) in added.extensions {
        *all.extensions.entry(ext).or_insert(0) += parts;
    }
    all.about = added.about;
    all.sidecar_columns.retain(|column| added.sidecar_columns.contains(column));
    all.appended.push(Appended {
        plan: plan.into(),
        shards: added.shards.len() as u64,
        provenance: manifest::stated_of(added.options.as_ref()),
    });
    all.shards.extend(added.shards);
    all
}

/// Syncs all finished shards to disk; shards that a power failure damaged are then reported as
/// missing.
fn secured(staging: &Staging, found: Progress) -> Result<Progress, Failure> {
    let mut progress = Progress { records: Vec::with_capacity(found.records.len()), ..found };
    for record in found.records {
        let number = record.shard as usize; // a shard number of the plan
        match staging.secured(record)? {
            Some(record) => progress.records.push(record),
            None => progress.missing.push(number),
        }
    }
    progress.missing.sort_unstable();
    Ok(progress)
}

/// Moves shards to the output folder and returns the manifest that lists them. Each moved file is
/// compared with its record; empty shards are left out.
///
/// # Errors
/// Returns an error if a shard is missing or differs from its record, another file has its name, or
/// the operating system refuses.
pub(crate) fn move_all(
    staging: &Staging,
    records: Vec<ShardRecord>,
    plan: Option<String>,
) -> Result<Manifest, Failure> {
    let manifest = manifest_of(records, plan);
    for entry in &manifest.shards {
        transfer::move_out(staging, entry)?;
    }
    sync_folder(staging.out())?;
    for entry in &manifest.shards {
        transfer::check(staging, entry)?;
    }
    Ok(manifest)
}

/// Returns the manifest of finished shards; empty shards are left out.
pub(crate) fn manifest_of(records: Vec<ShardRecord>, plan: Option<String>) -> Manifest {
    let mut extensions: BTreeMap<String, u64> = BTreeMap::new();
    let mut entries = Vec::with_capacity(records.len());
    // A shard without samples: all of them were left out.
    for record in records.into_iter().filter(|record| record.entry.samples > 0) {
        for (ext, parts) in record.extensions {
            *extensions.entry(ext).or_insert(0) += parts;
        }
        entries.push(record.entry);
    }
    Manifest::new(TOOL, plan, extensions, entries)
}

fn other_data_set(staging: &Staging) -> Failure {
    Failure::usage(message!(
        "{path} holds another data set than the one that was planned; move that one away and \
         finalize again";
        path = staging.out()
    ))
    .with_file(staging.out())
}

fn no_data_set(staging: &Staging) -> Failure {
    Failure::usage(message!(
        "the data set in {out} that was to get more shards is gone; put its dataset.json back, or remove the \
         folder .pack there";
        out = staging.out()
    ))
    .with_file(staging.out())
}

fn no_samples(staging: &Staging, samples: u64) -> Failure {
    Failure::bad_data(
        message!("all {samples} samples have problems, which {} lists; nothing was published; fix the files and \
             start over with {fresh}", staging.problems_path().shown(); fresh = Name::Fresh.on()),
    )
    .with_file(staging.problems_path())
}
