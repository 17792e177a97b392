//! `Fill`: the right to write one slot; and the choice of the slot.

use std::os::unix::fs::FileExt;

use crate::cache::Cache;
use crate::counters::Counter;
use crate::entry::Entry;
use crate::error::{Error, Result};
use crate::key::Key;
use crate::layout::BLOCK;

/// What became of the wish to write a block.
#[derive(Debug)]
pub enum Begun {
    /// This process writes it.
    Fill(Fill),
    /// It is there.
    Here,
    /// A process writes it now.
    Filling,
    /// All slots that it could have are being written, or the cache is lost.
    Full,
}

impl Begun {
    /// The right to write the block, if this process has it.
    pub fn fill(self) -> Option<Fill> {
        match self {
            Begun::Fill(fill) => Some(fill),
            _ => None,
        }
    }
}

impl Cache {
    /// Begins to write a block. A slot is taken from the block that was not read for the longest time.
    pub fn begin(&self, key: Key) -> Begun {
        if self.is_lost() {
            return Begun::Full; // what is claimed in lost words is claimed for this process alone
        }
        for entry in self.slots_of(key).filter(|entry| entry.key() == key) {
            match (entry.state() % 2, entry.length()) {
                (1, _) if !entry.claim().is_void() => return Begun::Filling,
                (0, 1..) => return Begun::Here,
                _ => {}
            }
        }
        // Another process can take the chosen slot first: then the next one is chosen.
        for _ in 0..8 {
            let Some(victim) = self.victim(key) else { return Begun::Full };
            let Candidate { entry, state } = victim;
            let claimed = state + 1 + state % 2; // the next odd number
            let evicts = victim.is_at_rest() && entry.length() > 0;
            // Until `begin`, the entry has the claim of its last writer. A process that finds it void takes the
            // slot over, and this one notices by the state in `finish`.
            if entry.change(state, claimed) {
                entry.begin(key);
                if evicts {
                    self.count(Counter::Evictions, 1);
                }
                let cache = self.clone();
                return Begun::Fill(Fill { cache, slot: entry.slot, state: claimed, key });
            }
        }
        Begun::Full
    }

    /// The slot that a block should have: an empty one of the emptier bucket, one whose writer is gone, or by CLOCK
    /// (Corbató, 1968) over the slots of both buckets.
    fn victim(&self, key: Key) -> Option<Candidate<'_>> {
        let [first, second] =
            self.buckets(key).map(|bucket| bucket.map(Candidate::new).collect::<Vec<_>>());
        let emptier = if empty(&second) > empty(&first) { &second } else { &first };
        if let Some(slot) = emptier.iter().find(|slot| slot.is_empty()) {
            return Some(*slot);
        }
        let slots = [first, second].concat();
        if let Some(slot) = slots.iter().find(|slot| slot.is_abandoned()) {
            return Some(*slot);
        }
        // The hand of the clock begins at a place of its own for each key.
        let hand = (key.hash(0) % slots.len() as u64) as usize;
        let around = || slots[hand..].iter().chain(&slots[..hand]).filter(|slot| slot.is_at_rest());
        for slot in around() {
            if !slot.entry.is_used() {
                return Some(*slot);
            }
            slot.entry.set_used(false);
        }
        // All were used, and have lost their mark now: the first one gives way.
        around().next().copied()
    }
}

/// A slot that a block could have, and the state in which it was found.
#[derive(Clone, Copy)]
struct Candidate<'a> {
    entry: Entry<'a>,
    state: u64,
}

impl<'a> Candidate<'a> {
    fn new(entry: Entry<'a>) -> Candidate<'a> {
        Candidate { entry, state: entry.state() }
    }

    /// True if no process was writing the slot.
    fn is_at_rest(&self) -> bool {
        self.state.is_multiple_of(2)
    }

    fn is_empty(&self) -> bool {
        self.is_at_rest() && self.entry.length() == 0
    }

    /// True if the process that was writing the slot is gone.
    fn is_abandoned(&self) -> bool {
        !self.is_at_rest() && self.entry.claim().is_void()
    }
}

/// Counts the empty slots of a bucket.
fn empty(bucket: &[Candidate<'_>]) -> usize {
    bucket.iter().filter(|slot| slot.is_empty()).count()
}

/// The right of this process to write one slot. Dropping it leaves the slot empty.
#[derive(Debug)]
pub struct Fill {
    cache: Cache,
    slot: u64,
    state: u64,
    key: Key,
}

impl Fill {
    /// The block.
    pub fn key(&self) -> Key {
        self.key
    }

    /// Writes the block. Nothing is synced: after a power cut its checksums tell whether it is there.
    ///
    /// # Errors
    /// Returns an error if the disk refuses, or if the file was truncated; the slot is empty then.
    ///
    /// # Panics
    /// Panics if the block is empty or longer than [`BLOCK`].
    pub fn finish(self, block: &[u8]) -> Result<()> {
        assert!(!block.is_empty() && block.len() <= BLOCK, "a block of {} bytes", block.len());
        let inner = &self.cache.inner;
        let entry = self.cache.entry(self.slot);
        self.cache.intact()?; // a write behind the end would make a truncated file longer
        if entry.state() != self.state {
            return Ok(()); // another process has taken the slot over
        }
        if let Err(e) = inner.file.write_all_at(block, inner.layout.slot(self.slot)) {
            self.cache.count(Counter::Errors, 1);
            return Err(Error::machine(&inner.path, "cannot write to the cache", e));
        }
        entry.describe(self.key, block);
        if entry.change(self.state, self.state + 1) {
            self.cache.count(Counter::Fills, 1);
        }
        Ok(())
    }
}

impl Drop for Fill {
    fn drop(&mut self) {
        let entry = self.cache.entry(self.slot);
        // False after `finish`, and if another process has taken the slot over.
        if entry.state() == self.state {
            entry.clear();
            entry.change(self.state, self.state + 1);
        }
    }
}
