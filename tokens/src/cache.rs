//! `Cache`: a folder of token ids by the content of their text. Runs may share it.
//!
//! Files appear whole, by a rename. A damaged file is the same as none.

#[doc(hidden)]
pub mod entry;

use std::fs;
use std::path::{Path, PathBuf};

use tarflume_base::Failure;
use tarflume_formats::publish::{Durability, create_folders, folder_of, sweep, write_as};
use tarflume_formats::{Error, files};

use crate::encoding::ids::Ids;
use crate::unit::Key;

/// A folder of cached ids.
#[derive(Debug)]
pub(crate) struct Cache {
    root: PathBuf,
}

impl Cache {
    /// Opens the cache in `root`; removes temporary files of killed runs.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses.
    pub(crate) fn open(root: PathBuf) -> Result<Cache, Failure> {
        create_folders(&root)?;
        for folder in entries(&root)? {
            if files::is_folder(&folder)? {
                sweep(&folder)?;
            }
        }
        Ok(Cache { root })
    }

    fn path(&self, key: &Key) -> PathBuf {
        let hex = blake3::Hash::from_bytes(key.0).to_hex();
        self.root.join(&hex[..2]).join(&hex[2..])
    }

    /// Returns the ids of a unit; `None` if there are none, or if they are damaged.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses to read.
    pub(crate) fn load(&self, key: &Key) -> Result<Option<Ids>, Failure> {
        match files::read_whole(&self.path(key), "read the cached ids") {
            Ok(bytes) => Ok(entry::parse(&bytes)),
            Err(error) if error.is_missing() => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Stores the ids of a unit. They are not synced: the digest shows what a power failure
    /// damaged.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses.
    pub(crate) fn store(&self, key: &Key, ids: &Ids) -> Result<(), Failure> {
        let path = self.path(key);
        let bytes = entry::to_bytes(ids).ok_or_else(|| {
            Failure::bad_data("a document has more than 4,294,967,295 ids; split it")
        })?;
        create_folders(folder_of(&path))?;
        Ok(write_as(&path, &bytes, Durability::Cached)?)
    }
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let listed = files::patiently(|| fs::read_dir(folder)).map_err(|e| unlisted(e, folder))?;
    listed.map(|entry| entry.map(|entry| entry.path()).map_err(|e| unlisted(e, folder))).collect()
}

fn unlisted(e: std::io::Error, folder: &Path) -> Failure {
    Failure::from(Error::io(e, "list", folder))
}

#[cfg(test)]
mod tests {
    use tarflume_formats::publish::TempFile;

    use super::*;

    #[test]
    fn damaged_ids_count_as_none_and_are_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::open(dir.path().join("a/b")).unwrap();
        let key = Key([7; 32]);
        let mut ids = Ids::default();
        assert_eq!(cache.load(&key).unwrap(), None);
        ids.push([1, 2, 3]);
        cache.store(&key, &ids).unwrap();
        assert_eq!(cache.load(&key).unwrap().as_ref(), Some(&ids));
        let path = cache.path(&key);
        let mut bytes = fs::read(&path).unwrap();
        bytes[40] ^= 1;
        fs::write(&path, &bytes).unwrap();
        assert_eq!(cache.load(&key).unwrap(), None);
        cache.store(&key, &ids).unwrap();
        assert_eq!(cache.load(&key).unwrap(), Some(ids));
    }

    #[test]
    fn files_of_killed_runs_are_removed_and_those_of_others_stay() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("ab");
        fs::create_dir(&folder).unwrap();
        let running = TempFile::create(&folder, "x").unwrap();
        let name = running.path().file_name().unwrap().to_str().unwrap();
        let killed = folder.join(name.replace(".x.", ".y."));
        fs::write(&killed, b"part").unwrap();
        Cache::open(dir.path().to_path_buf()).unwrap();
        assert_eq!(entries(&folder).unwrap(), [running.path()]);
    }
}
