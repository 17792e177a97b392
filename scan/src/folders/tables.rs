//! Tables in source folders: files that are read as tables and are no parts of samples.

use std::path::{Path, PathBuf};

use tarflume_base::Failure;
use tarflume_formats::{Blame, files};

use crate::options::ScanOptions;

/// The names of tables of metadata in image folders.
const METADATA: [&[u8]; 3] = [b"metadata.csv", b"metadata.jsonl", b"metadata.parquet"];

/// A table in a source folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundTable {
    /// The number of the source folder.
    pub root: u32,
    /// The path of its folder under the root, with a trailing slash; empty for the root.
    pub folder: Vec<u8>,
    /// Its name.
    pub name: Vec<u8>,
}

/// Returns true for a file of a folder that is read as a table. `path` returns its path. A link is one only if links are
/// followed, or if the user named it.
///
/// # Errors
/// Returns an error if the machine failed while the file was examined.
pub(crate) fn is_table(
    options: &ScanOptions,
    folder: &[u8],
    name: &[u8],
    path: impl FnOnce() -> PathBuf,
) -> Result<bool, Failure> {
    let is_joined = options
        .joined
        .iter()
        .any(|path| path.strip_prefix(folder).is_some_and(|base| base == name));
    if is_joined {
        return Ok(true);
    }
    if !options.metadata || !METADATA.contains(&name) {
        return Ok(false);
    }
    let path = path();
    if !options.follow_links && is_link(&path)? {
        return Ok(false);
    }
    tarflume_table::names_files(&path)
}

fn is_link(path: &Path) -> Result<bool, Failure> {
    match files::patiently(|| std::fs::symlink_metadata(path)) {
        Ok(found) => Ok(found.is_symlink()),
        Err(e) if Blame::of(&e).is_machine() => Err(Failure::io(e, "examine", path)),
        Err(_) => Ok(false), // it is examined again as a part of a sample, which reports the error
    }
}
