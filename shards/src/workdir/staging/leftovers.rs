//! Temporary files of killed attempts.

use std::fs::{self, DirEntry};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tarflume_base::Failure;
use tarflume_formats::Blame;
use tarflume_formats::files::patiently;
use tarflume_formats::publish::{is_temporary, remove_if_exists, sync_folder};

/// Returns the entries of `folder`; none if there is no such folder.
pub(super) fn entries(folder: &Path) -> Result<Vec<DirEntry>, Failure> {
    match patiently(|| fs::read_dir(folder)) {
        Ok(entries) => entries
            .collect::<io::Result<Vec<_>>>()
            .map_err(|e| Failure::io(e, "read the folder", folder)),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(e) => Err(Failure::io(e, "read the folder", folder)),
    }
}

/// Returns temporary files of `folder`, with their age.
pub(super) fn temporaries(folder: &Path) -> Result<Vec<(PathBuf, Duration)>, Failure> {
    let mut found = Vec::new();
    for entry in entries(folder)? {
        if !is_temporary(&entry.file_name().to_string_lossy()) {
            continue;
        }
        match patiently(|| entry.metadata()?.modified()) {
            Ok(modified) => {
                let age = SystemTime::now().duration_since(modified).unwrap_or_default();
                found.push((entry.path(), age));
            }
            // It got its final name meanwhile.
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(e) => return Err(Failure::io(e, "examine", entry.path())),
        }
    }
    Ok(found)
}

/// Removes temporary files of `folder` whose names are `ours`.
pub(super) fn sweep(folder: &Path, ours: &dyn Fn(&str) -> bool) -> Result<(), Failure> {
    for entry in entries(folder)? {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if is_temporary(&name) && ours(&name) {
            remove_if_exists(entry.path())?;
        }
    }
    Ok(())
}

/// Removes all temporary files below `folder` and syncs every name below it to disk.
pub(super) fn settle(folder: &Path) -> Result<(), Failure> {
    let found = entries(folder)?;
    if found.is_empty() {
        return Ok(());
    }
    for entry in found {
        let kind = patiently(|| entry.file_type());
        let kind = kind.map_err(|e| Failure::io(e, "examine", entry.path()))?;
        if kind.is_dir() {
            settle(&entry.path())?;
        } else if is_temporary(&entry.file_name().to_string_lossy()) {
            remove_if_exists(entry.path())?;
        }
    }
    Ok(sync_folder(folder)?)
}

/// Limit on the folders above the output folder whose names are synced.
const ABOVE: usize = 16;

/// Returns the number of the file system of a path.
fn device(path: &Path) -> io::Result<u64> {
    patiently(|| fs::metadata(path)).map(|found| found.dev())
}

/// Syncs the names of the folders above `path` to disk, as far as they are on its file system and
/// can be synced: most existed long before.
pub(super) fn sync_above(path: &Path) -> Result<(), Failure> {
    let real = patiently(|| fs::canonicalize(path)).map_err(|e| unfound(e, path))?;
    let own = device(&real).map_err(|e| unfound(e, path))?;
    // The parent folder was synced already.
    for above in real.ancestors().skip(2).take(ABOVE) {
        match device(above) {
            Ok(device) if device == own => {}
            Ok(_) => break,
            // A folder that this user may not examine was not made by this build.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => break,
            Err(error) => return Err(unfound(error, path)),
        }
        match sync_folder(above) {
            Err(error) if matches!(error.blame(), Blame::Data | Blame::Lasting) => {}
            synced => synced?,
        }
    }
    Ok(())
}

fn unfound(e: io::Error, path: &Path) -> Failure {
    Failure::io(e, "find", path)
}
