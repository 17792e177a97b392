//! Temporary files: their names, their locks, and the removal of those that killed commands left.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::{Errno, retry_on_intr};

use super::rename::{Published, remove_if_exists, rename_new, uninterrupted};
use crate::disk::files::patiently;
use crate::errors::blame::Blame;
use crate::errors::error::{Error, Result};

/// Suffix of every temporary file's name.
const TEMP_SUFFIX: &str = ".tmp";
/// Limit on the bytes of a file's name that its temporary name repeats.
const NAME_KEPT: usize = 100;
/// Age at which a temporary file without a usable lock belongs to a command that was killed.
const ABANDONED: Duration = Duration::from_secs(24 * 60 * 60);

/// A file that is removed on drop unless it got its final name.
#[derive(Debug)]
pub struct TempFile {
    path: PathBuf,
    /// Open for writing.
    pub file: File,
    armed: bool,
}

impl TempFile {
    /// Creates a temporary file beside the later file `name` in `folder`.
    ///
    /// The temporary name contains host, process and a counter, so that no two attempts share it.
    /// # Errors
    /// Returns an error if the operating system refuses.
    pub fn create(folder: impl AsRef<Path>, name: &str) -> Result<TempFile> {
        let folder = folder.as_ref();
        for _ in 0..2 {
            let made = TempFile::named(folder, name)?;
            if made.hold()? {
                return Ok(made);
            }
        }
        // Two sweeps in a row are unlikely: this file system does not count the names of a file.
        let made = TempFile::named(folder, name)?;
        made.hold()?;
        Ok(made)
    }

    fn named(folder: &Path, name: &str) -> Result<TempFile> {
        static COUNTER: AtomicU32 = AtomicU32::new(0);
        let host = host();
        let nanos = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().subsec_nanos();
        let count = COUNTER.fetch_add(1, Ordering::Relaxed);
        let pid = std::process::id();
        // File systems limit names to 255 bytes, and this name is longer than the later one.
        let name = &name[..name.floor_char_boundary(NAME_KEPT)];
        let path = folder.join(format!(".{name}.{host}-{pid}-{nanos}-{count}{TEMP_SUFFIX}"));
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .open(&path)
            .map_err(|e| Error::io(e, "create", &path))?;
        Ok(TempFile { path, file, armed: true })
    }

    /// Locks the file for [`sweep`]; the kernel releases the lock with the process. Returns false if a sweep removes the
    /// file.
    fn hold(&self) -> Result<bool> {
        // A file system without locks refuses: there, the age of a file decides.
        if let Err(Errno::WOULDBLOCK) = lock(&self.file) {
            return Ok(false);
        }
        let found = patiently(|| self.file.metadata());
        Ok(found.map_err(|e| Error::io(e, "examine", &self.path))?.nlink() > 0)
    }

    /// Returns its current path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Syncs its bytes to disk.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses, for example because the disk is full.
    pub fn sync(&self) -> Result<()> {
        self.file.sync_data().map_err(|e| Error::io(e, "sync to disk", &self.path))
    }

    /// Gives the file the name `target`, which must be on the same file system.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses.
    pub fn publish_new(mut self, target: impl AsRef<Path>) -> Result<Published> {
        let target = target.as_ref();
        let found = self.rename_new(target)?;
        self.armed = found == Published::AlreadyExists;
        Ok(found)
    }

    /// As [`rename_new`], but treats a file server's answer to a repeated request as success: the
    /// first request was done.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses.
    pub fn rename_new(&self, target: impl AsRef<Path>) -> Result<Published> {
        let target = target.as_ref();
        match rename_new(&self.path, target) {
            Ok(Published::AlreadyExists) if self.is_at(target)? => {
                remove_if_exists(&self.path)?; // the other name of a link
                Ok(Published::New)
            }
            Err(error) if error.is_missing() && self.is_at(target)? => Ok(Published::New),
            found => found,
        }
    }

    /// Returns true if this file has the name `target`.
    ///
    /// # Errors
    /// Returns an error if the operating system does not answer.
    fn is_at(&self, target: &Path) -> Result<bool> {
        let own =
            patiently(|| self.file.metadata()).map_err(|e| Error::io(e, "examine", target))?;
        match patiently(|| fs::symlink_metadata(target)) {
            Ok(there) => Ok((own.dev(), own.ino()) == (there.dev(), there.ino())),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(e) => Err(Error::io(e, "examine", target)),
        }
    }

