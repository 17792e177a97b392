//! How a file gets its final name: written under a temporary name, synced, renamed.
//!
//! Two attempts at the same file never share a temporary name, and the second to finish finds the
//! first one's file and changes nothing: a task that an engine delivers twice does no harm.

mod rename;
mod temp;

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::time::SystemTime;

use crate::disk::files::{self, FileKind, patiently};
use crate::errors::error::{Error, Result};

pub use rename::{Published, remove_if_exists, rename_new};
pub use temp::{TempFile, is_temporary, sweep};

/// Whether a published file must survive a power failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Durability {
    /// Synced to disk before it gets its name.
    Synced,
    /// Left to the operating system.
    Cached,
}

/// Creates the folder `path` and its missing parents, and syncs their names to disk.
///
/// # Errors
/// Returns an error if the operating system refuses or a file has the name.
pub fn create_folders(path: impl AsRef<Path>) -> Result<()> {
    let path = path.as_ref();
    match files::kind(path)? {
        Some(FileKind::Folder) => return Ok(()),
        Some(_) => return Err(refused(io::ErrorKind::NotADirectory.into(), path)),
        None => {}
    }
    let above = folder_of(path);
    create_folders(above)?;
    match patiently(|| fs::create_dir(path)) {
        // Another attempt created it at the same time.
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists && files::is_folder(path)? => {}
        Err(e) => return Err(refused(e, path)),
        Ok(()) => {}
    }
    sync_name(path)
}

fn refused(e: io::Error, path: &Path) -> Error {
    Error::io(e, "create the folder", path)
}

/// Syncs the name of the existing folder `path` to disk.
///
/// # Errors
/// Returns an error if the operating system refuses.
pub fn sync_name(path: impl AsRef<Path>) -> Result<()> {
    let path = path.as_ref();
    match sync_folder(folder_of(path)) {
        // A parent that may be searched but not read cannot be opened: sync the whole file system.
        // If that is refused, too, no other call makes the name durable.
        Err(error) if is_denied(&error) => match patiently(|| File::open(path)) {
            Ok(folder) => Ok(rustix::io::retry_on_intr(|| rustix::fs::syncfs(&folder))
                .map_err(|e| Error::io(e.into(), "sync to disk", path))?),
            Err(_) => Ok(()),
        },
        synced => synced,
    }
}

/// Returns true for a permission error.
fn is_denied(error: &Error) -> bool {
    error.io_error().is_some_and(|e| e.kind() == io::ErrorKind::PermissionDenied)
}

/// Syncs the bytes of the file at `path` to disk; the file may come from another process.
///
/// # Errors
/// Returns an error if the operating system refuses, for example because the disk is full.
pub fn sync_file(path: impl AsRef<Path>) -> Result<()> {
    let path = path.as_ref();
    let file = patiently(|| File::open(path)).map_err(|e| Error::io(e, "open", path))?;
    file.sync_data().map_err(|e| Error::io(e, "sync to disk", path))
}

/// Writes a small whole file: temporary file, sync, rename over an existing one.
///
/// # Errors
/// Returns an error if the operating system refuses; the old file then stays.
pub fn write_whole(target: impl AsRef<Path>, bytes: &[u8]) -> Result<()> {
    let target = target.as_ref();
    write_as(target, bytes, Durability::Synced)
}

/// As [`write_whole`], with the given durability.
///
/// # Errors
/// Returns an error if the operating system refuses; the old file then stays.
pub fn write_as(target: impl AsRef<Path>, bytes: &[u8], durability: Durability) -> Result<()> {
    let target = target.as_ref();
    write_with(target, bytes, durability, None)
}

/// As [`write_whole`]; the file has this time of modification from the moment at which it has its name.
///
/// # Errors
/// Returns an error if the operating system refuses; the old file then stays.
pub fn write_at(target: impl AsRef<Path>, bytes: &[u8], modified: SystemTime) -> Result<()> {
    let target = target.as_ref();
    write_with(target, bytes, Durability::Synced, Some(modified))
}

fn write_with(
    target: &Path,
    bytes: &[u8],
    durability: Durability,
    modified: Option<SystemTime>,
) -> Result<()> {
    let folder = folder_of(target);
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    let mut temp = TempFile::create(folder, &name)?;
    temp.file.write_all(bytes).map_err(|e| Error::io(e, "write", temp.path()))?;
    if let Some(time) = modified {
        temp.file.set_modified(time).map_err(|e| Error::io(e, "set the time of", temp.path()))?;
    }
    if durability == Durability::Synced {
        temp.sync()?;
    }
    temp.publish_over(target)?;
    if durability == Durability::Synced { sync_folder(folder) } else { Ok(()) }
}

/// Syncs the entries of `folder`, and so the renames in it, to disk.
///
/// # Errors
/// Returns an error if the operating system refuses.
pub fn sync_folder(folder: impl AsRef<Path>) -> Result<()> {
    let folder = folder.as_ref();
    let opened = patiently(|| File::open(folder)).map_err(|e| Error::io(e, "open", folder))?;
    match opened.sync_all() {
        // Some network file systems cannot sync a folder.
        Err(e) if matches!(e.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => {
            Ok(())
        }
        other => other.map_err(|e| Error::io(e, "sync to disk", folder)),
    }
}

/// Returns the folder that contains `path`.
pub fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "Miri lacks its system calls")]
    fn the_second_attempt_finds_the_file_of_the_first() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("a.tar");
        for (text, want) in [("one", Published::New), ("two", Published::AlreadyExists)] {
            let mut temp = TempFile::create(dir.path(), "a.tar").unwrap();
            temp.file.write_all(text.as_bytes()).unwrap();
            assert_eq!(temp.publish_new(&target).unwrap(), want);
        }
        assert_eq!(fs::read(&target).unwrap(), b"one");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri lacks its system calls")]
    fn nested_folders_are_created_and_a_file_in_the_way_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let deep = dir.path().join("a/b/c");
        create_folders(&deep).unwrap();
        create_folders(&deep).unwrap();
        assert!(fs::metadata(&deep).unwrap().is_dir());
        let file = dir.path().join("a/file");
        fs::write(&file, b"x").unwrap();
        for path in [file.clone(), file.join("below")] {
            let error = create_folders(&path).unwrap_err();
            assert!(error.to_string().contains("create the folder"), "{error}");
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri lacks its system calls")]
    fn write_whole_replaces_what_was_there() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("x");
        write_whole(&target, b"longer text").unwrap();
        write_whole(&target, b"short").unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"short");
    }
}
