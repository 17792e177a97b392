//! `RemoteFolder`: the objects of a data set in a store, copied to a temporary folder one shard at a time.
//!
//! Commands that read every byte of a shard work on the copy; messages name the URL. Without the feature
//! `remote`, opening one is an error that says so.

use std::path::{Path, PathBuf};

#[cfg(not(feature = "remote"))]
use tarflume_base::Stop;
use tarflume_base::{Failure, Problem, WorkFolder};

/// A folder in a store, and the local folder for copies of its objects.
#[derive(Debug)]
pub struct RemoteFolder {
    #[cfg(feature = "remote")]
    store: tarflume_store::Store,
    url: String,
    work: WorkFolder,
}

/// A copy of a tar. Dropping it removes the copy.
#[derive(Debug)]
pub struct Copied(PathBuf);

impl Drop for Copied {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0); // the folder goes, too, in the end
    }
}

impl RemoteFolder {
    /// The URL of the folder, without a slash at its end.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The folder for copies.
    pub(crate) fn folder(&self) -> &Path {
        self.work.path()
    }

    /// The URL of an object.
    pub fn place(&self, name: &str) -> PathBuf {
        format!("{}/{name}", self.url).into()
    }

    /// The local path of the copy of an object.
    pub fn copy_of(&self, name: &str) -> PathBuf {
        self.folder().join(name)
    }

    /// Returns the URL of the object whose copy is at `path`, or the URL of the folder if `path` is the folder of copies;
    /// `None` for any other path.
    pub fn original(&self, path: &Path) -> Option<PathBuf> {
        let below = path.strip_prefix(self.folder()).ok()?;
        let is_folder = below.as_os_str().is_empty();
        Some(if is_folder { self.url.clone().into() } else { Path::new(&self.url).join(below) })
    }

    /// Returns a failure about a copy as one about its object.
    pub fn failure(&self, failure: Failure) -> Failure {
        failure.map_paths(|path| self.original(path))
    }

    /// Returns a problem of a copy as one of its object.
    pub fn problem(&self, problem: Problem) -> Problem {
        problem.map_paths(|path| self.original(path))
    }
}

#[cfg(not(feature = "remote"))]
impl RemoteFolder {
    /// # Errors
    /// Returns an error: this program has no access to object stores.
    pub fn open(url: &str, _: &[(String, String)]) -> Result<RemoteFolder, Failure> {
        Err(Failure::not_built(Path::new(url), "remote").with_file(url))
    }

    /// `None`: there is no store.
    pub fn tars(&self) -> Result<Option<Vec<String>>, Failure> {
        Ok(None)
    }

    /// Copies nothing.
    pub fn copy_small(&self, _: &str) -> Result<bool, Failure> {
        Ok(false)
    }

    /// Copies nothing.
    pub fn copy_tar(&self, _: &str, _: &Stop) -> Result<Option<Copied>, Failure> {
        Ok(None)
    }

    /// Never.
    pub fn may_be_newer(&self, _: &str, _: &str) -> Result<bool, Failure> {
        Ok(false)
    }

    /// Writes nothing.
    pub fn send(&self, _: &str, _: bool) -> Result<(), Failure> {
        Ok(())
    }
}

#[cfg(feature = "remote")]
mod stored {
    use std::fs;
    use std::time::UNIX_EPOCH;

    use tarflume_formats::files;
    use tarflume_formats::message;
    use tarflume_formats::message::Name;
    use tarflume_formats::publish::write_whole;
    use tarflume_store::{Options, Store};

    use super::{Copied, RemoteFolder};
    use tarflume_base::Failure;
    use tarflume_base::Stop;
    use tarflume_base::WorkFolder;

