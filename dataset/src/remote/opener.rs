//! `RemoteOpener`: opens the shards of one data set. All of them share readahead and counters.

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tarflume_cache::Cache;
use tarflume_formats::IgnorePoison;
use tarflume_formats::manifest::ShardEntry;
use tarflume_store::{Object, Store};
use tarflume_types::Result;

use crate::remote::cached::{BlockCache, CachedShard};
use crate::remote::place::{Storage, fetch_stats, of_store};
use crate::remote::source::RemoteSource;
use crate::source::Source;
use crate::source::ahead::fetcher::{Fetcher, Limits};
use crate::source::ahead::pieces::AT_ONCE;
use crate::source::fetch_stats::FetchStats;
use crate::source::identity::Identity;
use crate::source::open::Open;

/// One process has at most so many requests under way. A small range that is late is asked for again.
const LIMITS: Limits = Limits { at_once: AT_ONCE, hedged: 1 << 20, patience: None };
/// The same without clocks: a reader waits for every answer.
const NEVER_LATE: Limits =
    Limits { hedged: 0, patience: Some(Duration::from_secs(24 * 3600)), ..LIMITS };

/// Opens shards below one URL.
pub(crate) struct RemoteOpener {
    store: Store,
    /// Lengths and digests that the manifest lists.
    shards: HashMap<String, (u64, Option<[u8; 32]>)>,
    /// Every shard that was opened: a shard that is opened again must have the same state.
    objects: Mutex<HashMap<PathBuf, Object>>,
    fetcher: Arc<Fetcher>,
    cache: Option<Arc<BlockCache>>,
    /// See [`Storage::hole`].
    hole: u64,
}

impl fmt::Debug for RemoteOpener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RemoteOpener").field(&self.store.url()).finish()
    }
}

impl RemoteOpener {
    /// `entries`: the shards that the manifest lists. Those without a digest are not cached. `storage`: how much is
    /// fetched ahead.
    ///
    /// # Errors
    /// Returns an error if a digest of the manifest is none.
    pub(crate) fn new(
        store: Store,
        entries: &[ShardEntry],
        storage: &Storage,
        cache: Option<Cache>,
    ) -> Result<RemoteOpener> {
        let mut shards = HashMap::new();
        for entry in entries {
            let digest = entry.digest()?.map(|digest| *digest.as_bytes());
            shards.insert(entry.name.clone(), (entry.bytes, digest));
        }
        let lengths = shards.values().filter(|(_, digest)| digest.is_some()).map(|(n, _)| *n);
        let cache = cache.map(|cache| Arc::new(BlockCache::new(cache, lengths)));
        let limits = if storage.is_never_late() { NEVER_LATE } else { LIMITS };
        let fetcher = Arc::new(Fetcher::new(storage.readahead_bytes(), limits));
        let hole = storage.hole_bytes();
        Ok(RemoteOpener { store, shards, objects: Mutex::default(), fetcher, cache, hole })
    }

    /// The name of a shard below the URL.
    fn name<'a>(&self, path: &'a str) -> &'a str {
        path.strip_prefix(self.store.url()).unwrap_or(path).trim_start_matches('/')
    }

    fn object(&self, path: &Path, name: &str) -> Result<Object> {
        let mut objects = self.objects.lock().ignore_poison();
        if let Some(object) = objects.get(path) {
            return Ok(object.clone());
        }
        let object = match self.shards.get(name) {
            // The first answer pins the state.
            Some((length, _)) => self.store.object_of(name, *length),
            None => self.store.object(name).map_err(|e| of_store(&e))?,
        };
        objects.insert(path.to_path_buf(), object.clone());
        Ok(object)
    }

    /// The blocks of a shard in the cache, if there is one.
    fn cached(&self, name: &str) -> Option<CachedShard> {
        let (length, digest) = self.shards.get(name)?;
        Some(CachedShard::new(self.cache.clone()?, (*digest)?, *length))
    }
}

impl Open for RemoteOpener {
    fn open(&self, path: &Path) -> Result<(Arc<dyn Source>, Identity)> {
        let text = path.to_string_lossy();
        let name = self.name(&text);
        let object = self.object(path, name)?;
        let identity = Identity::of_object(object.url(), object.length());
        let source = RemoteSource::new(object, self.cached(name), self.fetcher.clone());
        Ok((Arc::new(source), identity))
    }

    fn begin_epoch(&self) {
        self.fetcher.clear();
        if let Some(cache) = &self.cache {
            cache.clear();
        }
    }

    fn is_remote(&self) -> bool {
        true
    }

    fn readahead(&self) -> Option<u64> {
        Some(self.fetcher.budget())
    }

    fn hole(&self) -> Option<u64> {
        Some(self.hole)
    }

    fn fetch_stats(&self) -> Option<FetchStats> {
        let cache = self.cache.as_ref().map(|cache| cache.stats());
        Some(FetchStats { cache, ..fetch_stats(&self.store, self.fetcher.hedges()) })
    }
}
