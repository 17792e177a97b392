//! `Cache`: the results of sound shards, which are not read again while nothing has changed.
//!
//! | module | task |
//! |---|---|
//! | `state` | the state of a file, and whether a later change would show in it |
//! | `record` | the record of one shard, and its bytes on disk |
//! | `aging` | which records are removed when a cache is opened |
//!
//! A record is a file of its own, written when the shard was verified: a verification that is killed goes on where it
//! ended. A record that cannot be read, is damaged, or is of another version is none.

mod aging;
mod record;
pub(crate) mod state;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use serde_json::Value;
use tarflume_base::Failure;
use tarflume_formats::message;
use tarflume_formats::message::{Message, Name};
use tarflume_formats::publish::{create_folders, sweep, write_as};
use tarflume_formats::{Durability, Error, IgnorePoison, files, output};

use aging::Limits;
pub(crate) use record::ShardKey;
use record::{ENDING, Record};

/// The folder of the records.
#[derive(Debug)]
pub struct Cache {
    folder: PathBuf,
    /// The first record that could not be written.
    failure: Mutex<Option<Error>>,
}

impl Cache {
    /// Opens the cache in `folder`, and creates the folder. Once a day, removes the records of shards that are gone, those
    /// that were not written for half a year, and the oldest ones beyond 1 GiB.
    ///
    /// # Errors
    /// Returns an error for a folder in a data set, and if the operating system refuses.
    pub fn open(folder: &Path) -> Result<Cache, Failure> {
        let place = folder.join("record.verified");
        output::must_be_outside(&place).map_err(|error| refused(folder, error.message()))?;
        create_folders(folder)?;
        sweep(folder)?;
        aging::daily(folder, Limits::USUAL)?;
        Ok(Cache { folder: folder.to_path_buf(), failure: Mutex::new(None) })
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
