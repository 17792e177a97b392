//! `Identity`: detects that a shard was truncated, replaced or written to while it was open.
//!
//! Compares metadata and creates the error; opens nothing.

use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use tarflume_formats::files;
use tarflume_types::{Error, ErrorKind, Result};

/// Identifies one state of one file: device, inode, length, modification time. [`Identity::of_object`] makes one of bytes
/// that are no file.
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
    /// The identity of an open file. `path` is used in messages.
    ///
    /// # Errors
    /// Returns an error if the metadata cannot be read.
    pub fn of(file: &File, path: impl AsRef<Path>) -> Result<Identity> {
        let path = path.as_ref();
        let found = files::patiently(|| file.metadata());
        Ok(Identity::from(&found.map_err(|e| refused(e, "look at", path))?))
    }

    /// The identity of the file that `path` names at the moment.
    ///
    /// # Errors
    /// As [`Identity::of`]. Returns an error if the file does not exist.
    pub fn at(path: impl AsRef<Path>) -> Result<Identity> {
        let path = path.as_ref();
        match files::patiently(|| fs::metadata(path)) {
            Ok(found) => Ok(Identity::from(&found)),
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                let text = "the file was removed while it was in use";
                Err(Error::new(ErrorKind::Stale, text).with_path(path))
            }
            Err(e) => Err(refused(e, "look at", path)),
        }
    }

    /// The identity of `length` bytes that are no file. `state` names them: two states of the same object have
    /// different names, for example its URL with its ETag.
    ///
    /// ```
    /// use tarflume::Identity;
    ///
    /// let first = Identity::of_object("memory/000.tar, state 1", 4096);
    /// let second = Identity::of_object("memory/000.tar, state 2", 4096);
    /// assert!(first.expect(&second, "000.tar").is_err());
    /// ```
    pub fn of_object(state: &str, length: u64) -> Identity {
        let hash = blake3::hash(state.as_bytes());
        Identity {
            device: word(0, hash.as_bytes()),
            inode: word(8, hash.as_bytes()),
            length,
            modified: (0, 0),
        }
    }

    /// Length of the file in bytes.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Checks that `now` is the same state of the same file.
    ///
    /// # Errors
    /// [`ErrorKind::Truncated`]: the file is shorter. [`ErrorKind::Stale`]: it is a different file, or was
    /// written to.
    pub fn expect(&self, now: &Identity, path: impl AsRef<Path>) -> Result<()> {
        if self == now {
            return Ok(());
        }
        let (kind, text) = if (self.device, self.inode) != (now.device, now.inode) {
            let text = "the file was replaced by another one of the same name while it was in \
                        use; open the data set again";
            (ErrorKind::Stale, text.to_string())
        } else if now.length < self.length {
            let text = format!(
                "the file was truncated while it was in use: from {} to {} bytes",
                self.length, now.length
            );
            (ErrorKind::Truncated, text)
        } else {
            let text = "the file was written to while it was in use; publish new data under a \
                        temporary name and rename it";
            (ErrorKind::Stale, text.to_string())
        };
        Err(Error::new(kind, text).with_path(path))
    }
}

fn word(at: usize, bytes: &[u8]) -> u64 {
    bytes[at..at + 8].iter().fold(0, |n, b| n << 8 | u64::from(*b))
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

/// Converts an error of opening a shard. Adds the remedy if `path` is a folder.
pub(crate) fn named_folder(error: tarflume_formats::Error, path: &Path) -> Error {
    if error.io_error().is_some_and(|e| e.kind() == io::ErrorKind::IsADirectory) {
        let text = "this is a folder, not a shard; name the folder as the data set itself";
        return Error::usage(text).with_path(path);
    }
    error.into()
}

/// Converts an operating system error of `doing` something with `path`.
pub(crate) fn refused(error: io::Error, doing: &str, path: &Path) -> Error {
    tarflume_formats::Error::io(error, doing, path).into()
}
