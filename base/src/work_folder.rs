//! `WorkFolder`: a temporary folder for the shards in work. Dropping it removes it; what a killed process has left, the
//! next one removes.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{CWD, FlockOperation, Mode, OFlags, flock, openat};
use rustix::io::{Errno, retry_on_intr};
use tempfile::TempDir;

use crate::failure::Failure;

/// Begin and end of the name of such a folder.
const NAME: (&str, &str) = (".tarflume-work-", ".tmp");

/// A folder below `TMPDIR` that holds the shards in work: one for each job, and a few that wait for
/// their upload.
#[derive(Debug)]
pub struct WorkFolder {
    folder: TempDir,
    /// The open folder holds a lock, which the kernel releases with the process.
    _lock: File,
}

impl WorkFolder {
    /// Makes an empty folder, and removes those of killed processes of this user.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses.
    pub fn new() -> Result<WorkFolder, Failure> {
        WorkFolder::new_in(&std::env::temp_dir())
    }

    fn new_in(parent: &Path) -> Result<WorkFolder, Failure> {
        sweep(parent);
        loop {
            let made = tempfile::Builder::new().prefix(NAME.0).suffix(NAME.1).tempdir_in(parent);
            let folder = made.map_err(|e| refused(e, parent))?;
            // Without the lock, a sweep of another process has found the folder first, and removes it.
            if let Some(lock) = held(folder.path()).map_err(|e| refused(e, parent))? {
                return Ok(WorkFolder { folder, _lock: lock });
            }
        }
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

fn refused(e: io::Error, parent: &Path) -> Failure {
    Failure::io(e, "make a folder in", parent)
}

/// Opens and locks a folder; `None` if another process has locked or removed it.
fn held(path: &Path) -> io::Result<Option<File>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = match retry_on_intr(|| openat(CWD, path, flags, Mode::empty())) {
        Ok(folder) => File::from(folder),
        Err(Errno::NOENT) => return Ok(None),
        Err(e) => return Err(e.into()),
    };
    // On a file system without locks no sweep removes the folder.
    let locked = retry_on_intr(|| flock(&folder, FlockOperation::NonBlockingLockExclusive));
    if locked == Err(Errno::WOULDBLOCK) {
        return Ok(None);
    }
    match fs::symlink_metadata(path) {
        Ok(_) => Ok(Some(folder)),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(e),
    }
}

/// Removes the folders of killed processes. Whatever cannot be read or removed stays.
fn sweep(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with(NAME.0) && name.ends_with(NAME.1) {
            remove_if_abandoned(&entry.path());
        }
    }
}

fn remove_if_abandoned(path: &Path) {
    let own = rustix::process::geteuid().as_raw();
    let is_own = fs::symlink_metadata(path).is_ok_and(|found| found.is_dir() && found.uid() == own);
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    if !is_own {
        return;
    }
    let Ok(folder) = retry_on_intr(|| openat(CWD, path, flags, Mode::empty())) else { return };
    if retry_on_intr(|| flock(&folder, FlockOperation::NonBlockingLockExclusive)).is_ok() {
        // An error is harmless: the next process removes the rest.
        let _ = fs::remove_dir_all(path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_of_a_killed_process_is_removed_and_that_of_a_running_one_stays() {
        let dir = tempfile::tempdir().unwrap();
        let running = WorkFolder::new_in(dir.path()).unwrap();
        let killed = dir.path().join(".tarflume-work-abcdef.tmp");
        let other = dir.path().join("tarflume-work-mine");
        for folder in [&killed, &other] {
            fs::create_dir_all(folder.join("below")).unwrap();
            fs::write(folder.join("below/a.tar"), b"part").unwrap();
        }
        let next = WorkFolder::new_in(dir.path()).unwrap();
        assert!(!killed.try_exists().unwrap());
        for folder in [running.path(), next.path(), other.as_path()] {
            assert!(folder.try_exists().unwrap(), "{}", folder.display());
        }
        drop((running, next));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
