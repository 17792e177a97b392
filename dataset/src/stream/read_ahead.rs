//! `ReadAhead`: the thread that reads a stream's shards ahead of the caller.
//!
//! One thread for each epoch. It ends with the epoch or when its `ReadAhead` is dropped, which joins it. Only a thread
//! that is blocked in a user's `Read` is not joined.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde::Serialize;
use tarflume_order::Key;
use tarflume_types::{Error, ErrorKind, Result, seconds};

use super::buffers::BufferPool;
use super::input::list::StreamShard;
use super::input::tar::Tar;
use super::memory_limits::MemoryLimits;
use super::packed::unpack::Unpack;
use super::queue::{Item, Next, Notify, SampleQueue};
use super::raw::RawReader;
use super::reservoir::Reservoir;
use super::sample::StreamSample;
use super::samples::{Entry, Grouping};
use tarflume_formats::{IgnorePoison, room_for_threads};

/// How long a drop waits for a thread that may be blocked in a user's `Read`.
const PATIENCE: Duration = Duration::from_millis(50);
/// Maximum number of notes of one epoch.
const MOST_NOTES: usize = 100;

/// The work of a reading thread.
pub(super) struct Task {
    /// The shards with their numbers in the stream's list, in reading order.
    pub(super) shards: Vec<(usize, StreamShard)>,
    /// The shuffle buffer's size in samples, and the key of its random draws.
    pub(super) buffer: Option<(u64, Key)>,
    /// Reads on behind end markers.
    pub(super) ignore_zeros: bool,
    /// Memory limits.
    pub(super) limits: MemoryLimits,
}

/// Statistics of one epoch of a stream.
///
/// ```
/// use tarflume::Stream;
///
/// # fn main() -> tarflume::Result<()> {
/// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
/// # let shards = made.path();
/// # let shards = shards.display();
/// let mut samples = Stream::open(format!("{shards}/*.tar"))?.samples(0)?;
/// for sample in &mut samples {
///     sample?;
/// }
/// let stats = samples.stats();
/// assert_eq!((stats.shards, stats.samples, stats.errors), (2, 16, 0));
/// # Ok(())
/// # }
/// ```
#[non_exhaustive]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct StreamStats {
    /// Shards read to their end, or as far as they could be read.
    pub shards: u64,
    /// Samples read.
    pub samples: u64,
    /// Total bytes of their parts.
    pub bytes: u64,
    /// Errors delivered in place of a sample or shard.
    pub errors: u64,
    /// Lifetime of the reading thread.
    #[serde(rename = "running_s", serialize_with = "seconds")]
    pub running: Duration,
    /// Time in which the reading thread waited for the caller to take samples.
    #[serde(rename = "blocked_s", serialize_with = "seconds")]
    pub blocked: Duration,
    /// Maximum bytes of samples and free buffers at any time.
    pub peak: u64,
}

/// An epoch that is read ahead.
pub(super) struct ReadAhead {
    shared: Arc<ReadAheadShared>,
    thread: Option<JoinHandle<()>>,
    interruptible: bool,
    began: Instant,
}

struct ReadAheadShared {
    queue: SampleQueue,
    pool: Arc<BufferPool>,
    progress: Mutex<Progress>,
    finished: Condvar,
}

#[derive(Default)]
struct Progress {
    stats: StreamStats,
    notes: Vec<String>,
    finished: bool,
    /// Lifetime of the thread, once it has ended.
    ran: Option<Duration>,
}

impl ReadAhead {
    /// Starts the reading thread.
    ///
    /// # Errors
    /// Returns an error if the thread cannot be started.
    pub(super) fn start(task: Task, notify: Option<Notify>) -> Result<ReadAhead> {
        let pool = Arc::new(BufferPool::new(task.limits.pool(), task.limits.queue));
        let queue = SampleQueue::new(Arc::clone(&pool), notify);
        let shared = Arc::new(ReadAheadShared {
            queue,
            pool,
            progress: Mutex::default(),
            finished: Condvar::new(),
        });
        let interruptible = task.shards.iter().all(|(_, shard)| shard.is_interruptible());
        let theirs = Arc::clone(&shared);
        let thread = thread::Builder::new().name("tarflume-stream".into());
        let started =
            room_for_threads(1).and_then(|()| thread.spawn(move || read_guarded(&theirs, task)));
        let thread = started.map_err(|e| {
            Error::new(ErrorKind::Machine, "cannot start the reading thread").with_source(e)
        })?;
        Ok(ReadAhead { shared, thread: Some(thread), interruptible, began: Instant::now() })
    }

    /// The next sample, or the error in its place, without blocking.
    pub(super) fn try_next(&self) -> Next<Item> {
        self.shared.queue.try_next()
    }

    /// The next sample, or `None` at the end. Blocks.
    pub(super) fn next(&self) -> Option<Result<StreamSample>> {
        self.shared.queue.next()
    }

    /// Statistics so far.
    pub(super) fn stats(&self) -> StreamStats {
        let (stats, ran) = {
            let progress = self.shared.progress();
            (progress.stats.clone(), progress.ran)
        };
        let running = ran.unwrap_or_else(|| self.began.elapsed());
        let blocked = self.shared.queue.blocked();
        let peak = self.shared.pool.peak();
        StreamStats { running, blocked, peak, ..stats }
    }

    /// If samples held by the caller prevent the next one: their bytes, and the maximum.
    pub(super) fn in_the_way(&self) -> Option<(u64, u64)> {
        self.shared.pool.in_the_way().map(|bytes| (bytes, self.shared.pool.queue()))
    }

