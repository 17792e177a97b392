//! Source files: read once, into given memory, and compared with the plan.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use tarflume_formats::files::{self, Patient};

/// Returns a digest of a modification time, so that a plan keeps four bytes of it instead of
/// twelve.
///
/// The mixing is the finalizer of splitmix64 (Steele, Lea and Flood, 2014).
pub fn stamp(seconds: i64, nanoseconds: i64) -> u32 {
    let mut z = (seconds as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ nanoseconds as u64;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) as u32).max(1)
}

/// The digest of a modification time that is not known: it is not compared.
pub const UNKNOWN_TIME: u32 = 0;

/// Returns the path of a part: root, path under it, extension. Paths are bytes of any encoding.
pub fn part_path(root: &Path, source: &[u8], ext: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    let mut root = root.as_os_str().as_bytes();
    while let Some(shorter) = root.strip_suffix(b"/") {
        root = shorter;
    }
    let mut path = Vec::with_capacity(root.len() + source.len() + ext.len() + 2);
    path.extend_from_slice(root);
    path.push(b'/');
    path.extend_from_slice(source);
    if !ext.is_empty() {
        path.push(b'.');
        path.extend_from_slice(ext);
    }
    PathBuf::from(std::ffi::OsStr::from_bytes(&path))
}

/// Returns a path as text for a message.
pub fn shown_path(path: &Path) -> String {
    use std::os::unix::ffi::OsStrExt;
    tarflume_formats::name::shown(path.as_os_str().as_bytes())
}

/// Why a file could not be read as planned.
#[derive(Debug)]
pub enum ReadFault {
    /// The operating system refused.
    Refused(io::Error),
    /// It differs from the plan; the text names the difference.
    Changed(String),
}

impl From<io::Error> for ReadFault {
    fn from(error: io::Error) -> ReadFault {
        ReadFault::Refused(error)
    }
}

/// A file being read that must have the planned size and, unless times are ignored, time.
#[derive(Debug)]
pub struct PlannedFile {
    file: File,
    size: u64,
    stamp: Option<u32>,
    read: u64,
}

impl PlannedFile {
    /// Reads `file` from its start. With a `stamp` of `None` only its size is compared.
    pub fn new(file: File, size: u64, stamp: Option<u32>) -> PlannedFile {
        PlannedFile { file, size, stamp, read: 0 }
    }

    /// Fills `piece` with the next bytes.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses or the file ends too early.
    pub fn fill(&mut self, piece: &mut [u8]) -> Result<(), ReadFault> {
        let mut filled = 0;
        while filled < piece.len() {
            match Patient(&self.file).read(&mut piece[filled..]) {
                Ok(0) => {
                    let found = self.read + filled as u64;
                    let text = format!(
                        "it has {found} bytes now, not the {} that were planned",
                        self.size
                    );
                    return Err(ReadFault::Changed(text));
                }
                Ok(n) => filled += n,
                // Regular files never return this: a pipe or device has replaced the file.
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                    let text = "it is a pipe or device now, and was a file when it was planned";
                    return Err(ReadFault::Changed(text.into()));
                }
                Err(e) => return Err(e.into()),
            }
        }
        self.read += filled as u64;
        Ok(())
    }

    /// Checks after the last byte whether the file still matches the plan. Must run after reading,
    /// so that a change during the read is detected.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses, or if the file has another size or
    /// modification time.
    pub fn check(&self) -> Result<(), ReadFault> {
        let now = files::patiently(|| Ok(rustix::fs::fstat(&self.file)?))?;
        let size = now.st_size as u64; // regular files have no negative size
        if size != self.size {
            let text = format!("it has {size} bytes now, not the {} that were planned", self.size);
            return Err(ReadFault::Changed(text));
        }
        match self.stamp {
            Some(planned) if planned != stamp(now.st_mtime, now.st_mtime_nsec as i64) => {
                Err(ReadFault::Changed("it was modified after it was planned".into()))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_of_a_part_has_one_slash_behind_its_root() {
        for (root, path) in
            [("photos", "photos/a/1.jpg"), ("photos//", "photos/a/1.jpg"), ("/", "/a/1.jpg")]
        {
            assert_eq!(part_path(Path::new(root), b"a/1", b"jpg"), Path::new(path));
            let shown = part_path(Path::new(root), b"a/1", b"jpg");
            assert_eq!(shown.to_str(), Some(path));
        }
    }
}
