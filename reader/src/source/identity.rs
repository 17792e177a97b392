//! Which file it is that stands open: so that a shard that was cut, replaced or written to is noticed.
//!
//! Compares, and finds the sentence; it opens nothing.

use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use tarflume_formats::files;

use crate::error::{Error, ErrorKind, Result};

/// What tells one state of one file from any other: device, inode, length, time of the last write.
///
/// ```
/// use tarflume::Identity;
///
/// # fn main() -> tarflume::Result<()> {
/// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
/// # let shards = made.path();
/// let identity = Identity::at(&shards.join("000.tar"))?;
/// assert!(identity.length() > 0);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    device: u64,
    inode: u64,
    length: u64,
    /// Seconds and nanoseconds.
    modified: (i64, i64),
}

impl Identity {
    /// Of an open file; `path` is for messages.
    ///
    /// # Errors
    /// The operating system's refusal.
    pub fn of(file: &File, path: &Path) -> Result<Identity> {
        let found = files::patiently(|| file.metadata());
        Ok(Identity::from(&found.map_err(|e| refused(e, "look at", path))?))
    }

    /// Of what bears the name `path` now.
    ///
    /// # Errors
    /// As [`Identity::of`]; there is nothing.
    pub fn at(path: &Path) -> Result<Identity> {
        match files::patiently(|| fs::metadata(path)) {
            Ok(found) => Ok(Identity::from(&found)),
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                let text = "the file was removed while it was in use";
                Err(Error::new(ErrorKind::Stale, text).with_path(path))
            }
            Err(e) => Err(refused(e, "look at", path)),
        }
    }

    /// Bytes of the file.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Says that `now` is the same state of the same file.
    ///
    /// # Errors
    /// [`ErrorKind::Truncated`]: it is shorter. [`ErrorKind::Stale`]: it is another file, or was
    /// written to.
    pub fn expect(&self, now: &Identity, path: &Path) -> Result<()> {
        if self == now {
            return Ok(());
        }
        let (kind, text) = if (self.device, self.inode) != (now.device, now.inode) {
            let text = "another file bears its name now: it was replaced while it was in \
                        use; open the data set again";
            (ErrorKind::Stale, text.to_string())
        } else if now.length < self.length {
            let text = format!(
                "the file was cut while it was in use: it has {} bytes now and had {}",
                now.length, self.length
            );
            (ErrorKind::Truncated, text)
        } else {
            let text = "the file was written to while it was in use; publish files under a name \
                        of their own and rename them";
            (ErrorKind::Stale, text.to_string())
        };
        Err(Error::new(kind, text).with_path(path))
    }
}

impl From<&Metadata> for Identity {
    fn from(found: &Metadata) -> Identity {
        Identity {
            device: found.dev(),
            inode: found.ino(),
            length: found.len(),
            modified: (found.mtime(), found.mtime_nsec()),
        }
    }
}

/// The error of opening a shard, with the remedy where it is a folder.
pub(crate) fn named_folder(error: tarflume_formats::Error, path: &Path) -> Error {
    if error.io_error().is_some_and(|e| e.kind() == io::ErrorKind::IsADirectory) {
        let text = "this is a folder and no shard; name the folder as the data set itself";
        return Error::usage(text).with_path(path);
    }
    error.into()
}

/// The operating system's refusal to do something with `path`, as this crate's error.
pub(crate) fn refused(error: io::Error, doing: &str, path: &Path) -> Error {
    tarflume_formats::Error::io(error, doing, path).into()
}
