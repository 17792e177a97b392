//! `Fetcher`: fetches the ranges that were advised in the background, and gives them to readers.
//!
//! The planner of a loader advises the reads of its batches when it plans them, so the requests of
//! several batches are on their way at the same time. A reader that finds no piece asks by itself:
//! advice can be lost, bytes cannot.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use tarflume_formats::IgnorePoison;
use tarflume_store::{Bytes, Error, Object};

use crate::remote::pieces::{AT_ONCE, PieceId, PieceState, Pieces};

/// Longer reads are not asked for a second time.
const HEDGED: u64 = 1 << 20;
/// No request is repeated sooner than after this time.
const SOONEST: Duration = Duration::from_millis(20);
/// At most one of so many requests is repeated because it is late.
const RARELY: u64 = 50;
/// Latencies that the estimate of the slowest 5 % is made from.
const LATENCIES: usize = 256;

/// The bytes of a piece, or why there are none.
type Answer = Result<Bytes, Error>;

/// Fetches ranges of the shards of one data set.
#[derive(Debug)]
pub(crate) struct Fetcher {
    pieces: Mutex<Pieces<Answer>>,
    budget: u64,
    changed: Condvar,
    /// The shards that are open, by number.
    objects: Mutex<HashMap<u64, Object>>,
    latencies: Mutex<Latencies>,
    requests: AtomicU64,
    hedges: AtomicU64,
}

impl Fetcher {
    /// `budget` limits the bytes of all pieces.
    pub(crate) fn new(budget: u64) -> Fetcher {
        Fetcher {
            pieces: Mutex::new(Pieces::new(budget, AT_ONCE)),
            budget,
            changed: Condvar::new(),
            objects: Mutex::default(),
            latencies: Mutex::default(),
            requests: AtomicU64::new(0),
            hedges: AtomicU64::new(0),
        }
    }

    /// The most bytes that it holds.
    pub(crate) fn budget(&self) -> u64 {
        self.budget
    }

    pub(crate) fn hedges(&self) -> u64 {
        self.hedges.load(Ordering::Relaxed)
    }

    /// Takes a shard into account. Its pieces are forgotten with [`Fetcher::forget`].
    pub(crate) fn open(&self, shard: u64, object: &Object) {
        self.objects.lock().ignore_poison().insert(shard, object.clone());
    }

    /// Drops a shard and its pieces.
    pub(crate) fn forget(&self, shard: u64) {
        self.pieces.lock().ignore_poison().forget(shard);
        self.objects.lock().ignore_poison().remove(&shard);
    }

    /// Drops what an earlier epoch has left.
    pub(crate) fn clear(&self) {
        self.pieces.lock().ignore_poison().clear();
        self.changed.notify_all();
    }

    /// Begins to fetch a range.
    pub(crate) fn advise(self: &Arc<Self>, shard: u64, at: u64, length: u64) {
        self.pieces.lock().ignore_poison().advise(shard, at, length);
        self.send();
    }

    /// Sends requests while connections are free.
    fn send(self: &Arc<Self>) {
        loop {
            let next = self.pieces.lock().ignore_poison().next();
            let Some((id, end)) = next else { return };
            let object = self.objects.lock().ignore_poison().get(&id.0).cloned();
            match object {
                Some(object) => self.request(&object, id, end),
                None => self.ended(id, None), // the shard was closed
            }
        }
    }

    fn request(self: &Arc<Self>, object: &Object, id: PieceId, end: u64) {
        self.requests.fetch_add(1, Ordering::Relaxed);
        let request = Request { fetcher: self.clone(), id, start: Instant::now(), ended: false };
        // If it cannot be sent, dropping it ends it.
        let _ = object.begin(id.1, end - id.1, move |read| request.end(read));
    }

    /// A request has ended: its connection is free.
    fn ended(&self, id: PieceId, read: Option<Result<Bytes, Error>>) {
        let mut pieces = self.pieces.lock().ignore_poison();
        pieces.released();
        match read {
            Some(read) => drop(pieces.arrived(id, length_of(&read), read)),
            None => pieces.remove(id),
        }
        drop(pieces);
        self.changed.notify_all();
    }

    /// Fills `into` with the bytes from `at`: from pieces where there are some, by requests of its
    /// own where there are none.
    pub(crate) fn read(
        self: &Arc<Self>,
        shard: u64,
        object: &Object,
        at: u64,
        into: &mut [u8],
    ) -> Result<(), Error> {
        let mut filled = 0;
        while filled < into.len() {
            let (place, rest) = (at + filled as u64, &mut into[filled..]);
            let taken = match self.take(shard, object, place, rest) {
                Some(taken) => taken,
                None => self.ask(shard, object, place, rest)?,
            };
            filled += taken;
        }
        Ok(())
    }

    /// As [`Fetcher::read`] without pieces: bytes that a piece has may be the wrong ones.
    pub(crate) fn read_again(
        &self,
        object: &Object,
        at: u64,
        into: &mut [u8],
    ) -> Result<(), Error> {
        self.requests.fetch_add(1, Ordering::Relaxed);
        into.copy_from_slice(&object.read(at, into.len() as u64)?);
        Ok(())
    }

