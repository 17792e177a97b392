//! `Ahead`: the thread that reads a stream's shards before their samples are asked for.
//!
//! One thread an epoch. It ends when the epoch does or when its `Ahead` is dropped, which waits for
//! it: only a thread inside a user's own `Read` is left to end with that.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::list::Shard;
use super::pool::Pool;
use super::queue::{Bell, Item, Next, Queue};
use super::raw::Raw;
use super::reservoir::Reservoir;
use super::sample::StreamSample;
use super::samples::{Found, Grouping};
use super::shares::Shares;
use super::tar::Tar;
use super::unpack::Unpack;
use crate::error::{Error, ErrorKind, Result};
use crate::order::Key;
use tarflume_formats::poison::IgnorePoison;

/// How long a drop waits for a thread that may be inside a user's `Read`.
const PATIENCE: Duration = Duration::from_millis(50);
/// Notes kept of one epoch.
const MOST_NOTES: usize = 100;

/// What a thread is to read.
pub(super) struct Task {
    /// The shards with their places in the stream's list, in the order in which they are read.
    pub(super) shards: Vec<(usize, Shard)>,
    /// The shuffle buffer's size in samples, and the key of its draws.
    pub(super) buffer: Option<(u64, Key)>,
    /// Memory.
    pub(super) shares: Shares,
}

/// What an epoch of a stream has done so far.
#[non_exhaustive]
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StreamStats {
    /// Shards read to their end, or to where they could not be read on.
    pub shards: u64,
    /// Samples read.
    pub samples: u64,
    /// Bytes of their parts.
    pub bytes: u64,
    /// Errors given in a sample's or a shard's place.
    pub errors: u64,
    /// Time in which the reading thread was there.
    pub running: Duration,
    /// Time that the reading thread waited because what it had read was not taken.
    pub blocked: Duration,
    /// The most bytes that samples and free buffers ever took.
    pub peak: u64,
}

/// An epoch being read ahead.
pub(super) struct Ahead {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    interruptible: bool,
    began: Instant,
}

struct Shared {
    queue: Queue,
    pool: Arc<Pool>,
    told: Mutex<Told>,
    finished: Condvar,
}

#[derive(Default)]
struct Told {
    stats: StreamStats,
    notes: Vec<String>,
    finished: bool,
    /// How long the thread was there, once it is gone.
    ran: Option<Duration>,
}

impl Ahead {
    /// Starts to read.
    ///
    /// # Errors
    /// The operating system has no thread for it.
    pub(super) fn start(task: Task, bell: Option<Bell>) -> Result<Ahead> {
        let pool = Arc::new(Pool::new(task.shares.pool(), task.shares.queue));
        let queue = Queue::new(Arc::clone(&pool), bell);
        let told = Mutex::default();
        let shared = Arc::new(Shared { queue, pool, told, finished: Condvar::new() });
        let interruptible = task.shards.iter().all(|(_, shard)| shard.is_interruptible());
        let theirs = Arc::clone(&shared);
        let thread = thread::Builder::new().name("tarflume-stream".into());
        let thread = thread.spawn(move || read_guarded(&theirs, task)).map_err(|e| {
            Error::new(ErrorKind::Io, "cannot start the reading thread").with_source(e)
        })?;
        Ok(Ahead { shared, thread: Some(thread), interruptible, began: Instant::now() })
    }

    /// The next sample, or what stands in its place, without waiting.
    pub(super) fn try_next(&self) -> Next<Item> {
        self.shared.queue.try_next()
    }

    /// The next sample, or `None` at the end.
    pub(super) fn next(&self) -> Option<Result<StreamSample>> {
        self.shared.queue.next()
    }

    /// What was done so far.
    pub(super) fn stats(&self) -> StreamStats {
        let (stats, ran) = {
            let told = self.shared.told();
            (told.stats.clone(), told.ran)
        };
        let running = ran.unwrap_or_else(|| self.began.elapsed());
        let (blocked, peak) = (self.shared.queue.blocked(), self.shared.pool.peak());
        StreamStats { running, blocked, peak, ..stats }
    }

