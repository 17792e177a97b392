//! `Cache`: opens a cache and reads blocks. No call waits for another process.

use std::fs::File;
use std::io::{self, IoSliceMut};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{Advice, fadvise};
use tarflume_formats::{Crc, SharedWords};

use crate::counters::{CacheStats, Counter, Own};
use crate::create::{Opened, existing, open_or_create};
use crate::entry::Entry;
use crate::error::{Error, Result};
use crate::key::{Key, Share};
use crate::layout::{BUCKET, GRAIN, Layout, header};
use crate::place::Settings;

/// Salts of the two buckets of a key.
/// The emptier of two is taken, which fills buckets far more evenly than one would (Azar et al., 1994).
const BUCKETS: [u64; 2] = [0x6275_636b_6574_0003, 0x6275_636b_6574_0004];

/// A cache of blocks in one file. Copies share it; other processes open the same file.
#[derive(Debug, Clone)]
pub struct Cache {
    pub(crate) inner: Arc<Inner>,
}

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) file: File,
    pub(crate) path: PathBuf,
    words: SharedWords,
    pub(crate) layout: Layout,
    own: Own,
    /// True once the loss of words was counted.
    lost: AtomicBool,
}

impl Inner {
    fn new(path: PathBuf, opened: Opened) -> Inner {
        let Opened { file, words, layout } = opened;
        Inner { file, path, words, layout, own: Own::default(), lost: AtomicBool::new(false) }
    }
}

/// What became of a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lookup {
    /// The bytes are there, with their checksums.
    Hit,
    /// A process writes this block now.
    Filling,
    /// The block is not there.
    Miss,
}

impl Cache {
    /// Opens the cache of a folder, or makes it with the size of the settings. A cache that exists keeps its
    /// size: see [`Cache::bytes`].
    ///
    /// # Errors
    /// Returns an error if the folder is on a file system of several machines, if the space cannot be
    /// reserved, or if the file is no cache.
    pub fn open(settings: &Settings) -> Result<Cache> {
        let inner = Inner::new(settings.path(), open_or_create(settings)?);
        Ok(Cache { inner: Arc::new(inner) })
    }

    /// Opens the cache of a folder; `None` if there is none.
    ///
    /// # Errors
    /// Returns an error if the file cannot be opened, or is no cache.
    pub fn find(settings: &Settings) -> Result<Option<Cache>> {
        let path = settings.path();
        let found = existing(&path)?.map(|opened| Inner::new(path, opened));
        Ok(found.map(|inner| Cache { inner: Arc::new(inner) }))
    }

    /// Removes the cache of a folder; false if there is none. Processes that use it go on with it, and its space
    /// is free once they have ended.
    ///
    /// # Errors
    /// Returns an error if the file cannot be removed.
    pub fn remove(settings: &Settings) -> Result<bool> {
        let path = settings.path();
        match std::fs::remove_file(&path) {
            Ok(()) => Ok(true),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(e) => Err(Error::machine(&path, "cannot remove the cache", e)),
        }
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// Bytes of the file.
    pub fn bytes(&self) -> u64 {
        self.inner.layout.bytes()
    }

    /// Slots: the most blocks that it can have.
    pub fn slots(&self) -> u64 {
        self.inner.layout.slots
    }

    /// The share of `blocks` blocks that this cache should keep.
    pub fn share(&self, blocks: u64) -> Share {
        Share::of(self.slots(), blocks)
    }

    /// What this process did.
    pub fn stats(&self) -> CacheStats {
        self.inner.own.read()
    }

    /// What all processes did since the cache was made.
    pub fn total_stats(&self) -> CacheStats {
        CacheStats::of(|at| self.inner.words.at(header::COUNTERS + at).load(Ordering::Relaxed))
    }

    /// Checks that the file is whole.
    ///
    /// # Errors
    /// Returns an error once the file was found truncated, or could not be read, while it was open. From then on this
    /// process finds no block and writes none: see [`CacheStats::errors`].
    pub fn intact(&self) -> Result<()> {
        if !self.is_lost() {
            return Ok(());
        }
        let text = "the file was truncated, or could not be read, while it was in use; `pack cache drop` removes it";
        Err(Error::refused(&self.inner.path, text))
    }

    /// As [`Cache::intact`]. The first loss that is found counts as an error.
    pub(crate) fn is_lost(&self) -> bool {
        if self.inner.words.is_intact() {
            return false;
        }
        if !self.inner.lost.swap(true, Ordering::Relaxed) {
            self.count(Counter::Errors, 1);
        }
        true
    }

    pub(crate) fn count(&self, counter: Counter, more: u64) {
        self.inner.own.add(counter, more);
        let word = self.inner.words.at(header::COUNTERS + counter as usize);
        // Statistics: they order nothing.
        word.fetch_add(more, Ordering::Relaxed);
    }

    pub(crate) fn entry(&self, slot: u64) -> Entry<'_> {
        Entry::new(&self.inner.words, self.inner.layout, slot)
    }

