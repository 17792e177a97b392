//! `Fetcher`: fetches the ranges that were advised in the background, and gives them to readers.
//!
//! The planner of a loader advises the reads of its batches when it plans them, so the requests of
//! several batches are on their way at the same time. A reader that finds no piece asks by itself:
//! advice can be lost, bytes cannot.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::sync::{Condvar, Mutex};
use bytes::Bytes;
use tarflume_formats::IgnorePoison;
use tarflume_types::Result;

use crate::source::ahead::depth::Depth;
use crate::source::ahead::latency::Latencies;
use crate::source::ahead::offers::{Offer, PieceId};
use crate::source::ahead::pieces::{PieceState, Pieces};
use crate::source::ahead::{Background, Blocks, Kept};

/// The least requests at the same time, however slow the answers are.
const LEAST: usize = 8;
/// No request is repeated sooner than after this time.
const SOONEST: Duration = Duration::from_millis(20);
/// At most one of so many requests is repeated because it is late.
const RARELY: u64 = 50;
/// How long a reader waits for a block that another process fetches, before latencies were measured.
const PATIENCE: Duration = Duration::from_millis(100);
/// How often it looks.
const LOOK: Duration = Duration::from_millis(1);

/// What may be under way.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// The most requests at the same time.
    pub(crate) at_once: usize,
    /// Late ranges of at most so many bytes are asked for a second time; 0 for none.
    pub(crate) hedged: u64,
    /// How long a reader waits for a block that another reader fetches; `None` for as long as most requests take.
    pub(crate) patience: Option<Duration>,
}

/// A file that is open.
#[derive(Debug)]
pub(crate) struct AheadFile {
    /// Differs from those of all other files of the fetcher.
    pub(crate) number: u64,
    pub(crate) reads: Box<dyn Background>,
    /// Its blocks in the cache of this machine, if there is one.
    pub(crate) blocks: Option<Box<dyn Blocks>>,
}

/// Fetches ranges of the files of one data set.
#[derive(Debug)]
pub(crate) struct Fetcher {
    // Where two locks are held, `pieces` is the first of them. No lock is held while a request is begun: a
    // request that cannot be sent ends at once, in the same thread, and takes them.
    pieces: Mutex<FetchedPieces>,
    depth: Mutex<Depth>,
    limits: Limits,
    budget: u64,
    changed: Condvar,
    /// The files that are open, by number.
    files: Mutex<HashMap<u64, Arc<AheadFile>>>,
    latencies: Mutex<Latencies>,
    // Numbers alone, so `Relaxed` is enough: nothing that another thread wrote is read because of them.
    requests: AtomicU64,
    hedges: AtomicU64,
}

