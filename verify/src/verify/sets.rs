//! Groups shards into sets: the shards of a folder are one set, all shards named one by one are
//! another. A set has one list of keys.
//!
//! `nested` finds the sets below a folder without shards, `chosen` those that a change touches, and `wants` says what is
//! read of each shard.

pub(crate) mod chosen;
mod nested;
pub(crate) mod wants;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tarflume_base::check::CheckLevel;
use tarflume_base::{Exit, Failure, Problem, ProblemKind, check_of, json_rules, packed_shard};
use tarflume_formats::json::JsonRules;
use tarflume_formats::manifest::{FILE_NAME, Manifest, ShardEntry};
use tarflume_formats::message;
use tarflume_formats::message::{Call, Name, Task};
use tarflume_formats::publish::folder_of;
use tarflume_formats::{About, files, read_manifest};
use tarflume_shards::index::{Indexed, folder, is_folder};
use tarflume_shards::kinds;
use tarflume_shards::remote_folder::RemoteFolder;
use tarflume_shards::workdir::staging::Staging;
use tarflume_shards::workdir::state::shards_of_append;

use super::options::Options;
use crate::pointers::dvc;
use crate::scope::runs::Want;
use crate::signature;

/// A tar to be verified.
#[derive(Debug)]
pub(crate) struct Target {
    /// The tar.
    pub tar: PathBuf,
    /// Its entry in the manifest; `None` if no manifest lists it.
    pub entry: Option<ShardEntry>,
    /// The store that `tar` is copied from.
    pub remote: Option<Arc<RemoteFolder>>,
    /// What of it is read.
    pub want: Want,
}

/// Tars whose keys must differ.
#[derive(Debug, Default)]
pub(crate) struct Set {
    /// The folder, or its URL; `None` for tars that were named one by one.
    pub place: Option<PathBuf>,
    /// The tars, in the order of the manifest.
    pub targets: Vec<Target>,
    /// The problems of the manifest.
    pub problems: Vec<Problem>,
    /// Which texts are JSON by the rules with which the data set was packed.
    pub json: JsonRules,
    /// The classes and columns that the manifest states.
    pub about: Option<About>,
    /// How its parts were checked when they were packed; `None` if that is not known.
    pub check: Option<CheckLevel>,
    /// Number of shards beside them that an interrupted append has moved here.
    pub shards_of_append: usize,
}

/// The sets of the command line.
#[derive(Debug, Default)]
pub(crate) struct FoundSets {
    /// One per folder, and one of all single shards.
    pub sets: Vec<Set>,
    /// Why there is nothing to verify at a path.
    pub nothing: Vec<Failure>,
}

/// Returns the sets of the command line.
///
/// # Errors
/// Returns an error if the operating system does not answer. A path at which there is nothing to verify is listed.
pub(crate) fn find(paths: &[PathBuf], options: &Options) -> Result<FoundSets, Failure> {
    let mut found = FoundSets::default();
    let mut single = Set::default();
    for path in paths {
        match of_path(path, options) {
            Ok(Given::Folders(sets)) => found.sets.extend(sets),
            Ok(Given::Tar(tar)) => {
                single.targets.push(Target { tar, entry: None, remote: None, want: Want::Level });
            }
            Err(failure) if failure.exit() == Exit::Usage => {
                let tracked = if files::exists(path)? { None } else { dvc::of(path)? };
                let failure = tracked.map_or(failure, |tracked| dvc::not_pulled(path, &tracked));
                found.nothing.push(failure);
            }
            Err(failure) => return Err(failure),
        }
    }
    if !single.targets.is_empty() {
        single.json = json_rules::beside(single.targets.iter().map(|target| target.tar.as_path()))?;
        found.sets.push(single);
    }
    Ok(found)
}

/// What a path of the command line names.
enum Given {
    /// A folder of shards, or a folder of such folders.
    Folders(Vec<Set>),
    Tar(PathBuf),
}

