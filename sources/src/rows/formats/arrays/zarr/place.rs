//! `Place`: where the files of arrays are, a folder or the prefix of a store, and one open file of them.
//!
//! Tells a file that does not exist from each other refusal. In a store, an object is pinned to the state that it had when
//! it was opened.

use std::fs::{File, Metadata};
use std::io;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use tarflume_base::Failure;
use tarflume_formats::files::{self, patiently};
#[cfg(feature = "remote")]
use tarflume_store::{Bytes, ErrorKind, Object, Store};

/// Where files are.
#[derive(Debug, Clone)]
pub(crate) enum Place {
    /// A folder.
    Folder(PathBuf),
    /// Objects of a store whose names begin with `under`, which is empty or ends with a slash.
    #[cfg(feature = "remote")]
    Store {
        /// The store.
        store: Store,
        /// The start of the names.
        under: String,
    },
}

impl Place {
    /// Returns the place under this one.
    pub(super) fn join(&self, name: &str) -> Place {
        match self {
            Place::Folder(folder) => Place::Folder(folder.join(name)),
            #[cfg(feature = "remote")]
            Place::Store { store, under } => {
                Place::Store { store: store.clone(), under: format!("{under}{name}/") }
            }
        }
    }

    /// Returns the path or the URL of a file; of the place itself without a name.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        match self {
            Place::Folder(folder) if name.is_empty() => folder.clone(),
            Place::Folder(folder) => folder.join(name),
            #[cfg(feature = "remote")]
            Place::Store { store, under } => {
                store.place(&format!("{under}{name}")).trim_end_matches('/').into()
            }
        }
    }

    /// Returns the folder; `None` for a store, which lists nothing here.
    pub(super) fn folder(&self) -> Option<&Path> {
        match self {
            Place::Folder(folder) => Some(folder),
            #[cfg(feature = "remote")]
            Place::Store { .. } => None,
        }
    }

    /// Returns true if there is a file with this name.
    ///
    /// # Errors
    /// Returns an error if the operating system or the store refuses to say.
    pub(super) fn has(&self, name: &str) -> Result<bool, Failure> {
        match self {
            Place::Folder(folder) => Ok(files::exists(&folder.join(name))?),
            #[cfg(feature = "remote")]
            Place::Store { store, under } => {
                present(store.facts(&format!("{under}{name}"))).map(|found| found.is_some())
            }
        }
    }

    /// Returns the bytes of a small file, `None` if there is none.
    ///
    /// # Errors
    /// Returns an error for a file of more than `most` bytes, and if the operating system or the store refuses.
    pub(super) fn small(&self, name: &str, most: u64) -> Result<Option<Vec<u8>>, Failure> {
        if self.folder().is_some() && !self.has(name)? {
            return Ok(None); // there may be no folder at all
        }
        let Some(file) = self.open(name, true)? else { return Ok(None) };
        let path = self.path(name);
        let bytes = file.length();
        if bytes > most {
            let text = format!("it has {bytes} bytes, and {most} are the limit of metadata");
            return Err(Failure::usage(text).in_file(path));
        }
        Ok(Some(file.read(0..bytes, &path)?))
    }

    /// Opens a file, `None` if there is none. `whole` tells that all of its bytes will be read.
    ///
    /// # Errors
    /// Returns an error for a link to nothing, and if the operating system or the store refuses.
    pub(super) fn open(
        &self,
        name: &str,
        #[cfg_attr(not(feature = "remote"), expect(unused_variables))] whole: bool,
    ) -> Result<Option<OpenFile>, Failure> {
        match self {
            Place::Folder(folder) => open_in(&folder.join(name)),
            #[cfg(feature = "remote")]
            Place::Store { store, under } => {
                let name = format!("{under}{name}");
                if whole {
                    let found = match store.get(&name) {
                        // It is read by ranges.
                        Err(error) if error.kind() == ErrorKind::TooLong => {
                            store.object(&name).map(OpenFile::Object)
                        }
                        found => {
                            found.map(|(bytes, facts)| OpenFile::Whole { bytes, tag: facts.tag })
                        }
                    };
                    return present(found);
                }
                present(store.object(&name).map(OpenFile::Object))
            }
        }
    }
}

