//! How a file gets its final name: written under a name of its own, synced, renamed.
//!
//! Two attempts at the same file never share a temporary name, and the second to finish finds the
//! first one's file and changes nothing: so a task that an engine delivers twice does no harm.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::error::{Error, Result};

/// Every temporary file's name ends so.
pub const TEMP_SUFFIX: &str = ".tmp";

/// How hard to try that a published file survives a power cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// Synced to disk before it gets its name.
    Synced,
    /// Left to the operating system.
    Cached,
}

/// What a rename without replacing found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Published {
    /// The file has its final name now.
    New,
    /// A file of that name was there; it was left as it is and the temporary one removed.
    AlreadyThere,
}

/// A file that is removed again unless it gets its final name.
#[derive(Debug)]
pub struct TempFile {
    path: PathBuf,
    /// Open for writing.
    pub file: File,
    armed: bool,
}

impl TempFile {
    /// Creates a temporary sibling for the later file `name` in `folder`.
    ///
    /// The name holds host, process and a counter, so it is this attempt's alone.
    ///
    /// # Errors
    /// The operating system's refusal.
    pub fn create(folder: &Path, name: &str) -> Result<TempFile> {
        static COUNTER: AtomicU32 = AtomicU32::new(0);
        let uname = rustix::system::uname();
        let host: String = uname
            .nodename()
            .to_string_lossy()
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' })
            .take(64)
            .collect();
        let nanos = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().subsec_nanos();
        let count = COUNTER.fetch_add(1, Ordering::Relaxed);
        let pid = std::process::id();
        let path = folder.join(format!(".{name}.{host}-{pid}-{nanos}-{count}{TEMP_SUFFIX}"));
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .open(&path)
            .map_err(|e| Error::io(e, "create", &path))?;
        Ok(TempFile { path, file, armed: true })
    }

    /// Where it is now.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes its bytes survive a power cut.
    ///
    /// # Errors
    /// The operating system's refusal, a full disk among them.
    pub fn sync(&self) -> Result<()> {
        self.file.sync_data().map_err(|e| Error::io(e, "sync to disk", &self.path))
    }

    /// Gives the file the name `target`, which must be in the same file system.
    ///
    /// # Errors
    /// The operating system's refusal.
    pub fn publish_new(mut self, target: &Path) -> Result<Published> {
        let found = rename_new(&self.path, target)?;
        self.armed = found == Published::AlreadyThere;
        Ok(found)
    }

    /// As [`TempFile::publish_new`], but takes the place of a file that is there.
    ///
    /// # Errors
    /// The operating system's refusal.
    pub fn publish_over(mut self, target: &Path) -> Result<()> {
        fs::rename(&self.path, target).map_err(|e| Error::io(e, "rename to", target))?;
        self.armed = false;
        Ok(())
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        if self.armed {
            // Nothing depends on it: what stays behind is swept by its name.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Renames without replacing; file systems that can't do so in one step get a hard link.
///
/// # Errors
/// The operating system's refusal.
pub fn rename_new(from: &Path, to: &Path) -> Result<Published> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Ok(()) => return Ok(Published::New),
        Err(rustix::io::Errno::EXIST) => return Ok(Published::AlreadyThere),
        // Old kernels and some network file systems know no such flag.
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS | rustix::io::Errno::NOTSUP) => {}
        Err(e) => return Err(Error::io(e.into(), "rename to", to)),
    }
    match fs::hard_link(from, to) {
        Ok(()) => {}
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => return Ok(Published::AlreadyThere),
        Err(e) => return Err(Error::io(e, "link to", to)),
    }
    fs::remove_file(from).map_err(|e| Error::io(e, "remove", from))?;
    Ok(Published::New)
}

/// Writes a small whole file: temporary sibling, sync, rename over what was there.
///
/// # Errors
/// The operating system's refusal; the old file stays then.
pub fn write_whole(target: &Path, bytes: &[u8]) -> Result<()> {
    write_as(target, bytes, Durability::Synced)
}

/// As [`write_whole`], as durable as is asked for.
///
/// # Errors
/// The operating system's refusal; the old file stays then.
pub fn write_as(target: &Path, bytes: &[u8], durability: Durability) -> Result<()> {
    let folder = folder_of(target);
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    let mut temp = TempFile::create(folder, &name)?;
    temp.file.write_all(bytes).map_err(|e| Error::io(e, "write", temp.path()))?;
    if durability == Durability::Synced {
        temp.sync()?;
    }
    temp.publish_over(target)?;
    if durability == Durability::Synced { sync_folder(folder) } else { Ok(()) }
}

/// Makes renames in `folder` survive a power cut.
///
/// # Errors
/// The operating system's refusal.
pub fn sync_folder(folder: &Path) -> Result<()> {
    let opened = File::open(folder).map_err(|e| Error::io(e, "open", folder))?;
    match opened.sync_all() {
        // Some network file systems know no sync of a folder.
        Err(e) if matches!(e.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => {
            Ok(())
        }
        other => other.map_err(|e| Error::io(e, "sync to disk", folder)),
    }
}

/// The folder in which `path` stands.
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
    fn a_temporary_file_leaves_nothing_behind() {
        let dir = tempfile::tempdir().unwrap();
        drop(TempFile::create(dir.path(), "a.tar").unwrap());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn the_second_attempt_finds_the_first_ones_file() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("a.tar");
        for (text, want) in [("one", Published::New), ("two", Published::AlreadyThere)] {
            let mut temp = TempFile::create(dir.path(), "a.tar").unwrap();
            temp.file.write_all(text.as_bytes()).unwrap();
            assert_eq!(temp.publish_new(&target).unwrap(), want);
        }
        assert_eq!(fs::read(&target).unwrap(), b"one");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn write_whole_replaces_what_was_there() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("x");
        write_whole(&target, b"longer text").unwrap();
        write_whole(&target, b"short").unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"short");
    }
}
