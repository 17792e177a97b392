//! `Fetcher`: fetches the ranges that were advised in the background, and gives them to readers.
//!
//! The planner of a loader advises the reads of its batches when it plans them, so the requests of
//! several batches are on their way at the same time. A reader that finds no piece asks by itself:
//! advice can be lost, bytes cannot.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use tarflume_cache::{BLOCK, Lookup};
use tarflume_formats::IgnorePoison;
use tarflume_store::{Bytes, Error, Object};

use crate::remote::cached::CachedShard;
use crate::remote::latency::Latencies;
use crate::remote::pieces::{PieceId, PieceState, Pieces};

/// Requests at the same time.
const AT_ONCE: usize = 256;
/// A longer range is fetched as several pieces: one connection brings some 90 MB a second.
const MOST: u64 = 8 << 20;
/// Longer reads are not asked for a second time.
const HEDGED: u64 = 1 << 20;
/// No request is repeated sooner than after this time.
const SOONEST: Duration = Duration::from_millis(20);
/// At most one of so many requests is repeated because it is late.
const RARELY: u64 = 50;
/// How long a reader waits for a block that another process fetches, before latencies were measured.
const PATIENCE: Duration = Duration::from_millis(100);
/// How often it looks.
const LOOK: Duration = Duration::from_millis(1);

/// A shard that is open.
#[derive(Debug)]
pub(crate) struct RemoteFile {
    pub(crate) number: u64,
    pub(crate) object: Object,
    /// Its blocks in the cache of this machine, if there is one.
    pub(crate) cached: Option<CachedShard>,
}

/// Fetches ranges of the shards of one data set.
#[derive(Debug)]
pub(crate) struct Fetcher {
    pieces: Mutex<Pieces>,
    budget: u64,
    changed: Condvar,
    /// The shards that are open, by number.
    files: Mutex<HashMap<u64, Arc<RemoteFile>>>,
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
            files: Mutex::default(),
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
    pub(crate) fn open(&self, file: &Arc<RemoteFile>) {
        self.files.lock().ignore_poison().insert(file.number, file.clone());
    }

    /// Drops a shard and its pieces.
    pub(crate) fn forget(&self, shard: u64) {
        self.pieces.lock().ignore_poison().forget(shard);
        self.files.lock().ignore_poison().remove(&shard);
    }

    /// Drops what an earlier epoch has left.
    pub(crate) fn clear(&self) {
        self.pieces.lock().ignore_poison().clear();
        self.changed.notify_all();
    }

    /// Begins to fetch a range.
    pub(crate) fn advise(self: &Arc<Self>, file: &RemoteFile, at: u64, length: u64) {
        let range = at..at + length;
        match &file.cached {
            None => self.plan(file, range, 1),
            Some(cached) => {
                for missing in cached.missing(range.clone()) {
                    self.plan(file, missing, BLOCK as u64);
                }
                let pieces = self.pieces.lock().ignore_poison();
                cached.release(range, |block| {
                    let piece = pieces.with_byte(file.number, block.start);
                    piece.is_some_and(|(id, end)| id.1 <= block.start && end >= block.end)
                });
            }
        }
        self.send();
    }

    /// Plans pieces for a range, whose ends are multiples of `grain`.
    fn plan(&self, file: &RemoteFile, range: Range<u64>, grain: u64) {
        let mut pieces = self.pieces.lock().ignore_poison();
        let mut start = range.start;
        while start < range.end {
            let end = ((start + MOST) / grain * grain).min(range.end);
            pieces.plan(file.number, start, end - start);
            start = end;
        }
    }

    /// Sends requests while connections are free.
    fn send(self: &Arc<Self>) {
        loop {
            let next = self.pieces.lock().ignore_poison().next();
            let Some((id, end)) = next else { return };
            let file = self.files.lock().ignore_poison().get(&id.0).cloned();
            match file {
                Some(file) => self.request(file, id, end),
                None => self.ended(id, None), // the shard was closed
            }
        }
    }

    fn request(self: &Arc<Self>, file: Arc<RemoteFile>, id: PieceId, end: u64) {
        self.requests.fetch_add(1, Ordering::Relaxed);
        let (fetcher, start, object) = (self.clone(), Instant::now(), file.object.clone());
        let request = Request { fetcher, file, id, end, start, ended: false };
        // If it cannot be sent, dropping it ends it.
        let _ = object.begin(id.1, end - id.1, move |read| request.end(read));
    }

    /// A request has ended: its connection is free.
    fn ended(&self, id: PieceId, read: Option<Result<Bytes, Error>>) {
        let mut pieces = self.pieces.lock().ignore_poison();
        pieces.released();
        match read {
            Some(read) => drop(pieces.arrived(id, read)),
            None => pieces.remove(id),
        }
        drop(pieces);
        self.changed.notify_all();
    }

    /// Fills `into` with the bytes from `at`: from pieces and from the cache where they have them, by requests
    /// of its own where they have not.
    pub(crate) fn read(
        self: &Arc<Self>,
        file: &RemoteFile,
        at: u64,
        into: &mut [u8],
    ) -> Result<(), Error> {
        let mut filled = 0;
        while filled < into.len() {
            let (place, rest) = (at + filled as u64, &mut into[filled..]);
            let taken = self.take(file, place, rest);
            let taken = taken.or_else(|| self.take_cached(file, place, rest));
            filled += match taken {
                Some(taken) => taken,
                None => self.ask(file, place, rest)?,
            };
        }
        Ok(())
    }

