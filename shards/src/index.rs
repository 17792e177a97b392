//! Makes sidecars and a manifest for existing tars.
//!
//! A damaged or ambiguous shard is refused alone and the others continue, but a folder with a
//! refused shard gets no manifest. Existing files are replaced only with `force`, except for
//! correct sidecars that are to get entry points. Prints nothing.
//!
//! `rows` groups members into samples, `sidecar` reads a tar into a sidecar, `shard` decides which
//! sidecar stays, `proof` compares a sidecar with a tar that may be newer, `numbered` finds names that readers join to
//! one sample, `unsorted` finds keys that come back, `values` and `expected` find columns without a value, `folder`
//! makes the manifest, `remote` indexes copies of tars in stores.

mod expected;
pub mod folder;
pub mod numbered;
pub(crate) mod options;
pub mod proof;
mod remote;
pub mod rows;
pub mod shard;
pub(crate) mod sidecar;
mod unsorted;
pub mod values;

use std::path::{Path, PathBuf};

use rayon::prelude::*;
use tarflume_base::{Failure, json_rules, packed_shard};
use tarflume_formats::files::{self, FileKind};
use tarflume_formats::json::JsonRules;
use tarflume_formats::message;
use tarflume_formats::message::Name;
use tarflume_formats::publish::{folder_of, sweep};
use tarflume_formats::url::url_of;

pub use expected::SeenValues;
pub use options::Options;
pub use shard::{Indexed, SidecarInfo, index_tar};

/// The result for one path.
#[derive(Debug)]
pub struct IndexedPath {
    /// The tars, in the order of the manifest.
    pub tars: Vec<Indexed>,
    /// For a folder: the manifest, or why there is none.
    pub manifest: Option<Result<folder::MadeManifest, Failure>>,
}

/// Returns the options with the rules of JSON with which the data set in a folder was packed, if those accept more.
fn with_recorded_rules(folder: &Path, options: &Options) -> Result<Options, Failure> {
    let mut options = options.clone();
    if options.columns.rules() == JsonRules::Strict {
        options.columns = options.columns.with_rules(json_rules::of_folder(folder)?);
    }
    Ok(options)
}

/// Indexes a tar, or all tars of a folder; `on_bytes` gets the number of bytes of tars that were
/// processed since its last call.
///
/// # Errors
/// Returns an error if there is no such path, no tar in the folder or no thread, if the manifest was
/// edited and the options do not accept that, and after an interruption; sidecars made before it stay. The failure of one tar is in its [`Indexed`].
pub fn index(
    path: &Path,
    options: &Options,
    on_bytes: &(dyn Fn(u64) + Sync),
) -> Result<IndexedPath, Failure> {
    if let Some(url) = url_of(path) {
        return remote::index(url, options, on_bytes);
    }
    let is_folder = is_folder(path)?;
    sweep(if is_folder { path } else { folder_of(path) })?;
    if options.accept_edits && !is_folder {
        return Err(Failure::usage(message!(
            "{accept_edits} is about a dataset.json: give its folder";
            accept_edits = Name::AcceptEdits.on()
        ))
        .in_file(path));
    }
    let is_accepted = is_folder && folder::accept_edits(path, options.accept_edits)?;
    let options = &with_recorded_rules(if is_folder { path } else { folder_of(path) }, options)?;
    let (tars, refused) =
        if is_folder { folder::tars(path)? } else { (vec![tar_of(path)?], Vec::new()) };
    let mut tars = in_parallel(options.jobs, tars, |tar| {
        let result = index_tar(&tar, options, on_bytes);
        Indexed { tar, result }
    })?;
    if options.stop.requested() {
        return Err(Failure::interrupted());
    }
    if is_folder {
        expected::some_values(&tars, options)?;
    }
    tars.extend(refused);
    let mut manifest = is_folder.then(|| folder::publish_manifest(path, &tars, options));
    if let Some(Ok(made)) = &mut manifest {
        made.kept &= !is_accepted;
    }
    Ok(IndexedPath { tars, manifest })
}

/// Returns the tar that a path names: of a sidecar, the one beside it.
fn tar_of(path: &Path) -> Result<PathBuf, Failure> {
    Ok(packed_shard::tar_of_sidecar(path)?.unwrap_or_else(|| path.to_path_buf()))
}

/// Returns true for a folder, false for a file.
///
/// # Errors
/// Returns an error if `path` does not exist (wrong usage) or the operating system does not answer.
pub fn is_folder(path: &Path) -> Result<bool, Failure> {
    match files::kind(path)? {
        Some(kind) => Ok(kind == FileKind::Folder),
        None => {
            Err(Failure::usage("cannot find it: there is no such file or folder").in_file(path))
        }
    }
}

/// Applies `work` to each item with `jobs` threads; results are in the order of the items.
///
/// # Errors
/// Returns an error if the operating system does not start the threads.
pub fn in_parallel<T: Send, R: Send>(
    jobs: usize,
    items: Vec<T>,
    work: impl Fn(T) -> R + Send + Sync,
) -> Result<Vec<R>, Failure> {
    if jobs <= 1 || items.len() <= 1 {
        return Ok(items.into_iter().map(work).collect());
    }
    Failure::check_threads(jobs.min(items.len()))?;
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(jobs.min(items.len()))
        .build()
        .map_err(|e| Failure::no_thread(&e))?;
    // One item per task: shards take long, and differ.
    Ok(pool.install(|| items.into_par_iter().with_max_len(1).map(work).collect()))
}

#[cfg(test)]
mod tests;
