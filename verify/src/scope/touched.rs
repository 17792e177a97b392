//! `Change`: a change of files; `Touched`: the shards that it touches.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use tarflume_base::{Failure, packed_shard};
use tarflume_formats::message::Name;
use tarflume_formats::publish::folder_of;
use tarflume_formats::{IgnorePoison, files, index_path};

use super::git;
use crate::pointers::dvc;

/// The files that have changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// The paths of the command line, as hooks give them: data sets are those that have them.
    Paths,
    /// These files.
    Files(Vec<PathBuf>),
    /// Files that differ from a commit of Git, or are new.
    Since(String),
}

impl Change {
    /// Reads a list of files: one on a line, or each ended by a zero byte. Errors name `path`.
    ///
    /// # Errors
    /// Returns an error if it cannot be read, or is too long.
    pub fn read(source: impl io::Read, path: &Path) -> Result<Change, Failure> {
        super::file_list::read(source, path).map(Change::Files)
    }

    pub(crate) fn name(&self) -> Name {
        match self {
            Change::Paths => Name::Changed,
            Change::Files(_) => Name::FilesFrom,
            Change::Since(_) => Name::ChangedSince,
        }
    }

    /// Returns true if a shard that was touched and is not here was removed.
    pub(crate) fn has_removed(&self) -> bool {
        !matches!(self, Change::Paths)
    }

    /// Returns the files that have changed. `paths` are those of the command line.
    ///
    /// # Errors
    /// Returns the errors of Git, and an error if the operating system does not answer.
    pub(crate) fn files(&self, paths: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
        match self {
            Change::Paths => Ok(paths.to_vec()),
            Change::Files(list) => Ok(list.clone()),
            Change::Since(reference) => git::changed_since(reference, paths),
        }
    }
}

/// The files that a change touches, without links in the paths of their folders.
#[derive(Debug, Default)]
pub(crate) struct Touched {
    files: HashSet<PathBuf>,
    /// Folders, of which all files are touched.
    folders: Vec<PathBuf>,
    /// Folders by the paths that name them.
    resolved: Mutex<HashMap<PathBuf, PathBuf>>,
}

impl Touched {
    /// Returns those of these files and folders.
    ///
    /// # Errors
    /// Returns an error if the operating system does not answer.
    pub(crate) fn of(files: &[PathBuf]) -> Result<Touched, Failure> {
        let mut touched = Touched::default();
        for path in files {
            if files::is_folder(path)? {
                touched.folders.push(resolved(path)?);
            } else {
                let place = touched.place(path)?;
                touched.files.insert(place);
            }
        }
        Ok(touched)
    }

    /// Returns true if a shard is touched: its tar, its sidecar, or the file by which DVC tracks the tar.
    ///
    /// # Errors
    /// Returns an error if the operating system does not answer.
    pub(crate) fn has(&self, tar: &Path) -> Result<bool, Failure> {
        for path in [tar.to_path_buf(), index_path(tar), dvc::file_of(tar)] {
            let place = self.place(&path)?;
            if self.files.contains(&place) {
                return Ok(true);
            }
            if self.folders.iter().any(|folder| place.starts_with(folder)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn place(&self, path: &Path) -> Result<PathBuf, Failure> {
        let folder = folder_of(path);
        let mut known = self.resolved.lock().ignore_poison();
        let folder = match known.get(folder) {
            Some(found) => found.clone(),
            None => {
                let found = resolved(folder)?;
                known.insert(folder.to_path_buf(), found.clone());
                found
            }
        };
        Ok(folder.join(path.file_name().unwrap_or_default()))
    }
}

/// Returns a folder without links; of one that is not here, the absolute path.
fn resolved(folder: &Path) -> Result<PathBuf, Failure> {
    match files::patiently(|| fs::canonicalize(folder)) {
        Ok(found) => Ok(found),
        Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            std::path::absolute(folder).map_err(|e| Failure::io(e, "find the folder", folder))
        }
        Err(e) => Err(Failure::io(e, "find the folder", folder)),
    }
}

/// Returns true for the name of a file of a data set: a tar, a sidecar, a manifest, a file of DVC.
pub(crate) fn is_of_data_sets(path: &Path) -> bool {
    let is_tar = path.extension().is_some_and(|extension| extension == "tar");
    let is_manifest =
        path.file_name().is_some_and(|name| name == tarflume_formats::manifest::FILE_NAME);
    is_tar
        || is_manifest
        || packed_shard::is_compressed(path)
        || packed_shard::is_sidecar(path)
        || dvc::is_file(path)
}
