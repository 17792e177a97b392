//! What a cache contains, and whether its bytes have their checksums.

use crate::cache::Cache;
use crate::layout::BLOCK;

/// What a cache contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Contents {
    /// Slots with a block.
    pub blocks: u64,
    /// Bytes of the blocks.
    pub bytes: u64,
    /// Slots that are being written.
    pub filling: u64,
    /// Slots that were being written by processes that are gone. They are used again.
    pub abandoned: u64,
}

/// What a check of all blocks has found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Scrubbed {
    /// Blocks that have their checksums.
    pub right: u64,
    /// Numbers of the slots whose block did not have its checksums. They are empty now.
    pub damaged: Vec<u64>,
    /// Numbers of the slots that could not be read, and why.
    pub unread: Vec<(u64, String)>,
}

impl Cache {
    /// Counts the blocks. Reads the index alone; if that is lost ([`Cache::intact`]), slots look empty.
    pub fn contents(&self) -> Contents {
        let mut contents = Contents::default();
        for slot in 0..self.slots() {
            let entry = self.entry(slot);
            match (entry.state() % 2, entry.length()) {
                (0, 0) => {}
                (0, length) => {
                    contents.blocks += 1;
                    contents.bytes += length as u64;
                }
                _ if entry.claim().is_void() => contents.abandoned += 1,
                _ => contents.filling += 1,
            }
        }
        contents
    }

    /// Reads every block, and empties the slots whose bytes do not have their checksums. `stopped` is asked
    /// after each slot. Slots whose entries are lost look empty: see [`Cache::intact`].
    pub fn scrub(&self, stopped: &dyn Fn() -> bool) -> Scrubbed {
        let mut found = Scrubbed::default();
        let mut bytes = vec![0; BLOCK];
        for slot in 0..self.slots() {
            if stopped() {
                break;
            }
            let entry = self.entry(slot);
            let state = entry.state();
            let key = entry.key();
            let length = entry.length();
            if state % 2 == 1 || length == 0 {
                continue;
            }
            let right = self.bytes_of(&entry, key, 0, length, &mut bytes[..length]);
            // A block that was replaced while it was read is not damaged.
            let same = entry.state() == state;
            match right {
                Ok(true) => found.right += 1,
                Ok(false) if same => {
                    self.forget_slot(&entry, state);
                    found.damaged.push(slot);
                }
                Ok(false) => {}
                Err(e) => found.unread.push((slot, e.to_string())),
            }
        }
        found
    }
}
