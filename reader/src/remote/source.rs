//! `RemoteSource`: one shard in a store, read by ranges. Knows nothing of samples.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tarflume_store::Object;

use crate::error::Result;
use crate::remote::cached::CachedShard;
use crate::remote::fetch::{Fetcher, RemoteFile};
use crate::remote::place::of_store;
use crate::source::Source;

/// The next number of a source.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// A shard. What was advised is fetched in the background; other ranges are fetched when they are
/// read. Every request asks for the state that was opened, so no check is needed after a read.
#[derive(Debug)]
pub(crate) struct RemoteSource {
    file: Arc<RemoteFile>,
    fetcher: Arc<Fetcher>,
}

impl RemoteSource {
    pub(crate) fn new(
        object: Object,
        cached: Option<CachedShard>,
        fetcher: Arc<Fetcher>,
    ) -> RemoteSource {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let file = Arc::new(RemoteFile { number, object, cached });
        fetcher.open(&file);
        RemoteSource { file, fetcher }
    }
}

impl Source for RemoteSource {
    fn len(&self) -> u64 {
        self.file.object.length()
    }

    fn read_at(&self, at: u64, into: &mut [u8]) -> Result<()> {
        self.fetcher.read(&self.file, at, into).map_err(|e| of_store(&e))
    }

    fn read_again(&self, at: u64, into: &mut [u8]) -> Result<()> {
        self.fetcher.read_again(&self.file, at, into).map_err(|e| of_store(&e))
    }

    fn advise(&self, at: u64, length: u64) {
        let length = length.min(self.len().saturating_sub(at));
        self.fetcher.advise(&self.file, at, length);
    }
}

impl Drop for RemoteSource {
    fn drop(&mut self) {
        self.fetcher.forget(self.file.number);
    }
}
