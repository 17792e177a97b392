//! `SourceCache`: the open shards of a data set by number. A bounded number stays open; the least recently used one
//! is closed.
//!
//! A source that a caller holds stays open until the caller drops it: the bound counts the sources in the cache
//! only. A source that is opened again must be the same file.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, RwLock};

use crate::source::Source;
use crate::source::disk::limit::open_files;
use crate::source::identity::Identity;
use crate::source::open::Open;
use tarflume_formats::IgnorePoison;
use tarflume_types::Result;

/// Open sources by shard number.
#[derive(Debug)]
pub struct SourceCache {
    opener: Arc<dyn Open>,
    entries: Box<[CacheEntry]>,
    /// Numbers of the open shards.
    open: Mutex<Vec<usize>>,
    cap: usize,
    /// Increases whenever a different shard becomes the most recently used.
    clock: AtomicU64,
}

/// A file that a cache opens.
#[derive(Debug)]
pub struct CacheFile {
    /// Its path, as openers get it.
    pub path: PathBuf,
    /// What opens it, if not the opener of the cache.
    pub opener: Option<Arc<dyn Open>>,
}

impl From<PathBuf> for CacheFile {
    fn from(path: PathBuf) -> CacheFile {
        CacheFile { path, opener: None }
    }
}

#[derive(Debug)]
struct CacheEntry {
    file: CacheFile,
    source: RwLock<Option<Arc<dyn Source>>>,
    /// The identity of the file when it was first opened.
    identity: OnceLock<Identity>,
    /// The clock at the last use.
    used: AtomicU64,
}

impl SourceCache {
    /// A cache for `files` with at most `cap` open ones. Opens nothing.
    pub fn new(
        opener: Arc<dyn Open>,
        files: impl IntoIterator<Item: Into<CacheFile>>,
        cap: usize,
    ) -> SourceCache {
        SourceCache {
            opener,
            entries: files
                .into_iter()
                .map(Into::into)
                .map(|file| CacheEntry {
                    file,
                    source: RwLock::new(None),
                    identity: OnceLock::new(),
                    used: AtomicU64::new(0),
                })
                .collect(),
            open: Mutex::new(Vec::new()),
            cap: cap.max(1),
            clock: AtomicU64::new(1),
        }
    }

    /// Default number of open files of one cache: a quarter of the process's limit, at most 4,096. Raises
    /// the soft limit first, as far as the hard limit allows.
    pub fn default_cap() -> usize {
        (open_files() / 4).clamp(1, 4096) as usize
    }

    /// The source of shard `number`. Opens it if necessary.
    ///
    /// # Errors
    /// Returns an error if it cannot be opened or is a different file from the one that was opened first.
    ///
    /// # Panics
    /// Panics if the shard does not exist.
    pub fn get(&self, number: usize) -> Result<Arc<dyn Source>> {
        self.get_known(number, None)
    }

    /// As [`SourceCache::get`], with the identity that the file must have even at its first opening, unless the opener
    /// has identities of its own.
    ///
    /// # Errors
    /// As [`SourceCache::get`].
    ///
    /// # Panics
    /// As [`SourceCache::get`].
    pub fn get_known(&self, number: usize, was: Option<Identity>) -> Result<Arc<dyn Source>> {
        let entry = &self.entries[number];
        self.touch(entry);
        if let Some(source) = &*entry.source.read().ignore_poison() {
            return Ok(source.clone());
        }
        let source = {
            let mut place = entry.source.write().ignore_poison();
            // Another thread may have opened it between the two locks.
            if let Some(source) = &*place {
                return Ok(source.clone());
            }
            let source = self.open(entry, was)?;
            *place = Some(source.clone());
            source
        };
        self.make_room(number);
        Ok(source)
    }

    /// The identity of shard `number`, if it was opened.
    pub(crate) fn identity(&self, number: usize) -> Option<Identity> {
        self.entries.get(number)?.identity.get().copied()
    }

    /// Number of open shards in the cache.
    pub fn open_count(&self) -> usize {
        self.open.lock().ignore_poison().len()
    }

    /// Marks this entry as the most recently used. Writes nothing if it is that already, because most
    /// calls ask for the same shard again and the write would move cache lines between cores.
    fn touch(&self, entry: &CacheEntry) {
        let now = self.clock.load(Ordering::Relaxed);
        if entry.used.load(Ordering::Relaxed) != now {
            let now = self.clock.fetch_add(1, Ordering::Relaxed) + 1;
            entry.used.store(now, Ordering::Relaxed);
        }
    }

    fn open(&self, entry: &CacheEntry, was: Option<Identity>) -> Result<Arc<dyn Source>> {
        let CacheFile { path, opener } = &entry.file;
        let opener = opener.as_ref().unwrap_or(&self.opener);
        // The error of a user's opener may lack the path.
        let (source, identity) = opener.open(path).map_err(|error| error.with_path(path))?;
        let was = was.filter(|_| opener.opens_files(path));
        entry.identity.get_or_init(|| was.unwrap_or(identity)).expect(&identity, path)?;
        Ok(source)
    }

    /// Adds `number` to the list of open shards and closes the least recently used ones. The caller holds
    /// no entry lock, and this function locks an entry only while it holds `open`, so no deadlock is possible.
    fn make_room(&self, number: usize) {
        let mut closed = Vec::new(); // dropped after the lock, because unmapping a shard is slow
        let mut open = self.open.lock().ignore_poison();
        open.push(number);
        while open.len() > self.cap {
            // Never the last entry, which is the shard that was just opened.
            let Some(oldest) = (0..open.len() - 1)
                .min_by_key(|&at| self.entries[open[at]].used.load(Ordering::Relaxed))
            else {
                return;
            };
            let oldest = open.swap_remove(oldest);
            let mut source = self.entries[oldest].source.write().ignore_poison();
            closed.push(source.take());
        }
    }
}
