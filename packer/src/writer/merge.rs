//! Joins data sets that several writers made, such as the tasks of an engine, to one.
//!
//! The shards are moved, not copied. As in a build, the manifest is written last.

use std::fs;
use std::path::{Path, PathBuf};

use tarflume_base::compress::{COMPRESSED, PLAIN};
use tarflume_base::{Columns, Failure, Problems, Unplanned};
use tarflume_formats::message;
use tarflume_formats::publish::{Published, rename_new, sync_folder, write_whole};
use tarflume_formats::{
    Index, IrregularJpegs, Manifest, ShardRecord, files, index_path, read_manifest,
};
use tarflume_shards::clashes::{Shards, clashes};
use tarflume_shards::index::shard::ext_counts;
use tarflume_shards::workdir::staging::Staging;
use tarflume_shards::workdir::state::published;

use super::place::NO_PLAN;
use crate::build::finalize::move_all;
use crate::build::requests::options::check_prefix;
use crate::plan::naming::shard_name;

/// A shard of a part.
struct Shard {
    tar: PathBuf,
    record: ShardRecord,
    columns: Columns,
}

/// Makes one data set in the folder `out` of the data sets in the folders `parts`, which must be on the same file
/// system and are empty afterwards. The shards are in the order of the parts and get new numbers. Parts without a data
/// set are not allowed.
///
/// # Errors
/// Returns an error if `out` holds a data set, if two samples have the same key or keys that differ only in case, if a
/// part holds no data set, and if the operating system refuses. Nothing was moved then, unless the machine failed.
pub fn merge(out: &Path, parts: &[PathBuf], prefix: &str) -> Result<Manifest, Failure> {
    check_prefix(prefix)?;
    let staging = Staging::of(out);
    let lock = staging.lock()?;
    if published(&staging)?.is_some() {
        let text = message!("{path} holds a data set already; choose another folder"; path = out);
        return Err(Failure::usage(text).with_file(out));
    }
    let Parts { shards, mut unplanned } = found(parts, prefix)?;
    for Shard { tar, record, .. } in &shards {
        let place = staging.shards().join(&record.entry.name);
        for (from, to) in [(tar.clone(), place.clone()), (index_path(tar), index_path(&place))] {
            if rename_new(&from, &to)? == Published::AlreadyExists {
                return Err(Failure::usage(message!(
                    "{path} exists: an earlier merge was interrupted; choose another folder";
                    path = &to
                ))
                .with_file(to));
            }
        }
    }
    sync_folder(staging.shards())?;
    unplanned.columns = Columns::shared(shards.iter().map(|shard| &shard.columns));
    let mut manifest =
        move_all(&staging, shards.into_iter().map(|shard| shard.record).collect(), None)?;
    unplanned.state(&mut manifest);
    write_whole(staging.manifest_path(), &manifest.to_json())?;
    // What is left of the parts: their manifests.
    parts.iter().for_each(|part| drop(fs::remove_dir_all(part)));
    staging.remove()?;
    drop(lock);
    Ok(manifest)
}

/// The shards of all parts, and what holds for all of them but the columns.
struct Parts {
    shards: Vec<Shard>,
    unplanned: Unplanned,
}

/// Returns the shards of all parts with their new names, after the check of their keys.
fn found(parts: &[PathBuf], prefix: &str) -> Result<Parts, Failure> {
    let mut shards = Vec::new();
    let mut indexes = Vec::new();
    let mut manifests = Vec::with_capacity(parts.len());
    for part in parts {
        let path = part.join(tarflume_formats::manifest::FILE_NAME);
        if !files::exists(&path)? {
            let text = message!("{path} holds no data set"; path = part);
            return Err(Failure::usage(text).with_file(part));
        }
        let manifest = read_manifest(&path)?;
        for mut entry in manifest.shards.clone() {
            let tar = part.join(&entry.name);
            let index = Index::open(index_path(&tar))?;
            let number = shards.len() as u64;
            let is_packed = entry.name.ends_with(COMPRESSED);
            let ending = if is_packed { COMPRESSED } else { PLAIN };
            entry.name = shard_name(prefix, number, ending);
            let record = ShardRecord {
                plan: NO_PLAN.into(),
                shard: number,
                entry,
                entry_points: index.has_entry_points(),
                unsynced: false,
                extensions: ext_counts(&index)?,
                problems: Vec::new(),
                irregular_jpegs: IrregularJpegs::default(),
            };
            let columns = Columns::of(&index)?;
            indexes.push((tar.clone(), index));
            shards.push(Shard { tar, record, columns });
        }
        manifests.push(manifest);
    }
    if shards.is_empty() {
        return Err(Failure::usage("no part has a sample"));
    }
    let mut problems = Problems::default();
    clashes(&Shards::new(indexes), &mut problems)?;
    match problems.listed.first() {
        None => Ok(Parts { shards, unplanned: Unplanned::shared(&manifests) }),
        Some(first) => Err(Failure::bad_data(format!(
            "{} samples have keys that other samples have, too, such as {first}; give each sample a key of its own",
            problems.listed.len() as u64 + problems.unlisted
        ))),
    }
}