    /// Copies what the piece at byte `at` has, once it is here. Returns the number of bytes; `None`
    /// if there is no such piece.
    fn take(
        self: &Arc<Self>,
        shard: u64,
        object: &Object,
        at: u64,
        into: &mut [u8],
    ) -> Option<usize> {
        let start = Instant::now();
        let mut hedged = false;
        let mut pieces = self.pieces.lock().ignore_poison();
        loop {
            let (id, end) = pieces.with_byte(shard, at)?;
            match pieces.state(id)? {
                PieceState::Here(Ok(bytes)) => {
                    let length = into.len().min((end - at) as usize);
                    pieces.used(id, at, length as u64);
                    drop(pieces);
                    let from = (at - id.1) as usize;
                    into[..length].copy_from_slice(&bytes[from..from + length]);
                    return Some(length);
                }
                PieceState::Here(Err(_)) => {
                    // The piece may be longer than what is read here: that alone is asked for again.
                    pieces.remove(id);
                    return None;
                }
                PieceState::Queued => {
                    pieces.hurry(id);
                    pieces = self.changed.wait(pieces).ignore_poison();
                }
                PieceState::Sent => {
                    let late = self.late().filter(|_| end - id.1 <= HEDGED && !hedged);
                    let left = late.map(|late| late.saturating_sub(start.elapsed()));
                    if left == Some(Duration::ZERO) {
                        hedged = true;
                        drop(pieces);
                        self.hedge(object, id, end);
                        pieces = self.pieces.lock().ignore_poison();
                        continue;
                    }
                    pieces = match left {
                        Some(left) => self.changed.wait_timeout(pieces, left).ignore_poison().0,
                        None => self.changed.wait(pieces).ignore_poison(),
                    };
                }
            }
        }
    }

    /// Asks for bytes that no piece has, up to the next piece. Returns their number.
    fn ask(&self, shard: u64, object: &Object, at: u64, into: &mut [u8]) -> Result<usize, Error> {
        let length = self.pieces.lock().ignore_poison().lacking(shard, at, into.len() as u64);
        self.requests.fetch_add(1, Ordering::Relaxed);
        let start = Instant::now();
        let bytes = object.read(at, length)?;
        self.latencies.lock().ignore_poison().add(start.elapsed());
        let length = length as usize; // at most `into.len()`
        into[..length].copy_from_slice(&bytes);
        Ok(length)
    }

    /// Asks for a late piece a second time; the first answer counts.
    fn hedge(self: &Arc<Self>, object: &Object, id: PieceId, end: u64) {
        self.hedges.fetch_add(1, Ordering::Relaxed);
        let fetcher = self.clone();
        let done = move |read: Result<Bytes, Error>| {
            // An error of the second request leaves the first one to be waited for.
            if read.is_ok() {
                fetcher.pieces.lock().ignore_poison().arrived(id, length_of(&read), read);
                fetcher.changed.notify_all();
            }
        };
        // A refusal to start leaves the first request, too.
        let _ = object.begin(id.1, end - id.1, done);
    }

    /// How long a request may take before it is repeated; `None` if enough were repeated.
    fn late(&self) -> Option<Duration> {
        let requests = self.requests.load(Ordering::Relaxed);
        if self.hedges() * RARELY >= requests {
            return None;
        }
        self.latencies.lock().ignore_poison().slowest().map(|slow| slow.max(SOONEST))
    }
}

fn length_of(read: &Answer) -> Option<u64> {
    read.as_ref().ok().map(|bytes| bytes.len() as u64)
}

/// A request that was sent. It ends once, whatever becomes of the task that waits for the answer.
struct Request {
    fetcher: Arc<Fetcher>,
    id: PieceId,
    start: Instant,
    ended: bool,
}

impl Request {
    fn end(mut self, read: Result<Bytes, Error>) {
        self.ended = true;
        self.fetcher.latencies.lock().ignore_poison().add(self.start.elapsed());
        self.fetcher.ended(self.id, Some(read));
        self.fetcher.send();
    }
}

impl Drop for Request {
    /// The piece is dropped: its reader asks by itself, and gets the error, if there is one.
    fn drop(&mut self) {
        if !self.ended {
            self.fetcher.ended(self.id, None);
        }
    }
}

/// The last latencies.
#[derive(Debug, Default)]
struct Latencies {
    last: Vec<Duration>,
    next: usize,
    /// The 95th percentile, computed again after every 32 requests.
    slowest: Option<Duration>,
}

impl Latencies {
    fn add(&mut self, took: Duration) {
        match self.last.get_mut(self.next) {
            Some(oldest) => *oldest = took,
            None => self.last.push(took),
        }
        self.next = (self.next + 1) % LATENCIES;
        if self.next.is_multiple_of(32) {
            let mut sorted = self.last.clone();
            sorted.sort_unstable();
            self.slowest = sorted.get(sorted.len() * 95 / 100).copied();
        }
    }

    /// `None` before 32 requests were measured.
    fn slowest(&self) -> Option<Duration> {
        self.slowest
    }
}