/// Turns the error of an object that does not exist into `None`.
#[cfg(feature = "remote")]
fn present<T>(found: tarflume_store::Result<T>) -> Result<Option<T>, Failure> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.is_missing() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn open_in(path: &Path) -> Result<Option<OpenFile>, Failure> {
    match files::open(path) {
        Ok((file, found)) => Ok(Some(OpenFile::File { file, found })),
        Err(error) if error.is_missing() => {
            if patiently(|| path.symlink_metadata()).is_ok() {
                let text = "it is a link to a file that does not exist";
                return Err(Failure::bad_data(text).in_file(path));
            }
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

/// An open file.
#[derive(Debug)]
pub(super) enum OpenFile {
    /// A file of this machine.
    File {
        /// The file.
        file: File,
        /// Its length and times when it was opened.
        found: Metadata,
    },
    /// All bytes of an object.
    #[cfg(feature = "remote")]
    Whole {
        /// The bytes.
        bytes: Bytes,
        /// The tag of the object.
        tag: String,
    },
    /// An object whose ranges are read.
    #[cfg(feature = "remote")]
    Object(Object),
}

/// What tells a file from another one that took its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Version {
    /// Length, modification time and number of a file.
    File {
        /// Bytes.
        length: u64,
        /// Seconds and nanoseconds.
        time: (i64, i64),
        /// The inode.
        inode: u64,
    },
    /// The tag of an object.
    #[cfg(feature = "remote")]
    Tag(String),
}

impl OpenFile {
    /// Returns the number of bytes.
    pub(super) fn length(&self) -> u64 {
        match self {
            OpenFile::File { found, .. } => found.len(),
            #[cfg(feature = "remote")]
            OpenFile::Whole { bytes, .. } => bytes.len() as u64,
            #[cfg(feature = "remote")]
            OpenFile::Object(object) => object.length(),
        }
    }

    /// Returns its version.
    pub(super) fn version(&self) -> Version {
        match self {
            OpenFile::File { found, .. } => Version::File {
                length: found.len(),
                time: (found.mtime(), found.mtime_nsec()),
                inode: found.ino(),
            },
            #[cfg(feature = "remote")]
            OpenFile::Whole { tag, .. } => Version::Tag(tag.clone()),
            #[cfg(feature = "remote")]
            OpenFile::Object(object) => {
                Version::Tag(object.tag().expect("it was asked for when it was opened").to_string())
            }
        }
    }

    /// Returns the same object, pinned to its version; `None` for what is opened again.
    pub(super) fn pinned(&self) -> Option<OpenFile> {
        match self {
            #[cfg(feature = "remote")]
            OpenFile::Object(object) => Some(OpenFile::Object(object.clone())),
            _ => None,
        }
    }

    /// Returns length and times of a file of this machine when it was opened.
    pub(super) fn found(&self) -> Option<&Metadata> {
        match self {
            OpenFile::File { found, .. } => Some(found),
            #[cfg(feature = "remote")]
            _ => None,
        }
    }

    /// Returns length and times of a file of this machine now.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses.
    pub(super) fn now(&self, path: &Path) -> Result<Option<Metadata>, Failure> {
        match self {
            OpenFile::File { file, .. } => {
                let now =
                    patiently(|| file.metadata()).map_err(|e| Failure::io(e, "examine", path))?;
                Ok(Some(now))
            }
            #[cfg(feature = "remote")]
            _ => Ok(None),
        }
    }

    /// Reads bytes of it; `path` names it in errors.
    ///
    /// # Errors
    /// Returns an error if the file was cut after it was opened, if the machine has no memory, and if the operating system or
    /// the store refuses.
    pub(super) fn read(&self, range: Range<u64>, path: &Path) -> Result<Vec<u8>, Failure> {
        let length = (range.end - range.start) as usize;
        let mut space = Vec::new();
        space
            .try_reserve_exact(length)
            .map_err(|_| Failure::io(io::ErrorKind::OutOfMemory.into(), "read", path))?;
        match self {
            OpenFile::File { file, .. } => {
                space.resize(length, 0);
                files::read_exact_at(file, &mut space, range.start).map_err(|e| {
                    if e.kind() == io::ErrorKind::UnexpectedEof {
                        let text = format!(
                            "it was cut while it was read: it ends before byte {}",
                            range.end
                        );
                        return Failure::bad_data(text).in_file(path);
                    }
                    Failure::io(e, "read", path)
                })?;
            }
            #[cfg(feature = "remote")]
            OpenFile::Whole { bytes, .. } => {
                space.extend_from_slice(&bytes[range.start as usize..range.end as usize]);
            }
            #[cfg(feature = "remote")]
            OpenFile::Object(object) => {
                space.extend_from_slice(&object.read(range.start, range.end - range.start)?);
            }
        }
        Ok(space)
    }
}
