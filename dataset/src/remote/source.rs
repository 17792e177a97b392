//! `RemoteSource`: one shard in a store, read by ranges. Knows nothing of samples.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use bytes::Bytes;
use tarflume_store::Object;
use tarflume_types::Result;

use crate::remote::cached::CachedShard;
use crate::remote::place::of_store;
use crate::source::Source;
use crate::source::ahead::fetcher::{AheadFile, Fetcher};
use crate::source::ahead::{Background, Blocks, Done};

/// The next number of a source.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// A shard. What was advised is fetched in the background; other ranges are fetched when they are
/// read. Every request asks for the state that was opened, so no check is needed after a read.
#[derive(Debug)]
pub(crate) struct RemoteSource {
    object: Object,
    length: u64,
    file: Arc<AheadFile>,
    fetcher: Arc<Fetcher>,
}

impl RemoteSource {
    pub(crate) fn new(
        object: Object,
        cached: Option<CachedShard>,
        fetcher: Arc<Fetcher>,
    ) -> RemoteSource {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let length = object.length();
        let blocks = cached.map(|cached| Box::new(cached) as Box<dyn Blocks>);
        let reads = Box::new(ReadByRequest(object.clone()));
        let file = Arc::new(AheadFile { number, reads, blocks });
        fetcher.open(&file);
        RemoteSource { object, length, file, fetcher }
    }
}

/// An object whose ranges the runtime of the store reads.
#[derive(Debug)]
struct ReadByRequest(Object);

impl Background for ReadByRequest {
    fn read(&self, at: u64, length: u64) -> Result<Bytes> {
        self.0.read(at, length).map_err(|e| of_store(&e))
    }

    fn begin(&self, at: u64, length: u64, done: Done) {
        // A refusal to begin drops `done`.
        let _ = self.0.begin(at, length, move |read| done(read.ok()));
    }
}

impl Source for RemoteSource {
    fn len(&self) -> u64 {
        self.length
    }

    fn read_at(&self, at: u64, into: &mut [u8]) -> Result<()> {
        self.fetcher.read(&self.file, at, into)
    }

    fn read_again(&self, at: u64, into: &mut [u8]) -> Result<()> {
        self.fetcher.read_again(&self.file, at, into)
    }

    fn modified(&self) -> Option<SystemTime> {
        self.object.modified()
    }

    fn learn_modified(&self) -> Result<()> {
        self.object.learn_modified().map_err(|e| of_store(&e))
    }

    fn advise(&self, at: u64, length: u64) {
        let length = length.min(self.len().saturating_sub(at));
        self.fetcher.advise(&self.file, at, length);
    }

    fn expect(&self, at: u64, length: u64, starts: &[u64]) {
        let end = (at + length).min(self.len());
        self.fetcher.expect(&self.file, at..end.max(at), starts);
    }
}

impl Drop for RemoteSource {
    fn drop(&mut self) {
        self.fetcher.forget(self.file.number);
    }
}
