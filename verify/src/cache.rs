//! `Cache`: the results of sound shards, which are not read again while nothing has changed.
//!
//! | module | task |
//! |---|---|
//! | `record` | the record of one shard, and its bytes on disk |
//! | `state` | the state of a file, and whether a later change would show in it |
//!
//! A record is a file of its own, written when the shard was verified: a verification that is killed goes on where it
//! ended. A record that cannot be read, is damaged, or is of another version is none. Each is at most 1 MiB, and records
//! that were not written for half a year are removed.

mod record;
pub(crate) mod state;

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, SystemTime};

use serde_json::Value;
use tarflume_base::Failure;
use tarflume_formats::message;
use tarflume_formats::message::{Message, Name};
use tarflume_formats::publish::{create_folders, remove_if_exists, sweep, write_as};
use tarflume_formats::{Durability, Error, IgnorePoison, files, output};

use record::Record;
pub(crate) use record::ShardKey;

/// What the names of records end with.
const ENDING: &str = "verified";
/// Records that were not written for this long are removed.
const OLD: Duration = Duration::from_secs(180 * 24 * 3600);

/// The folder of the records.
#[derive(Debug)]
pub struct Cache {
    folder: PathBuf,
    /// The first record that could not be written.
    failure: Mutex<Option<Error>>,
}

impl Cache {
    /// Opens the cache in `folder`, and creates the folder.
    ///
    /// # Errors
    /// Returns an error for a folder in a data set, and if the operating system refuses.
    pub fn open(folder: &Path) -> Result<Cache, Failure> {
        let place = folder.join("record.verified");
        output::must_be_outside(&place).map_err(|error| refused(folder, error.message()))?;
        create_folders(folder)?;
        sweep(folder)?;
        let cache = Cache { folder: folder.to_path_buf(), failure: Mutex::new(None) };
        cache.remove_old()?;
        Ok(cache)
    }

    /// Opens the cache of this user: `$XDG_CACHE_HOME/tarflume/verify`, or `~/.cache/tarflume/verify`.
    ///
    /// # Errors
    /// Returns an error if neither variable names a folder, and the errors of [`Cache::open`].
    pub fn of_user() -> Result<Cache, Failure> {
        let caches = variable("XDG_CACHE_HOME").map(PathBuf::from);
        let caches = caches.or_else(|| Some(PathBuf::from(variable("HOME")?).join(".cache")));
        match caches.filter(|caches| caches.is_absolute()) {
            Some(caches) => Cache::open(&caches.join("tarflume").join("verify")),
            None => {
                let text = message!("{cache}: neither XDG_CACHE_HOME nor HOME names a folder; give the option the path of one";
                    cache = Name::Cache);
                Err(Failure::usage(text))
            }
        }
    }

    /// Returns the folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Refuses a folder in one of these data sets.
    ///
    /// # Errors
    /// Returns the refusal, and an error if the operating system does not answer.
    pub(crate) fn must_be_outside(&self, sets: &[PathBuf]) -> Result<(), Failure> {
        let own = resolve(&self.folder)?;
        for set in sets {
            if files::is_folder(set)? && own.starts_with(resolve(set)?) {
                let text = "this folder is in a folder that is verified; give another one";
                return Err(refused(&self.folder, &text.into()));
            }
        }
        Ok(())
    }

    /// Returns what is known of a shard in this state; `None` if that is nothing.
    pub(crate) fn look_up(&self, key: &ShardKey) -> Option<Value> {
        Record::read(&self.path(key), key)
    }

    /// Writes what is known of a shard. A failure is kept for the report.
    pub(crate) fn keep(&self, key: &ShardKey, facts: &Value) {
        let Some(bytes) = Record::bytes(key, facts) else { return };
        if let Err(error) = write_as(self.path(key), &bytes, Durability::Cached) {
            self.failure.lock().ignore_poison().get_or_insert(error);
        }
    }

    /// Returns a sentence if records could not be written.
    pub(crate) fn note(&self) -> Option<Message> {
        let failure = self.failure.lock().ignore_poison();
        let error = failure.as_ref()?;
        Some(message!("the cache lacks shards that were verified: {why}"; why = error.placed()))
    }

    fn path(&self, key: &ShardKey) -> PathBuf {
        self.folder.join(format!("{}.{ENDING}", key.name()))
    }

    fn unreadable(&self, error: io::Error) -> Failure {
        Failure::io(error, "read the folder", &self.folder)
    }

    /// Removes records that nobody has written for long.
    fn remove_old(&self) -> Result<(), Failure> {
        for found in fs::read_dir(&self.folder).map_err(|e| self.unreadable(e))? {
            let path = found.map_err(|e| self.unreadable(e))?.path();
            if path.extension().is_none_or(|extension| extension != ENDING) {
                continue;
            }
            // A record that cannot be examined is one that cannot be used.
            let written = fs::metadata(&path).and_then(|found| found.modified()).ok();
            let age = written.and_then(|written| SystemTime::now().duration_since(written).ok());
            if age.is_some_and(|age| age > OLD) {
                remove_if_exists(&path)?;
            }
        }
        Ok(())
    }
}

/// Returns the value of a variable of the environment that is not empty.
fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// Returns the path without links.
fn resolve(path: &Path) -> Result<PathBuf, Failure> {
    files::patiently(|| fs::canonicalize(path)).map_err(|e| Failure::io(e, "find", path))
}

fn refused(folder: &Path, why: &Message) -> Failure {
    let text = message!("{cache}: {folder}: {why}"; cache = Name::Cache, folder = folder, why = why.clone());
    Failure::usage(text).with_file(folder)
}