    /// As [`TempFile::publish_new`], but replaces an existing file.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses.
    pub fn publish_over(mut self, target: impl AsRef<Path>) -> Result<()> {
        let target = target.as_ref();
        match uninterrupted(|| fs::rename(&self.path, target)) {
            // The answer to a second request, as in `rename_new`.
            Err(e) if e.kind() == io::ErrorKind::NotFound && self.is_at(target)? => {}
            done => done.map_err(|e| Error::io(e, "rename to", target))?,
        }
        self.armed = false;
        Ok(())
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        if self.armed {
            // An error is harmless: the rest is found by its suffix and removed later.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Returns the name of this machine, as temporary names contain it.
fn host() -> String {
    let uname = rustix::system::uname();
    let name = uname.nodename().to_string_lossy();
    let plain = name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' });
    plain.take(64).collect()
}

fn lock(file: &File) -> rustix::io::Result<()> {
    retry_on_intr(|| flock(file, FlockOperation::NonBlockingLockExclusive))
}

/// Returns true for a name in the form of [`TempFile::create`].
pub fn is_temporary(name: &str) -> bool {
    host_of(name).is_some()
}

/// Returns the machine that a temporary name contains; `None` for other names.
fn host_of(name: &str) -> Option<&str> {
    let own = name.strip_prefix('.')?.strip_suffix(TEMP_SUFFIX)?;
    let (_, attempt) = own.rsplit_once('.')?;
    let mut numbers = attempt.rsplitn(4, '-');
    let counted = numbers.by_ref().take(3).filter(|n| is_number(n)).count();
    numbers.next().filter(|_| counted == 3)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Removes the temporary files that killed commands left in `folder`. A running command holds a lock on each of its
/// files. Locks may not reach other machines: their files stay for a day, as do those on file systems without locks.
/// A file that this user may not open or remove stays.
///
/// # Errors
/// Returns an error if the machine fails. A missing folder is not an error.
pub fn sweep(folder: impl AsRef<Path>) -> Result<()> {
    let folder = folder.as_ref();
    let entries = match patiently(|| fs::read_dir(folder)) {
        Err(e) => return unless_machine(Error::io(e, "read the folder", folder)),
        Ok(entries) => entries,
    };
    let host = host();
    for entry in entries {
        let entry = entry.map_err(|e| Error::io(e, "read the folder", folder))?;
        let name = entry.file_name();
        let Some(maker) = name.to_str().and_then(host_of) else { continue };
        let path = entry.path();
        remove_if_abandoned(&path, maker == host).or_else(unless_machine)?;
    }
    Ok(())
}

fn remove_if_abandoned(path: &Path, is_local: bool) -> Result<()> {
    if is_abandoned(path, is_local)? { remove_if_exists(path) } else { Ok(()) }
}

/// Returns the error if the machine failed; what this user may not do, or another command has done, is none.
fn unless_machine(error: Error) -> Result<()> {
    match error.blame() {
        Blame::Data | Blame::Lasting => Ok(()),
        _ => Err(error),
    }
}

/// Returns true if no running command writes the temporary file at `path`; `is_local` if this machine made it.
fn is_abandoned(path: &Path, is_local: bool) -> Result<bool> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let file =
        patiently(|| OpenOptions::new().read(true).write(true).custom_flags(flags).open(path))
            .map_err(|e| unexamined(e, path))?;
    match lock(&file) {
        Ok(()) if is_local => return Ok(true),
        Err(Errno::WOULDBLOCK) => return Ok(false),
        _ => {}
    }
    let found = patiently(|| file.metadata()).map_err(|e| unexamined(e, path))?;
    let modified = found.modified().map_err(|e| unexamined(e, path))?;
    // A time in the future was made by another clock.
    Ok(SystemTime::now().duration_since(modified).is_ok_and(|age| age > ABANDONED))
}

fn unexamined(e: io::Error, path: &Path) -> Error {
    Error::io(e, "examine", path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri lacks its system calls")]
    fn a_temporary_file_leaves_nothing_behind() {
        let dir = tempfile::tempdir().unwrap();
        drop(TempFile::create(dir.path(), "a.tar").unwrap());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn temporary_names_are_known_again_and_never_too_long() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["a.tar", "no-dots", &"long".repeat(60), &"\u{e9}".repeat(120), ".x-1-2-3.tmp"]
        {
            let temp = TempFile::create(dir.path(), name).unwrap();
            let given = temp.path().file_name().unwrap().to_str().unwrap();
            assert!(is_temporary(given), "{given}");
        }
        for others in
            ["a.tmp", ".a.tmp", ".a.b-1-2.tmp", ".a.h-1-2-x.tmp", ".a.h-1-2-3", ".a-1-2-3.tmp"]
        {
            assert!(!is_temporary(others), "{others}");
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri lacks its system calls")]
    fn a_sweep_removes_the_files_of_killed_commands_alone() {
        let dir = tempfile::tempdir().unwrap();
        let running = TempFile::create(dir.path(), "a.tar").unwrap();
        let killed = dir.path().join(format!(".a.tar.{}-1-2-3.tmp", host()));
        let young = dir.path().join(".a.x-1-2-3.tmp");
        let old = dir.path().join(".a.x-1-2-4.tmp");
        let other = dir.path().join(".mine.tmp");
        for path in [&killed, &young, &old, &other] {
            fs::write(path, b"part").unwrap();
        }
        let before = SystemTime::now() - ABANDONED - Duration::from_secs(60);
        File::options().write(true).open(&old).unwrap().set_modified(before).unwrap();
        sweep(dir.path()).unwrap();
        let mut left = names(dir.path());
        left.sort();
        let mut kept: Vec<_> = [running.path(), &young, &other]
            .map(|path| path.file_name().unwrap().to_str().unwrap().to_string())
            .into();
        kept.sort();
        assert_eq!(left, kept);
        running.publish_over(dir.path().join("a.tar")).unwrap();
        sweep(dir.path().join("none")).unwrap();
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri lacks its system calls")]
    fn a_file_that_a_sweep_removed_before_its_lock_is_not_used() {
        let dir = tempfile::tempdir().unwrap();
        let made = TempFile::named(dir.path(), "a.tar").unwrap();
        sweep(dir.path()).unwrap();
        assert_eq!(names(dir.path()).len(), 0);
        assert!(!made.hold().unwrap());
        let again = TempFile::create(dir.path(), "a.tar").unwrap();
        sweep(dir.path()).unwrap();
        assert!(again.hold().unwrap());
    }
}