    /// Remarks on this epoch that are not errors.
    pub(super) fn notes(&self) -> Vec<String> {
        self.shared.progress().notes.clone()
    }
}

impl Drop for ReadAhead {
    fn drop(&mut self) {
        self.shared.queue.cancel();
        let Some(thread) = self.thread.take() else { return };
        if !self.interruptible {
            let progress = self.shared.progress();
            let wait = self.shared.finished.wait_timeout_while(progress, PATIENCE, |p| !p.finished);
            let (progress, _) = wait.ignore_poison();
            if !progress.finished {
                return; // the thread ends when the user's `Read` returns
            }
        }
        // The thread does not panic: `catch_unwind` guards all its work.
        let _ = thread.join();
    }
}

impl ReadAheadShared {
    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().ignore_poison()
    }

    fn note(&self, text: String) {
        let mut progress = self.progress();
        if progress.notes.len() < MOST_NOTES {
            progress.notes.push(text);
        }
    }
}

/// Runs the thread. Ends the queue in every case, so that the caller never waits forever.
fn read_guarded(shared: &Arc<ReadAheadShared>, task: Task) {
    let began = Instant::now();
    let done = catch_unwind(AssertUnwindSafe(|| ReadThread::new(shared, task).run()));
    if done.is_err() {
        let error = Error::new(ErrorKind::Panicked, "the thread that reads the stream panicked");
        shared.queue.push(Item::Broken(error));
    }
    shared.progress().ran = Some(began.elapsed());
    shared.queue.end();
    shared.progress().finished = true;
    shared.finished.notify_all();
}

/// The state of the reading thread.
struct ReadThread<'a> {
    shared: &'a ReadAheadShared,
    task: Task,
    reservoir: Option<Reservoir<StreamSample>>,
    shortened: bool,
}

impl<'a> ReadThread<'a> {
    fn new(shared: &'a ReadAheadShared, task: Task) -> ReadThread<'a> {
        let bytes = task.limits.buffer;
        let reservoir = task.buffer.map(|(size, key)| Reservoir::new(size, bytes, key));
        ReadThread { shared, task, reservoir, shortened: false }
    }

    fn run(mut self) {
        for (number, shard) in std::mem::take(&mut self.task.shards) {
            if !self.shard(number as u64, &shard) {
                return;
            }
        }
        while let Some(sample) = self.reservoir.as_mut().and_then(Reservoir::pop) {
            if !self.shared.queue.push(Item::Sample(sample)) {
                return;
            }
        }
    }

    /// Reads one shard. False if the caller is gone.
    fn shard(&mut self, number: u64, shard: &StreamShard) -> bool {
        let grouping = self.open(number, shard);
        let wanted = match grouping {
            Ok(mut grouping) => self.samples(&mut grouping, number, shard),
            Err(error) => self.error(Item::Broken(error.with_path(&shard.name))),
        };
        self.shared.progress().stats.shards += 1;
        wanted
    }

    fn open(&self, number: u64, shard: &StreamShard) -> Result<Grouping> {
        let raw = RawReader::new(shard.open()?, Arc::clone(self.shared.queue.cancelled()));
        let unpacked = Unpack::new(raw, self.task.limits.unpack)?;
        let tar = Tar::new(unpacked, self.task.ignore_zeros);
        let name = Arc::clone(&shard.name);
        let pool = Arc::clone(&self.shared.pool);
        Ok(Grouping::new(tar, name, number, pool, self.task.limits.sample))
    }

    fn samples(&mut self, grouping: &mut Grouping, number: u64, shard: &StreamShard) -> bool {
        loop {
            let wanted = match grouping.next() {
                Ok(Some(Entry::Sample(sample))) => self.sample(sample),
                Ok(Some(Entry::Bad(row, error))) => {
                    self.error(Item::Bad { shard_number: number, row, error })
                }
                Err(error) => return self.error(Item::Broken(error)),
                Ok(None) => break,
            };
            if !wanted {
                return false;
            }
        }
        if let (0, members @ 1..) = grouping.counted() {
            let name = shard.name.display();
            let text = format!("{name}: none of its {members} members belongs to a sample");
            self.shared.note(text);
        }
        true
    }

    fn sample(&mut self, sample: StreamSample) -> bool {
        {
            let mut progress = self.shared.progress();
            progress.stats.samples += 1;
            progress.stats.bytes += sample.bytes();
        }
        let Some(reservoir) = &mut self.reservoir else {
            return self.shared.queue.push(Item::Sample(sample));
        };
        let cost = sample.cost();
        reservoir.push(sample, cost);
        if let Some(held) = reservoir.shortened().filter(|_| !self.shortened) {
            self.shortened = true;
            self.shared.note(shortened(held, &self.task));
        }
        while let Some(sample) = reservoir.over() {
            if !self.shared.queue.push(Item::Sample(sample)) {
                return false;
            }
        }
        true
    }

    fn error(&self, error: Item) -> bool {
        if self.shared.queue.cancelled().load(Ordering::Acquire) {
            return false;
        }
        self.shared.progress().stats.errors += 1;
        self.shared.queue.push(error)
    }
}

fn shortened(held: u64, task: &Task) -> String {
    let size = task.buffer.map_or(0, |(size, _)| size);
    let bytes = task.limits.buffer;
    format!(
        "the shuffle buffer of {size} samples was full with {held}, which use more than its {bytes} \
         bytes; raise the stream's memory to shuffle better"
    )
}
