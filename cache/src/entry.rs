//! `Entry`: the words of one slot in the index.
//!
//! The state is even while the slot has a block (or nothing), odd while a process writes it, and grows with
//! every change. The checksums are mixed with the key: if a process that was suspended writes into a slot
//! that another one has taken over, the parts of the two blocks do not fit each other.

use std::sync::atomic::{AtomicU64, Ordering};

use tarflume_formats::{SharedWords, crc32c};

use crate::claim::Claim;
use crate::key::Key;
use crate::layout::{BLOCK, GRAIN, GRAINS, Layout};

const STATE: usize = 0;
const CLAIM: usize = 1;
const OBJECT: usize = 2;
/// Number of the block, and its length: 0 if the slot is empty.
const SHAPE: usize = 4;
/// 1 if the block was read since the hand of the clock passed.
const USED: usize = 5;
// Words 6 and 7 are free: an entry is three cache lines of 64 bytes.
const CHECKSUMS: usize = 8;

/// Salt of the mask of checksums.
const MASK: u64 = 0x6d61_736b_2121_0002;

/// The entry of a slot.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry<'a> {
    words: &'a SharedWords,
    start: usize,
    pub(crate) slot: u64,
}

impl<'a> Entry<'a> {
    pub(crate) fn new(words: &'a SharedWords, layout: Layout, slot: u64) -> Entry<'a> {
        Entry { words, start: layout.entry(slot), slot }
    }

    fn word(&self, at: usize) -> &'a AtomicU64 {
        self.words.at(self.start + at)
    }

    pub(crate) fn state(&self) -> u64 {
        // Pairs with the exchange in `change`: an even state is seen with the key, length and checksums that were
        // stored before it. The bytes of the slot go through system calls, which no word orders: the checksums
        // prove them.
        self.word(STATE).load(Ordering::Acquire)
    }

    /// Changes the state, if nobody has changed it meanwhile.
    pub(crate) fn change(&self, from: u64, to: u64) -> bool {
        let word = self.word(STATE);
        // AcqRel: it publishes what the writer of the slot has stored, and a process that takes a slot over sees
        // what is in it.
        word.compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    pub(crate) fn claim(&self) -> Claim {
        Claim::of_word(self.word(CLAIM).load(Ordering::Relaxed))
    }

    pub(crate) fn key(&self) -> Key {
        // Relaxed, as all words but the state: words of two blocks that are mixed do not pass their checksums.
        let object = [OBJECT, OBJECT + 1].map(|at| self.word(at).load(Ordering::Relaxed));
        Key { object, block: (self.word(SHAPE).load(Ordering::Relaxed) >> 32) as u32 }
    }

    /// Bytes of the block; 0 if there is none. A longer block than a slot has cannot be.
    pub(crate) fn length(&self) -> usize {
        (self.word(SHAPE).load(Ordering::Relaxed) as u32 as usize).min(BLOCK)
    }

    /// Returns true if the block is here, and no process is writing.
    pub(crate) fn has(&self, key: Key) -> bool {
        self.key() == key && self.length() > 0 && self.state().is_multiple_of(2)
    }

    /// Names the block that this process will write into the claimed slot.
    pub(crate) fn begin(&self, key: Key) {
        self.word(CLAIM).store(Claim::now().word(), Ordering::Relaxed);
        self.word(OBJECT).store(key.object[0], Ordering::Relaxed);
        self.word(OBJECT + 1).store(key.object[1], Ordering::Relaxed);
        // Length 0, until `describe` has stored the checksums.
        self.word(SHAPE).store(u64::from(key.block) << 32, Ordering::Relaxed);
        self.word(USED).store(0, Ordering::Relaxed);
    }

    /// Writes the checksums and the length of the block into the claimed slot.
    pub(crate) fn describe(&self, key: Key, block: &[u8]) {
        let mut sums = [0; GRAINS];
        for (grain, bytes) in block.chunks(GRAIN).enumerate() {
            sums[grain] = crc32c(bytes) ^ mask(key, grain);
        }
        for (at, pair) in sums.chunks_exact(2).enumerate() {
            let word = u64::from(pair[0]) | u64::from(pair[1]) << 32;
            self.word(CHECKSUMS + at).store(word, Ordering::Relaxed);
        }
        let shape = u64::from(key.block) << 32 | block.len() as u64;
        self.word(SHAPE).store(shape, Ordering::Relaxed);
    }

    /// Empties the claimed slot.
    pub(crate) fn clear(&self) {
        self.word(SHAPE).store(0, Ordering::Relaxed);
    }

    /// The checksum of a part of the block of `key`.
    pub(crate) fn checksum(&self, key: Key, grain: usize) -> u32 {
        let word = self.word(CHECKSUMS + grain / 2).load(Ordering::Relaxed);
        (word >> (grain % 2 * 32)) as u32 ^ mask(key, grain)
    }

    pub(crate) fn is_used(&self) -> bool {
        self.word(USED).load(Ordering::Relaxed) != 0
    }

    /// Remembers that the block was read. Writes only if that is new, so that readers share the line.
    pub(crate) fn set_used(&self, used: bool) {
        if self.is_used() != used {
            self.word(USED).store(u64::from(used), Ordering::Relaxed);
        }
    }
}

fn mask(key: Key, grain: usize) -> u32 {
    key.hash(MASK.wrapping_add(grain as u64)) as u32
}
