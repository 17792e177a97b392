//! `Cache`: a folder of token ids by the content of their text. Runs may share it.
//!
//! Files appear whole, by a rename. A damaged file is the same as none.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tarflume_formats::publish::{
    Durability, create_folders, folder_of, is_temporary, remove_if_exists, write_as,
};
use tarflume_formats::{Error, files};
use tarflume_packer::Failure;

use crate::entry;
use crate::ids::Ids;
use crate::unit::Key;

/// Age at which a temporary file belongs to a run that was killed.
const ABANDONED: Duration = Duration::from_secs(24 * 60 * 60);

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
                entries(&folder)?.iter().try_for_each(|path| sweep(path))?;
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
    let refused = |e| Failure::from(Error::io(e, "list", folder));
    let listed = files::patiently(|| fs::read_dir(folder)).map_err(refused)?;
    listed.map(|entry| entry.map(|entry| entry.path()).map_err(refused)).collect()
}

/// Removes the file if it is temporary and old.
fn sweep(path: &Path) -> Result<(), Failure> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if !is_temporary(&name) {
        return Ok(());
    }
    let found = match files::metadata(path, "examine") {
        Err(error) if error.is_missing() => return Ok(()), // it got its name meanwhile
        found => found?,
    };
    let age = found.modified().ok().and_then(|at| SystemTime::now().duration_since(at).ok());
    if age.is_some_and(|age| age > ABANDONED) {
        remove_if_exists(path)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_ids_count_as_none_and_are_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::open(dir.path().join("a/b")).unwrap();
        let (key, mut ids) = (Key([7; 32]), Ids::default());
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
    fn files_of_killed_runs_are_removed_after_a_day() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("ab");
        fs::create_dir(&folder).unwrap();
        let (old, young) = (folder.join(".x.host-1-2-3.tmp"), folder.join(".x.host-1-2-4.tmp"));
        for path in [&old, &young] {
            fs::write(path, b"part").unwrap();
        }
        let before = SystemTime::now() - ABANDONED - Duration::from_secs(60);
        fs::File::options().write(true).open(&old).unwrap().set_modified(before).unwrap();
        Cache::open(dir.path().to_path_buf()).unwrap();
        let left: Vec<_> = entries(&folder).unwrap();
        assert_eq!(left, [young]);
    }
}
