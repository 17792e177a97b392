//! The shards of a data set that is a source: its manifest lists them, with their splits.

use std::path::{Path, PathBuf};

use tarflume_base::Failure;
use tarflume_formats::manifest::FILE_NAME;
use tarflume_formats::{About, files, read_manifest};

/// A file that is a source, and what the manifest beside it says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ListedFile {
    pub(crate) path: PathBuf,
    /// The split that it belongs to.
    pub(crate) split: Option<String>,
}

/// Returns the shards of the data set in a folder, in its order; `None` if the folder has no manifest.
///
/// # Errors
/// Returns an error if the manifest is damaged or the operating system refuses.
pub(crate) fn of_folder(folder: &Path) -> Result<Option<(Vec<ListedFile>, About)>, Failure> {
    let path = folder.join(FILE_NAME);
    if !files::is_folder(folder)? || !files::exists(&path)? {
        return Ok(None);
    }
    let manifest = read_manifest(&path)?;
    let tars = manifest
        .shards
        .into_iter()
        .map(|entry| ListedFile { path: folder.join(&entry.name), split: entry.split });
    Ok(Some((tars.collect(), manifest.about)))
}
