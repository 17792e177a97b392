//! Checks that unpacked files reached the disk. A full server or failing disk reports its error
//! after the write, when the system writes its cache back.
//!
//! One `syncfs` at the end covers the whole file system: syncing each file would take milliseconds,
//! and there may be millions. Before Linux 5.8 `syncfs` does not report such errors, so each file
//! is synced there.

use std::fs::File;
use std::io;
use std::path::Path;

use tarflume_base::Failure;

/// Syncs what is written below one folder.
#[derive(Debug)]
pub(crate) struct WriteCheck {
    /// Opened before the first write: `syncfs` reports errors since then.
    root: File,
    /// True if each file is synced.
    each: bool,
}

impl WriteCheck {
    /// Starts to watch the file system of the folder `out`.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses.
    pub(crate) fn of(out: &Path) -> Result<WriteCheck, Failure> {
        let root = File::open(out).map_err(|e| Failure::io(e, "open the folder", out))?;
        let release = rustix::system::uname().release().to_string_lossy().into_owned();
        Ok(WriteCheck { root, each: !syncfs_reports(&release) })
    }

    /// Syncs one file if the call at the end would not report its errors.
    ///
    /// # Errors
    /// Returns an error if the file was not written.
    pub(crate) fn one(&self, file: &File) -> io::Result<()> {
        if self.each { file.sync_data() } else { Ok(()) }
    }

    /// Syncs everything that was written.
    ///
    /// # Errors
    /// Returns an error if some file was not written.
    pub(crate) fn all(&self, out: &Path) -> Result<(), Failure> {
        let synced = rustix::io::retry_on_intr(|| rustix::fs::syncfs(&self.root));
        synced.map_err(|e| Failure::io(e.into(), "sync to disk", out))
    }
}

/// Returns true for Linux 5.8 and later.
fn syncfs_reports(release: &str) -> bool {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|n| n.parse().unwrap_or(0));
    let version: (u32, u32) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    version >= (5, 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_release_decides_whether_sync_errors_are_reported() {
        for new in ["5.8.0", "5.15.0-91-generic", "6.1", "10.0.1"] {
            assert!(syncfs_reports(new), "{new}");
        }
        for old in ["4.18.0-553.el8_10.x86_64", "5.7.19", "3.10", ""] {
            assert!(!syncfs_reports(old), "{old}");
        }
    }
}
