//! An opened data set: its manifest and the mapped sidecar of every shard.
//!
//! Opening checks each sidecar against the manifest and against the length of its tar. It reads no
//! tar and does not decide the order in which samples are visited.

mod search;

use std::path::{Path, PathBuf};

use crate::disk::files;
use crate::errors::error::{Error, ErrorKind, Result};
use crate::index::Index;
use crate::message;
use crate::message::{Call, Task};
use crate::records::manifest::{FILE_NAME, Manifest, ShardEntry};
use crate::shards::shard::index_path;

pub use search::KeySearch;

/// The folder that holds an unfinished build, beside the later manifest.
const WORKING: &str = ".pack";

/// A data set whose sidecars are mapped.
#[derive(Debug)]
pub struct Dataset {
    folder: PathBuf,
    manifest: Manifest,
    indexes: Vec<Index>,
    /// The first ordinal of each shard, then the number of samples.
    starts: Vec<u64>,
    search: KeySearch,
}

impl Dataset {
    /// Opens the data set in the folder `path`, or the one whose manifest is the file `path`.
    ///
    /// # Errors
    /// Returns an error if there is no manifest, or if a shard or sidecar is missing, stale,
    /// truncated or damaged.
    pub fn open(path: impl AsRef<Path>) -> Result<Dataset> {
        let path = path.as_ref();
        let manifest_path =
            if files::is_folder(path)? { path.join(FILE_NAME) } else { path.to_path_buf() };
        let folder = crate::disk::publish::folder_of(&manifest_path).to_path_buf();
        let manifest = read_manifest(&manifest_path)?;
        let mut indexes = Vec::with_capacity(manifest.shards.len());
        let mut starts = Vec::with_capacity(manifest.shards.len() + 1);
        let mut start = 0;
        for entry in &manifest.shards {
            indexes.push(open_index(&folder, entry)?);
            starts.push(start);
            start += entry.samples;
        }
        starts.push(start);
        Ok(Dataset { folder, manifest, indexes, starts, search: KeySearch::default() })
    }

    /// Returns the folder that holds the shards.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the manifest.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Returns the number of samples.
    pub fn samples(&self) -> u64 {
        self.manifest.samples
    }

    /// Returns the sidecar of shard `shard`.
    pub fn index(&self, shard: usize) -> Option<&Index> {
        self.indexes.get(shard)
    }

    /// Returns the path of the tar of shard `shard`.
    pub fn tar_path(&self, shard: usize) -> Option<PathBuf> {
        self.manifest.shards.get(shard).map(|s| self.folder.join(&s.name))
    }

    /// Returns shard and row of the sample with this ordinal.
    pub fn place(&self, ordinal: u64) -> Option<(usize, u64)> {
        if ordinal >= self.samples() {
            return None;
        }
        let shard = self.starts.partition_point(|&start| start <= ordinal) - 1;
        Some((shard, ordinal - self.starts[shard]))
    }

    /// Returns shard and row of the first sample with this key. Searches the shards by bisection if
    /// their keys are sorted, otherwise each shard in turn.
    ///
    /// # Errors
    /// Returns an error if a sidecar is damaged.
    pub fn find(&self, key: &[u8]) -> Result<Option<(usize, u64)>> {
        self.search.find(key, self.indexes.len(), |shard| Ok::<_, Error>(&self.indexes[shard]))
    }
}

/// Reads and checks the manifest at `path`.
///
/// # Errors
/// Returns an error if the manifest is missing (with the remedy), incomplete or invalid.
pub fn read_manifest(path: impl AsRef<Path>) -> Result<Manifest> {
    let path = path.as_ref();
    Manifest::from_json(&read_manifest_text(path)?).map_err(|e| e.with_path(path))
}

/// Reads the text of the manifest at `path`, and checks nothing of it.
///
/// # Errors
/// Returns an error if the manifest is missing, with the remedy, or cannot be read.
pub fn read_manifest_text(path: impl AsRef<Path>) -> Result<Vec<u8>> {
    let path = path.as_ref();
    files::read_whole(path, "read the manifest").map_err(|error| {
        let missing = std::io::ErrorKind::NotFound;
        let Some(cause) = error.io_error().filter(|cause| cause.kind() == missing) else {
            return error;
        };
        let cause = cause.raw_os_error().map(std::io::Error::from_raw_os_error);
        // A failed check must not be reported as an unfinished build.
        let working = crate::disk::publish::folder_of(path).join(WORKING);
        let text = if matches!(files::is_folder(&working), Ok(true)) {
            message!(
                "there is no manifest here: this folder holds an unfinished build; run the same \
                 `{build}` again to continue it, or run `{status}`";
                build = Call::of(Task::Build), status = Call::of(Task::Status).on_stand("DIR")
            )
        } else {
            message!(
                "there is no manifest here; make one for existing tars with `{index}`";
                index = Call::of(Task::Index).on_stand("DIR")
            )
        };
        let error = Error::new(ErrorKind::Io, text).with_path(path);
        error.with_cause(cause.unwrap_or_else(|| missing.into()))
    })
}

/// Opens the sidecar of one listed shard and checks it against tar and manifest.
///
/// # Errors
/// Returns [`ErrorKind::Stale`] with the difference if tar, sidecar and manifest disagree, an error
/// if a file is missing, and the errors of [`Index::open`].
pub fn open_index(folder: impl AsRef<Path>, entry: &ShardEntry) -> Result<Index> {
    let folder = folder.as_ref();
    let tar = folder.join(&entry.name);
    let length = files::metadata(&tar, "find the shard")?.len();
    let path = index_path(&tar);
    let index = Index::open(&path)?;
    index.check_tar(&tar, length)?;
    check_index(index, entry).map_err(|e| e.with_path(&path))
}

/// Compares a sidecar with the entry of its shard in the manifest, and returns it.
///
/// # Errors
/// Returns [`ErrorKind::Stale`] with the difference.
pub fn check_index(index: Index, entry: &ShardEntry) -> Result<Index> {
    fn stale(text: String) -> Result<Index> {
        Err(Error::new(ErrorKind::Stale, text))
    }
    if index.tar().length != entry.bytes || index.samples() != entry.samples {
        return stale(format!(
            "the manifest lists {} bytes and {} samples, the sidecar {} and {}",
            entry.bytes,
            entry.samples,
            index.tar().length,
            index.samples()
        ));
    }
    if index.tar().digest != entry.digest()? || index.length() != entry.index_bytes {
        return stale("the manifest lists another digest or sidecar than the one found".into());
    }
    Ok(index)
}