    #[cfg(test)]
    pub(crate) fn word(&self, at: usize) -> &std::sync::atomic::AtomicU64 {
        self.inner.words.at(at)
    }

    /// The slots of each of the two buckets of a key.
    pub(crate) fn buckets(&self, key: Key) -> [impl Iterator<Item = Entry<'_>> + Clone; 2] {
        BUCKETS.map(|salt| {
            let bucket = key.hash(salt) % self.inner.layout.buckets();
            (bucket * BUCKET..(bucket + 1) * BUCKET).map(|slot| self.entry(slot))
        })
    }

    pub(crate) fn slots_of(&self, key: Key) -> impl Iterator<Item = Entry<'_>> + Clone {
        let [first, second] = self.buckets(key);
        first.chain(second)
    }

    /// Reads the bytes from `at` of a block. `into` has other bytes if it is no hit.
    pub fn read(&self, key: Key, at: usize, into: &mut [u8]) -> Lookup {
        if self.is_lost() {
            self.count(Counter::Misses, 1);
            return Lookup::Miss;
        }
        let mut filling = false;
        for entry in self.slots_of(key).filter(|entry| entry.key() == key) {
            let state = entry.state();
            if state % 2 == 1 {
                // The block of a writer that is gone does not come: the reader fetches it.
                filling |= !entry.claim().is_void();
                continue;
            }
            let length = entry.length();
            if length == 0 || at.checked_add(into.len()).is_none_or(|end| end > length) {
                continue;
            }
            let right = self.bytes_of(&entry, key, at, length, into);
            // A block that was replaced meanwhile is not damaged.
            match (right, entry.state() == state && entry.key() == key) {
                // The checksums are mixed with the key: these are its bytes, whatever became of the slot meanwhile.
                (Ok(true), _) => {
                    entry.set_used(true);
                    self.count(Counter::Hits, 1);
                    self.count(Counter::HitBytes, into.len() as u64);
                    return Lookup::Hit;
                }
                (Ok(false), true) => self.forget_slot(&entry, state),
                (Ok(false), false) => {}
                (Err(_), _) => self.count(Counter::Errors, 1),
            }
        }
        if filling {
            Lookup::Filling
        } else {
            self.count(Counter::Misses, 1);
            Lookup::Miss
        }
    }

    /// Reads from `at` of a block of `length` bytes; true if the bytes have their checksums. Checksums are of
    /// whole grains, so what is before and behind the range in its grains is read, too.
    pub(crate) fn bytes_of(
        &self,
        entry: &Entry<'_>,
        key: Key,
        at: usize,
        length: usize,
        into: &mut [u8],
    ) -> io::Result<bool> {
        let end = at + into.len();
        let from = at / GRAIN * GRAIN;
        let to = end.next_multiple_of(GRAIN).min(length);
        let mut before = vec![0; at - from];
        let mut behind = vec![0; to - end];
        let place = self.inner.layout.slot(entry.slot) + from as u64;
        let parts = &mut [
            IoSliceMut::new(&mut before),
            IoSliceMut::new(into),
            IoSliceMut::new(&mut behind),
        ];
        let read = loop {
            match rustix::io::preadv(&self.inner.file, parts, place) {
                Err(rustix::io::Errno::INTR) => {}
                read => break read?,
            }
        };
        if read != to - from {
            return Ok(false);
        }
        let mut rest = [&before[..], into, &behind[..]];
        for grain in from / GRAIN..to.div_ceil(GRAIN) {
            let mut left = GRAIN.min(to - grain * GRAIN);
            let mut crc = Crc::new();
            for part in &mut rest {
                let (now, later) = part.split_at(left.min(part.len()));
                crc.update(now);
                *part = later;
                left -= now.len();
            }
            if crc.value() != entry.checksum(key, grain) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// True if the block is there, as far as its entry says. Asks the machine to read its bytes `at` to
    /// `at + length` ahead.
    pub fn advise(&self, key: Key, at: usize, length: usize) -> bool {
        let Some(entry) = self.slots_of(key).find(|entry| entry.has(key)) else { return false };
        let place = self.inner.layout.slot(entry.slot) + at as u64;
        let length = std::num::NonZeroU64::new(length as u64);
        let _ = fadvise(&self.inner.file, place, length, Advice::WillNeed); // a hint
        true
    }

    /// Drops a block, because its bytes are not those of the object.
    pub fn forget(&self, key: Key) {
        for entry in self.slots_of(key).filter(|entry| entry.key() == key) {
            let state = entry.state();
            if state.is_multiple_of(2) && entry.length() > 0 {
                self.forget_slot(&entry, state);
            }
        }
    }

    /// Empties a slot whose bytes are wrong.
    pub(crate) fn forget_slot(&self, entry: &Entry<'_>, state: u64) {
        if entry.change(state, state + 1) {
            entry.clear();
            entry.change(state + 1, state + 2);
            self.count(Counter::Damaged, 1);
        }
    }
}
