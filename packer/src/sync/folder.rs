//! `FolderObjects`: a local folder as the target of a copy. A file gets its name when it is complete.

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use tarflume_base::Failure;
use tarflume_formats::files;
use tarflume_formats::publish::{
    Published, TempFile, create_folders, remove_if_exists, sweep, sync_folder, write_whole,
};

use crate::bucket::{ObjectState, Objects, Put, Stored, UploadHooks};

/// Bytes that are copied between two questions whether to stop.
const PIECE: usize = 4 << 20;

/// The files of one folder.
#[derive(Debug)]
pub(super) struct FolderObjects {
    folder: PathBuf,
    shown: String,
}

impl FolderObjects {
    /// Makes the folder if it is missing, and removes the temporary files of killed copies.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses.
    pub(super) fn open(folder: &Path) -> Result<FolderObjects, Failure> {
        create_folders(folder)?;
        sweep(folder)?;
        Ok(FolderObjects { folder: folder.into(), shown: folder.display().to_string() })
    }

    fn facts_of(&self, name: &str) -> Result<ObjectState, Failure> {
        let found = files::metadata(&self.folder.join(name), "look at")?;
        Ok(ObjectState { length: found.len(), tag: String::new() })
    }
}

impl Objects for FolderObjects {
    fn url(&self) -> &str {
        &self.shown
    }

    fn get(&self, name: &str) -> Result<Option<Stored>, Failure> {
        match files::read_whole(&self.folder.join(name), "read") {
            Ok(bytes) => Ok(Some(Stored { bytes, tag: String::new() })),
            Err(error) if error.is_missing() => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn facts(&self, name: &str) -> Result<Option<ObjectState>, Failure> {
        match files::metadata(&self.folder.join(name), "look at") {
            Ok(found) => Ok(Some(ObjectState { length: found.len(), tag: String::new() })),
            Err(error) if error.is_missing() => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn create(&self, name: &str, bytes: &[u8]) -> Result<Put, Failure> {
        let mut file = TempFile::create(&self.folder, name)?;
        file.file.write_all(bytes).map_err(|e| Failure::io(e, "write", file.path()))?;
        file.sync()?;
        let put = match file.publish_new(self.folder.join(name))? {
            Published::AlreadyExists => Put::Exists,
            _ => Put::Written,
        };
        sync_folder(&self.folder)?;
        Ok(put)
    }

    fn replace(&self, name: &str, bytes: &[u8]) -> Result<ObjectState, Failure> {
        write_whole(self.folder.join(name), bytes)?;
        self.facts_of(name)
    }

    fn upload(
        &self,
        name: &str,
        from: &Path,
        hooks: UploadHooks<'_>,
    ) -> Result<ObjectState, Failure> {
        let (mut source, _) = files::open(from)?;
        let mut target = TempFile::create(&self.folder, name)?;
        let mut bytes = vec![0; PIECE];
        loop {
            if (hooks.stopped)() {
                return Err(Failure::interrupted());
            }
            let read = source.read(&mut bytes).map_err(|e| Failure::io(e, "read", from))?;
            if read == 0 {
                break;
            }
            let written = target.file.write_all(&bytes[..read]);
            written.map_err(|e| Failure::io(e, "write", target.path()))?;
        }
        target.sync()?;
        target.publish_over(self.folder.join(name))?;
        sync_folder(&self.folder)?;
        self.facts_of(name)
    }

    /// A folder has no unfinished uploads.
    fn abort(&self, _: &str, _: &str) -> Result<(), Failure> {
        Ok(())
    }

    fn list(&self, prefix: &str) -> Result<Vec<String>, Failure> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.folder).map_err(|e| Failure::io(e, "list", &self.folder))? {
            let name = entry
                .map_err(|e| Failure::io(e, "list", &self.folder))?
                .file_name()
                .to_string_lossy()
                .into_owned();
            if name.starts_with(prefix) {
                names.push(name);
            }
        }
        names.sort();
        Ok(names)
    }

    fn delete(&self, name: &str) -> Result<(), Failure> {
        Ok(remove_if_exists(self.folder.join(name))?)
    }
}
