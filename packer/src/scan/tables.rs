//! Tables in source folders: files that are read as tables and are no parts of samples.

use std::path::PathBuf;

use super::options::ScanOptions;
use crate::failure::Failure;
use crate::table;

/// The names of tables of metadata in image folders.
const METADATA: [&[u8]; 3] = [b"metadata.csv", b"metadata.jsonl", b"metadata.parquet"];

/// A table in a source folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FoundTable {
    /// The number of the source folder.
    pub(crate) root: u32,
    /// The path of its folder under the root, with a trailing slash; empty for the root.
    pub(crate) folder: Vec<u8>,
    /// Its name.
    pub(crate) name: Vec<u8>,
}

/// Returns true for a file of a folder that is read as a table. `path` returns its path.
///
/// # Errors
/// Returns an error if the machine failed while the file was examined.
pub(super) fn is_table(
    options: &ScanOptions,
    (folder, name): (&[u8], &[u8]),
    path: impl FnOnce() -> PathBuf,
) -> Result<bool, Failure> {
    let is_joined = |path: &Vec<u8>| path.strip_prefix(folder).is_some_and(|base| base == name);
    if options.joined.iter().any(is_joined) {
        return Ok(true);
    }
    if !options.metadata || !METADATA.contains(&name) {
        return Ok(false);
    }
    table::names_files(&path())
}