    /// As [`Fetcher::read`] without pieces and cache: bytes that they have may be the wrong ones.
    pub(crate) fn read_again(
        &self,
        file: &RemoteFile,
        at: u64,
        into: &mut [u8],
    ) -> Result<(), Error> {
        if let Some(cached) = &file.cached {
            cached.forget(at..at + into.len() as u64);
        }
        self.requests.fetch_add(1, Ordering::Relaxed);
        into.copy_from_slice(&file.object.read(at, into.len() as u64)?);
        Ok(())
    }

    /// Copies what the cache has at byte `at`. Returns the number of bytes. A block that another process fetches
    /// is waited for as long as most requests take, and no longer: that process may be gone.
    fn take_cached(&self, file: &RemoteFile, at: u64, into: &mut [u8]) -> Option<usize> {
        let cached = file.cached.as_ref()?;
        let start = Instant::now();
        loop {
            match cached.read(at, into) {
                (Lookup::Hit, length) => return Some(length),
                (Lookup::Miss, _) => return None,
                (Lookup::Filling, _) => {
                    let slowest = self.latencies.lock().ignore_poison().slowest();
                    if start.elapsed() > slowest.unwrap_or(PATIENCE) {
                        return None;
                    }
                    std::thread::sleep(LOOK);
                }
            }
        }
    }

    /// Copies what the piece at byte `at` has, once it is here. Returns the number of bytes; `None`
    /// if there is no such piece.
    fn take(self: &Arc<Self>, file: &RemoteFile, at: u64, into: &mut [u8]) -> Option<usize> {
        let start = Instant::now();
        let mut hedged = false;
        let mut pieces = self.pieces.lock().ignore_poison();
        loop {
            let (id, end) = pieces.with_byte(file.number, at)?;
            match pieces.state(id)? {
                PieceState::Here(Ok(bytes)) => {
                    let length = into.len().min((end - at) as usize);
                    match at == id.1 && at + length as u64 == end {
                        true => pieces.remove(id),
                        false => pieces.used(id),
                    }
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
                        self.hedge(&file.object, id, end);
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

    /// Asks for bytes that no piece has, up to the next piece, or for the whole block if the cache should keep
    /// it. Returns their number.
    fn ask(&self, file: &RemoteFile, at: u64, into: &mut [u8]) -> Result<usize, Error> {
        if let Some((cached, (fill, block))) =
            file.cached.as_ref().and_then(|cached| Some((cached, cached.claim(at)?)))
        {
            let bytes = self.answer(file, block.start, block.end - block.start)?;
            let from = (at - block.start) as usize;
            let length = into.len().min(bytes.len() - from);
            into[..length].copy_from_slice(&bytes[from..from + length]);
            cached.keep(fill, bytes);
            return Ok(length);
        }
        let next = self.pieces.lock().ignore_poison().next_start(file.number, at + 1);
        let free = next.map_or(u64::MAX, |next| next - at);
        let length = into.len().min(usize::try_from(free).unwrap_or(usize::MAX));
        into[..length].copy_from_slice(&self.answer(file, at, length as u64)?);
        Ok(length)
    }

    /// A request that the caller waits for.
    fn answer(&self, file: &RemoteFile, at: u64, length: u64) -> Result<Bytes, Error> {
        self.requests.fetch_add(1, Ordering::Relaxed);
        let start = Instant::now();
        let bytes = file.object.read(at, length)?;
        self.latencies.lock().ignore_poison().add(start.elapsed());
        Ok(bytes)
    }

    /// Asks for a late piece a second time; the first answer counts.
    fn hedge(self: &Arc<Self>, object: &Object, id: PieceId, end: u64) {
        self.hedges.fetch_add(1, Ordering::Relaxed);
        let fetcher = self.clone();
        let done = move |read: Result<Bytes, Error>| {
            // An error of the second request leaves the first one to be waited for.
            if read.is_ok() {
                fetcher.pieces.lock().ignore_poison().arrived(id, read);
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

/// A request that was sent. It ends once, whatever becomes of the task that waits for the answer.
struct Request {
    fetcher: Arc<Fetcher>,
    file: Arc<RemoteFile>,
    id: PieceId,
    end: u64,
    start: Instant,
    ended: bool,
}

impl Request {
    fn end(mut self, read: Result<Bytes, Error>) {
        self.ended = true;
        if let Some(cached) = &self.file.cached {
            match &read {
                Ok(bytes) => cached.arrived(self.id.1, bytes),
                Err(_) => cached.release(self.id.1..self.end, |_| false),
            }
        }
        self.fetcher.latencies.lock().ignore_poison().add(self.start.elapsed());
        self.fetcher.ended(self.id, Some(read));
        self.fetcher.send();
    }
}

impl Drop for Request {
    /// The piece is dropped: its reader asks by itself, and gets the error, if there is one.
    fn drop(&mut self) {
        if !self.ended {
            if let Some(cached) = &self.file.cached {
                cached.release(self.id.1..self.end, |_| false);
            }
            self.fetcher.ended(self.id, None);
        }
    }
}
