//! The output folder of an export under a temporary name: it gets its final name in one step, once
//! every file in it is complete. The next export to the same name removes what a killed one left.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FlockOperation, Mode, OFlags, flock, openat};
use rustix::io::{Errno, retry_on_intr};
use tarflume_base::Failure;
use tarflume_formats::Durability;
use tarflume_formats::files::patiently;
use tarflume_formats::message;
use tarflume_formats::message::Name;
use tarflume_formats::output::must_be_outside;
use tarflume_formats::publish::{Published, create_folders, folder_of, rename_new, sync_folder};

/// End of the temporary name; it begins with a dot and the final name.
const SUFFIX: &str = ".unfinished-export";

/// A folder that is removed on drop unless it is published.
#[derive(Debug)]
pub(super) struct Staging {
    path: PathBuf,
    out: PathBuf,
    /// The open folder holds the lock.
    _lock: Option<File>,
    published: bool,
}

/// Returns an error if there is a file or folder at `out`, or if `out` is in a data set.
///
/// # Errors
/// Returns also an error if the operating system does not answer.
pub(super) fn must_be_new(out: &Path) -> Result<(), Failure> {
    if out.file_name().is_none() {
        let text = message!("give {out} the name of a new file or folder"; out = Name::Out);
        return Err(Failure::usage(text).in_file(out));
    }
    match patiently(|| fs::symlink_metadata(out)) {
        Ok(_) => Err(taken(out)),
        Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(must_be_outside(out)?)
        }
        Err(e) => Err(Failure::io(e, "examine", out)),
    }
}

fn taken(out: &Path) -> Failure {
    let text = message!("it exists, and an export replaces nothing; remove it, or give another name with {out}"; out = Name::Out);
    Failure::usage(text).in_file(out)
}

impl Staging {
    /// Creates the folder that will be `out`, and removes what a killed export left in it.
    ///
    /// # Errors
    /// Returns an error if another export is writing there, or if the operating system refuses.
    pub(super) fn create(out: &Path) -> Result<Staging, Failure> {
        let name = out.file_name().unwrap_or_default().to_string_lossy();
        // File systems limit names to 255 bytes.
        let name = &name[..name.floor_char_boundary(255 - SUFFIX.len() - 1)];
        create_folders(folder_of(out))?;
        let path = folder_of(out).join(format!(".{name}{SUFFIX}"));
        match patiently(|| fs::create_dir(&path)) {
            Err(e) if e.kind() != io::ErrorKind::AlreadyExists => {
                return Err(Failure::io(e, "create the folder", &path));
            }
            _ => {}
        }
        let lock = lock(&path, out)?;
        let staging = Staging { path, out: out.into(), _lock: lock, published: false };
        staging.clear()?;
        Ok(staging)
    }

    /// Returns its temporary path.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Creates the folder for the file with the relative path `name`, if it is missing.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses.
    pub(super) fn create_folder_of(&self, name: &str) -> Result<(), Failure> {
        Ok(create_folders(folder_of(&self.path.join(name)))?)
    }

    fn clear(&self) -> Result<(), Failure> {
        for entry in patiently(|| fs::read_dir(&self.path)).map_err(|e| self.uncleared(e))? {
            let entry = entry.map_err(|e| self.uncleared(e))?;
            let path = entry.path();
            patiently(|| {
                if entry.file_type()?.is_dir() {
                    fs::remove_dir_all(&path)
                } else {
                    fs::remove_file(&path)
                }
            })
            .map_err(|e| self.uncleared(e))?;
        }
        Ok(())
    }

    fn uncleared(&self, e: io::Error) -> Failure {
        Failure::io(e, "remove what an earlier export left in", &self.path)
    }

    /// Gives the folder its final name.
    ///
    /// # Errors
    /// Returns an error if something has the name meanwhile, or if the operating system refuses.
    pub(super) fn publish(mut self, durability: Durability) -> Result<(), Failure> {
        match rename_new(&self.path, &self.out)? {
            Published::AlreadyExists => return Err(taken(&self.out)),
            Published::New => self.published = true,
        }
        if durability == Durability::Synced {
            sync_folder(folder_of(&self.out))?;
        }
        Ok(())
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        if !self.published {
            // An error is harmless: the next export to this name removes the rest.
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

fn busy(out: &Path) -> Failure {
    Failure::try_again(message!(
        "another export is writing it; wait for its end, or give another name with {out}";
        out = Name::Out
    ))
    .in_file(out)
}

/// Locks the folder at `path`: two exports to one name would remove each other's files.
fn lock(path: &Path, out: &Path) -> Result<Option<File>, Failure> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = retry_on_intr(|| openat(CWD, path, flags, Mode::empty()));
    let folder = File::from(folder.map_err(|e| unopened(e.into(), path))?);
    match retry_on_intr(|| flock(&folder, FlockOperation::NonBlockingLockExclusive)) {
        Ok(()) => {}
        Err(Errno::WOULDBLOCK) => return Err(busy(out)),
        // Some network file systems have no locks, or none for folders.
        Err(Errno::NOSYS | Errno::NOTSUP | Errno::NOLCK | Errno::INVAL | Errno::BADF) => {
            return Ok(None);
        }
        Err(e) => return Err(Failure::io(e.into(), "lock", path)),
    }
    // The export that held the lock may have renamed or removed the folder.
    let ours = patiently(|| folder.metadata()).map_err(|e| unopened(e, path))?;
    match patiently(|| fs::symlink_metadata(path)) {
        Ok(found) if (found.dev(), found.ino()) == (ours.dev(), ours.ino()) => Ok(Some(folder)),
        Ok(_) => Err(busy(out)),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Err(busy(out)),
        Err(e) => Err(unopened(e, path)),
    }
}

fn unopened(e: io::Error, path: &Path) -> Failure {
    Failure::io(e, "open the folder", path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_export_left_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("below/out");
        let killed = Staging::create(&out).unwrap();
        fs::create_dir(killed.path().join("data")).unwrap();
        fs::write(killed.path().join("data/x"), b"half").unwrap();
        let path = killed.path().to_path_buf();
        let mut killed = killed;
        killed.published = true; // a killed process removes nothing
        drop(killed);
        let again = Staging::create(&out).unwrap();
        assert_eq!(again.path(), path);
        assert_eq!(fs::read_dir(&path).unwrap().count(), 0);
        again.create_folder_of("data/y").unwrap();
        fs::write(path.join("data/y"), b"whole").unwrap();
        again.publish(Durability::Synced).unwrap();
        assert_eq!(fs::read(out.join("data/y")).unwrap(), b"whole");
        assert_eq!(fs::read_dir(dir.path().join("below")).unwrap().count(), 1);
    }

    #[test]
    fn two_exports_to_one_name_do_not_meet() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("out");
        let first = Staging::create(&out).unwrap();
        let failure = Staging::create(&out).unwrap_err();
        assert!(failure.text().contains("another export"), "{failure}");
        first.publish(Durability::Cached).unwrap();
        let failure = must_be_new(&out).unwrap_err();
        assert!(failure.text().contains("give another name"), "{failure}");
        let late = Staging::create(&out).unwrap();
        assert!(late.publish(Durability::Cached).unwrap_err().text().contains("exists"));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_dangling_link_is_not_written_through() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("out");
        std::os::unix::fs::symlink("nowhere", &out).unwrap();
        assert!(must_be_new(&out).is_err());
        must_be_new(&dir.path().join("..")).unwrap_err();
    }
}
