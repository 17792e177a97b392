//! The paths that are verified, and the shards of them that a change touches.

use std::path::{Path, PathBuf};

use tarflume_base::{Failure, packed_shard};
use tarflume_formats::files;
use tarflume_formats::manifest::FILE_NAME;
use tarflume_formats::publish::folder_of;

use crate::pointers::dvc;
use crate::scope::touched::Touched;
use crate::scope::touched::is_of_data_sets;
use crate::scope::{Change, Scope};

/// What is verified.
#[derive(Debug, Default)]
pub(crate) struct Chosen {
    pub paths: Vec<PathBuf>,
    /// What a change touches; `None` if all is read.
    pub touched: Option<Touched>,
}

/// Returns what is verified for these paths of the command line.
///
/// # Errors
/// Returns the errors of Git, and an error if the operating system does not answer.
pub(crate) fn chosen(given: &[PathBuf], scope: &Scope) -> Result<Chosen, Failure> {
    let Some(change) = &scope.change else {
        return Ok(Chosen { paths: given.to_vec(), touched: None });
    };
    let files = change.files(given)?;
    let paths = match change {
        Change::Paths => of_changed(&files)?,
        Change::Files(_) if given.is_empty() => {
            let files: Vec<PathBuf> =
                files.iter().filter(|path| is_of_data_sets(path)).cloned().collect();
            of_changed(&files)?
        }
        Change::Files(_) | Change::Since(_) => given.to_vec(),
    };
    Ok(Chosen { paths, touched: Some(Touched::of(&files)?) })
}

/// Returns what to verify for files that changed: the folders of those that are in a data set, once each, and tars that
/// are in none. A sidecar, and a file of DVC, stand for their tar.
fn of_changed(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut found: Vec<PathBuf> = Vec::new();
    for path in paths {
        let place = place_of(path)?;
        found.extend(place.filter(|place| !found.contains(place)));
    }
    Ok(found)
}

/// Returns what DVC tracks by a file, if that is a tar or a data set. Models and raw data have such files, too, and that of
/// a folder which was not pulled states nothing that could be compared.
fn tracked(file: &Path) -> Result<Option<PathBuf>, Failure> {
    let place = file.with_extension("");
    if files::is_folder(&place)? {
        return Ok(files::exists(&place.join(FILE_NAME))?.then_some(place));
    }
    if packed_shard::is_sidecar(&place) {
        return Ok(Some(packed_shard::SidecarTar::of(&place)?.path));
    }
    Ok((is_of_data_sets(&place) && files::exists(&place)?).then_some(place))
}

fn place_of(path: &Path) -> Result<Option<PathBuf>, Failure> {
    let folder = folder_of(path);
    if files::is_folder(path)? {
        return Ok(Some(path.to_path_buf()));
    }
    if files::exists(&folder.join(FILE_NAME))? {
        return Ok(Some(folder.into()));
    }
    if dvc::is_file(path) {
        return tracked(path);
    }
    if packed_shard::is_sidecar(path) {
        return Ok(Some(packed_shard::SidecarTar::of(path)?.path));
    }
    Ok(Some(path.to_path_buf()))
}