    impl RemoteFolder {
        /// Opens a folder by its URL, with options as names and values. Asks nothing.
        ///
        /// # Errors
        /// Returns an error for a wrong URL or option, and if there is no room for copies.
        pub fn open(url: &str, options: &[(String, String)]) -> Result<RemoteFolder, Failure> {
            let pairs = options.iter().map(|(name, value)| (name, value.clone()));
            let options = Options::from_pairs(pairs)?;
            let store = Store::open(url, &options)?;
            let url = store.url().to_string();
            Ok(RemoteFolder { store, url, work: WorkFolder::new()? })
        }

        /// The names of the tars in the folder, sorted; `None` if the server lists nothing.
        ///
        /// # Errors
        /// Returns the errors of the store.
        pub fn tars(&self) -> Result<Option<Vec<String>>, Failure> {
            if self.url.starts_with("http") {
                return Ok(None);
            }
            let listed = self.store.list("")?;
            let names = listed.into_iter().map(|listed| listed.name);
            Ok(Some(names.filter(|name| name.ends_with(".tar") && !name.contains('/')).collect()))
        }

        /// Copies a small object, such as a sidecar. Returns false if it does not exist.
        ///
        /// # Errors
        /// Returns the errors of the store.
        pub fn copy_small(&self, name: &str) -> Result<bool, Failure> {
            let bytes = match self.store.get(name) {
                Ok((bytes, _)) => bytes,
                Err(error) if error.is_missing() => return Ok(false),
                Err(error) => return Err(error.into()),
            };
            let path = self.copy_of(name);
            write_whole(&path, &bytes)?;
            // The times of copies say nothing about the objects, and may be equal. A copied tar is newer than each
            // copied sidecar, so what the sidecar states is compared with it.
            let dated = fs::File::open(&path).and_then(|copy| copy.set_modified(UNIX_EPOCH));
            dated.map_err(|e| Failure::io(e, "set the time of the copy", &path))?;
            Ok(true)
        }

        /// Copies a tar, in ranges. Returns `None` if it does not exist.
        ///
        /// # Errors
        /// Returns the errors of the store, and an error after an interruption.
        pub fn copy_tar(&self, name: &str, stop: &Stop) -> Result<Option<Copied>, Failure> {
            let object = match self.store.object(name) {
                Ok(object) => object,
                Err(error) if error.is_missing() => return Ok(None),
                Err(error) => return Err(error.into()),
            };
            let path = self.copy_of(name);
            let copied = Copied(path.clone());
            let file =
                fs::File::create(&path).map_err(|e| Failure::io(e, "make the copy", &path))?;
            if object.download(&file, &|| stop.requested())? {
                Ok(Some(copied))
            } else {
                Err(Failure::interrupted())
            }
        }

        /// Returns true if a tar may have been changed after its sidecar was written, by the times of both objects.
        ///
        /// # Errors
        /// Returns the errors of the store.
        pub(crate) fn may_be_newer(&self, tar: &str, sidecar: &str) -> Result<bool, Failure> {
            Ok(match (self.modified(tar)?, self.modified(sidecar)?) {
                (Some(tar), Some(sidecar)) => tar >= sidecar,
                _ => true,
            })
        }

        fn modified(&self, name: &str) -> Result<Option<std::time::SystemTime>, Failure> {
            Ok(self.store.facts(name)?.modified)
        }

        /// Writes the object from its copy. Replaces an existing object only if `replace` is true.
        ///
        /// # Errors
        /// Returns the errors of the store, and an error if another object exists.
        pub(crate) fn send(&self, name: &str, replace: bool) -> Result<(), Failure> {
            let bytes = files::read_whole(&self.copy_of(name), "read the copy")?;
            if replace {
                return self.store.replace(name, &bytes).map(drop).map_err(Failure::from);
            }
            if self.store.create(name, &bytes)? {
                Ok(())
            } else {
                Err(Failure::bad_data(message!(
                    "another program has written this object meanwhile; replace it with {force}";
                    force = Name::Force.on()
                ))
                .in_file(self.store.place(name)))
            }
        }
    }
}