fn of_path(path: &Path, options: &Options) -> Result<Given, Failure> {
    if is_folder(path)? {
        return match of_folder(path, options) {
            Err(failure) if failure.exit() == Exit::Usage => {
                let sets: Vec<Set> = nested::folders(path)?
                    .iter()
                    .map(|folder| of_folder(folder, options))
                    .collect::<Result<_, _>>()?;
                if sets.is_empty() { Err(failure) } else { Ok(Given::Folders(sets)) }
            }
            found => Ok(Given::Folders(vec![found?])),
        };
    }
    if path.file_name().is_some_and(|name| name == FILE_NAME) {
        let folder = folder_of(path);
        return Ok(Given::Folders(vec![of_folder(folder, options)?]));
    }
    // Of a sidecar, its tar: hooks and globs name both.
    Ok(Given::Tar(packed_shard::tar_of_sidecar(path)?.unwrap_or_else(|| path.to_path_buf())))
}

/// Returns a problem if a manifest has no digest of its own text.
///
/// # Errors
/// Returns an error if it cannot be read.
pub(super) fn unprotected(path: &Path) -> Result<Option<Problem>, Failure> {
    let bytes = files::read_whole(path, "read the manifest")?;
    let text = message!("the manifest has no checksum, as those of earlier versions, so a change of it is not found; add \
         one with `{index}`"; index = Call::of(Task::Index).with(Name::AcceptEdits.on()).on_stand("DIR"));
    Ok((!Manifest::is_protected(&bytes))
        .then(|| Problem::new(ProblemKind::NoChecksum, path.display().to_string(), text)))
}

fn of_folder(path: &Path, options: &Options) -> Result<Set, Failure> {
    let manifest_path = path.join(FILE_NAME);
    // Without shards, which is wrong usage, a manifest alone can still be verified.
    let (there, packed) = match folder::tars(path) {
        Ok(found) => found,
        Err(failure) => {
            if failure.exit() != Exit::Usage || !files::exists(&manifest_path)? {
                return Err(failure);
            }
            (Vec::new(), Vec::new())
        }
    };
    let mut set = Set { place: Some(path.to_path_buf()), ..Set::default() };
    let manifest = match read_manifest(&manifest_path) {
        Ok(manifest) => Some(manifest),
        Err(error) => {
            set.problems.push(kinds::in_manifest(&kinds::of_data(error)?));
            None
        }
    };
    set.json = json_rules::of_manifest(manifest.as_ref());
    set.check = manifest.as_ref().and_then(check_of);
    set.about = manifest.as_ref().map(|manifest| manifest.about.clone());
    if manifest.is_some() && options.require_checksums {
        set.problems.extend(unprotected(&manifest_path)?);
    }
    if let Some(signers) = &options.signers {
        set.problems.extend(signature::problem(path, signers)?);
    }
    let has_manifest = manifest.is_some();
    // Beside a manifest they are not part of the data set, and no reader of it opens them.
    for Indexed { tar, .. } in packed.into_iter().filter(|_| !has_manifest) {
        let path = tar.display().to_string();
        set.problems.push(Problem::new(ProblemKind::Unsupported, path, folder::compressed()));
    }
    let mut listed = HashSet::new();
    for entry in manifest.into_iter().flat_map(|m| m.shards) {
        let tar = path.join(&entry.name);
        listed.insert(tar.clone());
        set.targets.push(Target { tar, entry: Some(entry), remote: None, want: Want::Level });
    }
    let mut unlisted: Vec<PathBuf> =
        there.into_iter().filter(|tar| !listed.contains(tar)).collect();
    if has_manifest && !unlisted.is_empty() {
        // An append moves its shards here before it writes the manifest: the data set is still the old one.
        // A damaged plan names no shard: the tars are problems then.
        let added = match shards_of_append(&Staging::of(path)) {
            Err(failure) if failure.exit() == Exit::BadData => Vec::new(),
            added => added?,
        };
        let added: HashSet<PathBuf> = added.iter().map(|name| path.join(name)).collect();
        let before = unlisted.len();
        unlisted.retain(|tar| !added.contains(tar));
        set.shards_of_append = before - unlisted.len();
    }
    for tar in unlisted {
        if has_manifest {
            let text = message!("the manifest does not list this shard; list it with `{index}`, or move it away"; index = Call::of(Task::Index).with(Name::Force.on()).on_path(path));
            let path = tar.display().to_string();
            set.problems.push(Problem::new(ProblemKind::StaleManifest, path, text));
        }
        set.targets.push(Target { tar, entry: None, remote: None, want: Want::Level });
    }
    Ok(set)
}

/// Returns the last component of a path as text; empty if the path has none.
pub(crate) fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
