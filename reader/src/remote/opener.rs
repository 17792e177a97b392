//! `RemoteOpener`: opens the shards of one data set. All of them share readahead and counters.

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use tarflume_formats::IgnorePoison;
use tarflume_store::{Object, Store};

use crate::error::Result;
use crate::remote::fetch::Fetcher;
use crate::remote::place::{fetch_stats, of_store};
use crate::remote::source::RemoteSource;
use crate::source::Source;
use crate::source::fetch_stats::FetchStats;
use crate::source::identity::Identity;
use crate::source::open::Open;

/// Opens shards below one URL.
pub(crate) struct RemoteOpener {
    store: Store,
    /// Lengths that the manifest lists.
    lengths: HashMap<String, u64>,
    /// Every shard that was opened: a shard that is opened again must have the same state.
    objects: Mutex<HashMap<PathBuf, Object>>,
    fetcher: Arc<Fetcher>,
}

impl fmt::Debug for RemoteOpener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RemoteOpener").field(&self.store.url()).finish()
    }
}

impl RemoteOpener {
    pub(crate) fn new(store: Store, lengths: HashMap<String, u64>, readahead: u64) -> RemoteOpener {
        let (objects, fetcher) = (Mutex::default(), Arc::new(Fetcher::new(readahead)));
        RemoteOpener { store, lengths, objects, fetcher }
    }

    fn object(&self, path: &Path) -> Result<Object> {
        let mut objects = self.objects.lock().ignore_poison();
        if let Some(object) = objects.get(path) {
            return Ok(object.clone());
        }
        let text = path.to_string_lossy();
        let name = text.strip_prefix(self.store.url()).unwrap_or(&text).trim_start_matches('/');
        let object = match self.lengths.get(name) {
            // The first answer pins the state.
            Some(length) => self.store.object_of(name, *length),
            None => self.store.object(name).map_err(|e| of_store(&e))?,
        };
        objects.insert(path.to_path_buf(), object.clone());
        Ok(object)
    }
}

impl Open for RemoteOpener {
    fn open(&self, path: &Path) -> Result<(Arc<dyn Source>, Identity)> {
        let object = self.object(path)?;
        let identity = Identity::of_object(object.url(), object.length());
        let source = RemoteSource::new(object, self.fetcher.clone());
        Ok((Arc::new(source), identity))
    }

    fn begin_epoch(&self) {
        self.fetcher.clear();
    }

    fn is_remote(&self) -> bool {
        true
    }

    fn readahead(&self) -> Option<u64> {
        Some(self.fetcher.budget())
    }

    fn fetch_stats(&self) -> Option<FetchStats> {
        Some(fetch_stats(&self.store, self.fetcher.hedges()))
    }
}
