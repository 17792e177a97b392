//! A reservoir over shards in random order: what WebDataset calls a shuffle.
//!
//! The pass is cut into stretches of fixed length, and the reservoir is drained at the end of each, so
//! that starting anywhere costs one stretch and no more. Draws are hashes of the position.

use super::mix::{below, keyed};
use super::sequence::Sequence;

/// A stretch has this many times the buffer's samples, ..
const STRETCH: u64 = 16;
/// .. but no more than this many samples, unless the buffer alone has more.
const MAX_STRETCH: u64 = 1 << 22;

/// The reservoir, at one position of a pass.
#[derive(Debug, Clone)]
pub struct Buffer {
    sequence: Sequence,
    size: u64,
    stretch: u64,
    key: u64,
    /// Positions of the sequence, counted from the stretch's start.
    held: Vec<u32>,
    /// The next position that is drawn.
    at: u64,
    /// The next position of the sequence that is read.
    read: u64,
}

impl Buffer {
    /// A reservoir of `size` slots over `sequence`, drawing under `key`.
    pub fn new(sequence: Sequence, size: u64, key: u64) -> Buffer {
        let stretch = (size * STRETCH).min(MAX_STRETCH).max(size);
        Buffer { sequence, size, stretch, key, held: Vec::new(), at: 0, read: 0 }
    }

    /// The slot at `position`.
    pub fn slot(&mut self, position: u64) -> u64 {
        let start = position / self.stretch * self.stretch;
        if position < self.at || start > self.at {
            self.held.clear();
            (self.at, self.read) = (start, start);
        }
        loop {
            let drawn = self.draw();
            if self.at > position {
                return self.sequence.slot(drawn);
            }
        }
    }

    /// Draws the slot at `self.at`: a position of the sequence.
    fn draw(&mut self) -> u64 {
        let start = self.at / self.stretch * self.stretch;
        let end = (start + self.stretch).min(self.sequence.len());
        while self.read < end && (self.held.len() as u64) < self.size {
            self.held.push((self.read - start) as u32);
            self.read += 1;
        }
        let at = below(keyed(self.key, self.at), self.held.len() as u64) as usize;
        self.at += 1;
        start + u64::from(self.held.swap_remove(at))
    }
}
