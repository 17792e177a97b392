//! `Readahead`: an opener that reads files ahead by threads, for file systems that take milliseconds to answer.
//!
//! The kernel's own readahead (`posix_fadvise`) is enough for local disks. Network file systems and FUSE may ignore
//! it, or serve few requests at a time. Threads with `pread` keep as many requests under way as there are threads.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

use bytes::Bytes;
use tarflume_formats::{IgnorePoison, room_for_threads};
use tarflume_types::{Result, Size};

use crate::source::Source;
use crate::source::ahead::fetcher::{AheadFile, Fetcher, Limits};
use crate::source::ahead::{Background, Done};
use crate::source::identity::Identity;
use crate::source::open::{Open, SourceKind};

/// Threads, unless the user says otherwise. Each waits for one request, and needs little memory while it waits.
const THREADS: usize = 64;
/// Bytes of pieces that were read ahead, unless the user says otherwise.
const BUDGET: u64 = 256 << 20;

/// The next number of a file.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// Opens shards with another opener, and reads what a loader will need ahead by threads: for file systems that take
/// milliseconds to answer, such as NFS, Lustre, and object stores behind FUSE.
///
/// The kernel's own readahead is enough for local disks, and costs less: it copies nothing. The bytes that were read
/// ahead are not part of the memory limit of a loader.
///
/// ```
/// use std::sync::Arc;
///
/// use tarflume::{Loader, Readahead, Shuffle, SourceKind};
///
/// # fn main() -> tarflume::Result<()> {
/// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
/// # let shards = made.path();
/// let files = Readahead::new(Arc::new(SourceKind::File)).threads(32);
/// let loader = Loader::builder(shards)
///     .opener(Arc::new(files))
///     .shuffle(Shuffle::Full { seed: 1 })
///     .bytes("txt")
///     .build()?;
/// assert_eq!(loader.epoch(0).map(|batch| batch.unwrap().len()).sum::<usize>(), 16);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Readahead {
    inner: Arc<dyn Open>,
    fetcher: Arc<Fetcher>,
    pool: Arc<Pool>,
    threads: usize,
    budget: u64,
}

impl Readahead {
    /// Reads what `inner` opens, with 64 threads and 256 MiB.
    pub fn new(inner: Arc<dyn Open>) -> Readahead {
        Readahead::with(inner, THREADS, BUDGET)
    }

    fn with(inner: Arc<dyn Open>, threads: usize, budget: u64) -> Readahead {
        // A second read of the same file would wait for the same server: nothing is asked for twice.
        let limits = Limits { at_once: threads, hedged: 0, patience: None };
        let fetcher = Arc::new(Fetcher::new(budget, limits));
        let pool = Arc::new(Pool::new(threads));
        Readahead { inner, fetcher, pool, threads, budget }
    }

    /// Sets the most threads, at least one: so many reads are under way at the same time. They are started when they
    /// are needed, and fewer are used if more only wait for each other.
    #[must_use]
    pub fn threads(self, threads: usize) -> Readahead {
        Readahead::with(self.inner, threads.max(1), self.budget)
    }

    /// Sets the most bytes that are read before they are needed.
    #[must_use]
    pub fn budget(self, bytes: Size) -> Readahead {
        Readahead::with(self.inner, self.threads, bytes.bytes())
    }
}

impl SourceKind {
    /// The opener of files of this kind.
    pub(crate) fn opener(self) -> Arc<dyn Open> {
        match self {
            SourceKind::File | SourceKind::Mapped => Arc::new(self),
            SourceKind::Threads => Arc::new(Readahead::new(Arc::new(SourceKind::File))),
        }
    }
}

impl Open for Readahead {
    fn open(&self, path: &Path) -> Result<(Arc<dyn Source>, Identity)> {
        let (source, identity) = self.inner.open(path)?;
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let reads = ReadByThread { source: source.clone(), pool: self.pool.clone() };
        let file = Arc::new(AheadFile { number, reads: Box::new(reads), blocks: None });
        self.fetcher.open(&file);
        let ahead = AheadSource { source, file, fetcher: self.fetcher.clone() };
        Ok((Arc::new(ahead), identity))
    }

    fn opens_files(&self, path: &Path) -> bool {
        self.inner.opens_files(path)
    }

    fn begin_epoch(&self) {
        self.fetcher.clear();
        self.inner.begin_epoch();
    }

    fn is_remote(&self) -> bool {
        self.inner.is_remote()
    }