    /// Bytes in the caller's hands, if they are what keeps the next sample away; and how many may be.
    pub(super) fn in_the_way(&self) -> Option<(u64, u64)> {
        self.shared.pool.in_the_way().map(|bytes| (bytes, self.shared.pool.queue()))
    }

    /// What the caller should know and is no error.
    pub(super) fn notes(&self) -> Vec<String> {
        self.shared.told().notes.clone()
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        self.shared.queue.cancel();
        let Some(thread) = self.thread.take() else { return };
        if !self.interruptible {
            let told = self.shared.told();
            let wait = self.shared.finished.wait_timeout_while(told, PATIENCE, |t| !t.finished);
            let (told, _) = wait.ignore_poison();
            if !told.finished {
                return; // it ends when the user's Read does
            }
        }
        // It never panics: all it does is guarded.
        let _ = thread.join();
    }
}

impl Shared {
    fn told(&self) -> MutexGuard<'_, Told> {
        self.told.lock().ignore_poison()
    }

    fn note(&self, text: String) {
        let mut told = self.told();
        if told.notes.len() < MOST_NOTES {
            told.notes.push(text);
        }
    }
}

/// Whatever happens, the queue ends, so that nobody waits for ever.
fn read_guarded(shared: &Arc<Shared>, task: Task) {
    let began = Instant::now();
    let done = catch_unwind(AssertUnwindSafe(|| Reading::new(shared, task).run()));
    if done.is_err() {
        let error = Error::new(ErrorKind::Panicked, "the thread that reads the stream panicked");
        shared.queue.push(Item::Broken(error));
    }
    shared.told().ran = Some(began.elapsed());
    shared.queue.end();
    shared.told().finished = true;
    shared.finished.notify_all();
}

/// The thread's work.
struct Reading<'a> {
    shared: &'a Shared,
    task: Task,
    reservoir: Option<Reservoir<StreamSample>>,
    shortened: bool,
}

impl<'a> Reading<'a> {
    fn new(shared: &'a Shared, task: Task) -> Reading<'a> {
        let bytes = task.shares.buffer;
        let reservoir = task.buffer.map(|(size, key)| Reservoir::new(size, bytes, key));
        Reading { shared, task, reservoir, shortened: false }
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

    /// Reads one shard; false if nobody wants more.
    fn shard(&mut self, number: u64, shard: &Shard) -> bool {
        let grouping = self.open(number, shard);
        let going = match grouping {
            Ok(mut grouping) => self.samples(&mut grouping, (number, shard)),
            Err(error) => self.error(Item::Broken(error.with_path(&shard.name))),
        };
        self.shared.told().stats.shards += 1;
        going
    }

    fn open(&self, number: u64, shard: &Shard) -> Result<Grouping> {
        let raw = Raw::new(shard.open()?, Arc::clone(self.shared.queue.cancelled()));
        let tar = Tar::new(Unpack::new(raw, self.task.shares.unpack)?);
        let (name, pool) = (Arc::clone(&shard.name), Arc::clone(&self.shared.pool));
        Ok(Grouping::new(tar, name, number, pool, self.task.shares.sample))
    }

    fn samples(&mut self, grouping: &mut Grouping, (number, shard): (u64, &Shard)) -> bool {
        loop {
            let going = match grouping.next() {
                Ok(Some(Found::Sample(sample))) => self.sample(sample),
                Ok(Some(Found::Bad(row, error))) => {
                    self.error(Item::Bad { shard_number: number, row, error })
                }
                Err(error) => return self.error(Item::Broken(error)),
                Ok(None) => break,
            };
            if !going {
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
            let mut told = self.shared.told();
            told.stats.samples += 1;
            told.stats.bytes += sample.bytes();
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
        self.shared.told().stats.errors += 1;
        self.shared.queue.push(error)
    }
}

fn shortened(held: u64, task: &Task) -> String {
    let size = task.buffer.map_or(0, |(size, _)| size);
    let bytes = task.shares.buffer;
    format!(
        "the shuffle buffer of {size} samples was full with {held}: they take more than its {bytes} \
         bytes; raise the stream's memory to mix better"
    )
}