impl Fetcher {
    /// `budget` limits the bytes of all pieces.
    pub(crate) fn new(budget: u64, limits: Limits) -> Fetcher {
        let depth = Depth::new(LEAST, limits.at_once);
        Fetcher {
            pieces: Mutex::new(Pieces::new(budget, depth.now())),
            depth: Mutex::new(depth),
            limits,
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

    /// Takes a file into account. Its pieces are forgotten with [`Fetcher::forget`].
    pub(crate) fn open(&self, file: &Arc<AheadFile>) {
        self.files.lock().ignore_poison().insert(file.number, file.clone());
    }

    /// Drops a file and its pieces.
    pub(crate) fn forget(&self, number: u64) {
        self.pieces.lock().ignore_poison().forget(number);
        self.files.lock().ignore_poison().remove(&number);
        self.changed.notify_all();
    }

    /// Drops what an earlier epoch has left.
    pub(crate) fn clear(&self) {
        self.pieces.lock().ignore_poison().clear();
        self.changed.notify_all();
    }

    /// Begins to fetch a range, if there is room.
    pub(crate) fn advise(self: &Arc<Self>, file: &AheadFile, at: u64, length: u64) {
        plan(&mut self.pieces.lock().ignore_poison(), file, at..at + length, None);
        self.send();
    }

    /// Fetches a range of samples, each of which will be read once, as soon as there is room.
    pub(crate) fn expect(self: &Arc<Self>, file: &AheadFile, range: Range<u64>, starts: &[u64]) {
        let offer = Offer { shard: file.number, range, starts: starts.to_vec() };
        self.pieces.lock().ignore_poison().offer(offer);
        self.take_offers();
    }

    /// Plans the offers that have room, and sends requests. A reader sees an offer or its pieces, never neither.
    fn take_offers(self: &Arc<Self>) {
        let mut pieces = self.pieces.lock().ignore_poison();
        while let Some(offer) = pieces.take_offer() {
            let file = self.files.lock().ignore_poison().get(&offer.shard).cloned();
            if let Some(file) = file {
                plan(&mut pieces, &file, offer.range.clone(), Some(&offer));
            }
        }
        drop(pieces);
        self.send();
    }

    /// Sends requests while connections are free.
    fn send(self: &Arc<Self>) {
        loop {
            let next = self.pieces.lock().ignore_poison().next_request();
            let Some((id, end)) = next else { return };
            let file = self.files.lock().ignore_poison().get(&id.0).cloned();
            match file {
                Some(file) => self.request(file, id, end),
                None => self.ended(id, None), // the file was closed
            }
        }
    }

    fn request(self: &Arc<Self>, file: Arc<AheadFile>, id: PieceId, end: u64) {
        self.requests.fetch_add(1, Ordering::Relaxed);
        let request = Request {
            fetcher: self.clone(),
            file: file.clone(),
            id,
            end,
            start: Instant::now(),
            ended: false,
        };
        // If it cannot be sent, dropping it ends it.
        file.reads.begin(id.1, end - id.1, Box::new(move |read| request.end(read)));
    }

    /// A request has ended: its connection is free.
    fn ended(&self, id: PieceId, read: Option<Bytes>) {
        let mut pieces = self.pieces.lock().ignore_poison();
        pieces.released();
        pieces.arrived(id, length_of(&read), read);
        drop(pieces);
        // All: readers of different pieces wait for the same condition.
        self.changed.notify_all();
    }

    /// Fills `into` with the bytes from `at`: from pieces and from the cache where they have them, by requests
    /// of its own where they have not.
    pub(crate) fn read(self: &Arc<Self>, file: &AheadFile, at: u64, into: &mut [u8]) -> Result<()> {
        let mut filled = 0;
        while filled < into.len() {
            let place = at + filled as u64;
            let rest = &mut into[filled..];
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
    pub(crate) fn read_again(&self, file: &AheadFile, at: u64, into: &mut [u8]) -> Result<()> {
        if let Some(blocks) = &file.blocks {
            blocks.forget(at..at + into.len() as u64);
        }
        self.requests.fetch_add(1, Ordering::Relaxed);
        into.copy_from_slice(&file.reads.read_again(at, into.len() as u64)?);
        Ok(())
    }

    /// Copies what the cache has at byte `at`. Returns the number of bytes. A block that another process fetches
    /// is waited for as long as most requests take, and no longer: that process may be gone.
    fn take_cached(&self, file: &AheadFile, at: u64, into: &mut [u8]) -> Option<usize> {
        let blocks = file.blocks.as_ref()?;
        let start = Instant::now();
        loop {
            match blocks.read(at, into) {
                Kept::Here(length) => return Some(length),
                Kept::No => return None,
                Kept::Coming => {
                    let patience = self
                        .limits
                        .patience
                        .or_else(|| self.latencies.lock().ignore_poison().slowest())
                        .unwrap_or(PATIENCE);
                    if start.elapsed() > patience {
                        return None;
                    }
                    std::thread::sleep(LOOK);
                }
            }
        }
    }

    /// Copies what the piece at byte `at` has, once it is here. Returns the number of bytes; `None`
    /// if there is no such piece.
    fn take(self: &Arc<Self>, file: &AheadFile, at: u64, into: &mut [u8]) -> Option<usize> {
        let start = Instant::now();
        let mut hedged = false;
        let mut pieces = self.pieces.lock().ignore_poison();
        loop {
            let Some((id, end)) = pieces.with_byte(file.number, at) else {
                // Either nobody has announced this range, or it waits for room.
                let offer = pieces.demand(file.number, at)?;
                plan(&mut pieces, file, offer.range.clone(), Some(&offer));
                drop(pieces);
                self.send();
                pieces = self.pieces.lock().ignore_poison();
                continue;
            };
            match pieces.state(id)? {
                PieceState::Here(Some(bytes)) => {
                    let length = into.len().min((end - at) as usize);
                    pieces.used(id, at, length as u64);
                    let has_offers = pieces.has_offers();
                    drop(pieces);
                    if has_offers {
                        self.take_offers();
                    }
                    let from = (at - id.1) as usize;
                    into[..length].copy_from_slice(&bytes[from..from + length]);
                    return Some(length);
                }
                PieceState::Here(None) => {
                    // The piece may be longer than what is read here: that alone is asked for again.
                    pieces.remove(id);
                    return None;
                }
                PieceState::Queued => {
                    // The next request that ends sends it.
                    pieces.hurry(id);
                    pieces = self.changed.wait(pieces).ignore_poison();
                }
                PieceState::Sent => {
                    let late = self.late().filter(|_| end - id.1 <= self.limits.hedged && !hedged);
                    let left = late.map(|late| late.saturating_sub(start.elapsed()));
                    if left == Some(Duration::ZERO) {
                        hedged = true;
                        drop(pieces);
                        self.hedge(file, id, end);
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

    /// Asks for bytes that no piece has, up to the next piece, or for the whole block if it should be kept.
    /// Returns their number.
    fn ask(&self, file: &AheadFile, at: u64, into: &mut [u8]) -> Result<usize> {
        let claimed = file.blocks.as_ref().and_then(|blocks| blocks.claim(at));
        if let Some((block, keep)) = claimed {
            let bytes = self.answer(file, block.start, block.end - block.start)?;
            let from = (at - block.start) as usize;
            let length = into.len().min(bytes.len() - from);
            into[..length].copy_from_slice(&bytes[from..from + length]);
            keep(bytes);
            return Ok(length);
        }
        let wanted = into.len() as u64;
        let length = self.pieces.lock().ignore_poison().lacking(file.number, at, wanted);
        let bytes = self.answer(file, at, length)?;
        into[..bytes.len()].copy_from_slice(&bytes);
        Ok(bytes.len())
    }

    /// A request that the caller waits for.
    fn answer(&self, file: &AheadFile, at: u64, length: u64) -> Result<Bytes> {
        self.requests.fetch_add(1, Ordering::Relaxed);
        let start = Instant::now();
        let bytes = file.reads.read(at, length)?;
        self.latencies.lock().ignore_poison().add(start.elapsed());
        Ok(bytes)
    }

    /// Asks for a late piece a second time; the first answer counts.
    fn hedge(self: &Arc<Self>, file: &AheadFile, id: PieceId, end: u64) {
        // It takes no place of `at_once`: at most one of `RARELY` requests is asked twice, and a reader waits for it.
        self.hedges.fetch_add(1, Ordering::Relaxed);
        let fetcher = self.clone();
        file.reads.begin(
            id.1,
            end - id.1,
            Box::new(move |read: Option<Bytes>| {
                // An error of the second request leaves the first one to be waited for.
                if read.is_some() {
                    fetcher.pieces.lock().ignore_poison().arrived(id, length_of(&read), read);
                    fetcher.changed.notify_all();
                }
            }),
        );
    }

    /// Learns from a request how many should be under way.
    fn measured(&self, bytes: u64, took: Duration) {
        self.latencies.lock().ignore_poison().add(took);
        let waiting = self.pieces.lock().ignore_poison().is_waiting();
        let mut depth = self.depth.lock().ignore_poison();
        depth.ended(bytes, took, waiting);
        let now = depth.now();
        drop(depth);
        self.pieces.lock().ignore_poison().allow(now);
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

/// The pieces of a fetcher; an answer is `None` if the bytes could not be read.
type FetchedPieces = Pieces<Option<Bytes>>;

/// Plans what the cache has not of a range: of an offer that was taken, or as far as there is room.
fn plan(pieces: &mut FetchedPieces, file: &AheadFile, range: Range<u64>, offer: Option<&Offer>) {
    let mut add = |range, grain| match offer {
        Some(offer) => pieces.plan_offer(offer, range, grain),
        None => pieces.advise(file.number, range, grain),
    };
    let Some(blocks) = &file.blocks else { return add(range, 1) };
    blocks.missing(range.clone()).into_iter().for_each(|missing| add(missing, blocks.grain()));
    // `missing` has claimed blocks for this process. Those that no request has whole are given back, or other
    // processes would wait for them.
    blocks.release(range, &|block| {
        let piece = pieces.with_byte(file.number, block.start);
        let piece = piece.filter(|(id, end)| id.1 <= block.start && *end >= block.end);
        // A piece that has arrived, or has failed, writes no block any more.
        let state = piece.and_then(|(id, _)| pieces.state(id));
        matches!(state, Some(PieceState::Queued | PieceState::Sent))
    });
}

fn length_of(read: &Option<Bytes>) -> Option<u64> {
    read.as_ref().map(|bytes| bytes.len() as u64)
}

/// A request that was sent. It ends once, whatever becomes of the task that waits for the answer.
struct Request {
    fetcher: Arc<Fetcher>,
    file: Arc<AheadFile>,
    id: PieceId,
    end: u64,
    start: Instant,
    ended: bool,
}

impl Request {
    fn end(mut self, read: Option<Bytes>) {
        self.ended = true;
        if let Some(blocks) = &self.file.blocks {
            match &read {
                Some(bytes) => blocks.arrived(self.id.1, bytes),
                None => blocks.release(self.id.1..self.end, &|_| false),
            }
        }
        self.fetcher.measured(self.end - self.id.1, self.start.elapsed());
        self.fetcher.ended(self.id, read);
        self.fetcher.send();
    }
}

impl Drop for Request {
    /// The piece is dropped: its reader asks by itself, and gets the error, if there is one.
    fn drop(&mut self) {
        if !self.ended {
            if let Some(blocks) = &self.file.blocks {
                blocks.release(self.id.1..self.end, &|_| false);
            }
            self.fetcher.ended(self.id, None);
        }
    }
}

#[cfg(test)]
mod explored;
#[cfg(test)]
mod tests;