    fn readahead(&self) -> Option<u64> {
        Some(self.fetcher.budget())
    }
}

/// A shard that is read ahead.
#[derive(Debug)]
struct AheadSource {
    source: Arc<dyn Source>,
    file: Arc<AheadFile>,
    fetcher: Arc<Fetcher>,
}

impl Source for AheadSource {
    fn len(&self) -> u64 {
        self.source.len()
    }

    fn read_at(&self, at: u64, into: &mut [u8]) -> Result<()> {
        self.fetcher.read(&self.file, at, into)
    }

    fn read_again(&self, at: u64, into: &mut [u8]) -> Result<()> {
        self.fetcher.read_again(&self.file, at, into)
    }

    fn advise(&self, at: u64, length: u64) {
        self.fetcher.advise(&self.file, at, length.min(self.len().saturating_sub(at)));
    }

    fn expect(&self, at: u64, length: u64, starts: &[u64]) {
        let end = (at + length).min(self.len());
        self.fetcher.expect(&self.file, at..end.max(at), starts);
    }

    fn check(&self) -> Result<()> {
        self.source.check()
    }
}

impl Drop for AheadSource {
    fn drop(&mut self) {
        self.fetcher.forget(self.file.number);
    }
}

/// A file that the threads read.
#[derive(Debug)]
struct ReadByThread {
    source: Arc<dyn Source>,
    pool: Arc<Pool>,
}

impl Background for ReadByThread {
    fn read(&self, at: u64, length: u64) -> Result<Bytes> {
        let mut bytes = vec![0; length as usize];
        self.source.read_at(at, &mut bytes)?;
        Ok(bytes.into())
    }

    fn read_again(&self, at: u64, length: u64) -> Result<Bytes> {
        let mut bytes = vec![0; length as usize];
        self.source.read_again(at, &mut bytes)?;
        Ok(bytes.into())
    }

    fn begin(&self, at: u64, length: u64, done: Done) {
        self.pool.submit(Job { source: self.source.clone(), at, length, done });
    }
}

/// A range to be read.
struct Job {
    source: Arc<dyn Source>,
    at: u64,
    length: u64,
    done: Done,
}

impl Job {
    fn run(self) {
        let mut bytes = vec![0; self.length as usize];
        // The reader that needs the bytes reads them itself, and gets the error.
        let read = self.source.read_at(self.at, &mut bytes);
        (self.done)(read.is_ok().then(|| bytes.into()));
    }
}

/// Threads that are made when they are needed. They end when the pool is dropped; nobody waits for them, because a
/// read from a file server that is gone may never end.
struct Pool {
    state: Arc<PoolState>,
    most: usize,
}

#[derive(Default)]
struct PoolState {
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    threads: usize,
    idle: usize,
    closed: bool,
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pool").finish_non_exhaustive()
    }
}

impl Pool {
    fn new(most: usize) -> Pool {
        Pool { state: Arc::default(), most }
    }

    fn submit(&self, job: Job) {
        let mut queue = self.state.queue.lock().ignore_poison();
        queue.jobs.push_back(job);
        // A thread that was woken counts as idle until it runs, and its job is in the queue until then: so both
        // numbers are compared.
        if queue.idle < queue.jobs.len() && queue.threads < self.most {
            let state = self.state.clone();
            let thread = thread::Builder::new().name("tarflume-ahead".into());
            match room_for_threads(1).and_then(|()| thread.spawn(move || state.work())) {
                Ok(_) => queue.threads += 1,
                // The threads that there are do it; without any, the reader does.
                Err(_) if queue.threads == 0 => queue.jobs.clear(),
                Err(_) => {}
            }
        }
        drop(queue);
        self.state.changed.notify_one();
    }
}

impl PoolState {
    fn work(&self) {
        let mut queue = self.queue.lock().ignore_poison();
        loop {
            if let Some(job) = queue.jobs.pop_front() {
                drop(queue);
                job.run();
                queue = self.queue.lock().ignore_poison();
            } else if queue.closed {
                return;
            } else {
                queue.idle += 1;
                queue = self.changed.wait(queue).ignore_poison();
                queue.idle -= 1;
            }
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        let mut queue = self.state.queue.lock().ignore_poison();
        queue.closed = true;
        let jobs = std::mem::take(&mut queue.jobs);
        drop(queue);
        drop(jobs); // outside the lock: they call back
        self.state.changed.notify_all();
    }
}
