//! The reservoir of `Shuffle::Buffer`: in which order reads are delivered.
//!
//! Knows positions only: position `p` of the reads to position `q` of the delivery. The pass is cut
//! into segments of fixed length, and the reservoir is drained at the end of each, so that a start
//! anywhere replays one segment at most. Each draw is a hash of its position.

use crate::random::mix::{Key, below};
use crate::shuffle::Shuffle;

/// Segments are not shorter: replaying so many steps takes milliseconds, and the fewer ends, the more
/// it resembles the endless reservoir of WebDataset.
const MIN_SEGMENT: u64 = 1 << 20;
/// Nor longer: with a reservoir that does not fit a cache a step takes about 17 ns, and a start must
/// stay well below 100 ms.
const MAX_SEGMENT: u64 = Shuffle::MAX_BUFFER;

/// A reservoir of `size` samples over `len` reads.
#[derive(Clone, Copy, Debug)]
pub(super) struct Buffer {
    len: u64,
    size: u64,
    segment: u64,
    key: Key,
}

impl Buffer {
    /// `size` is 1 to [`MAX_SEGMENT`].
    pub(super) fn new(len: u64, size: u64, key: Key) -> Buffer {
        let size = size.clamp(1, MAX_SEGMENT);
        Buffer::cut(len, size, (16 * size).clamp(MIN_SEGMENT, MAX_SEGMENT), key)
    }

    /// The same with segments of another length, at least `size`.
    pub(super) fn cut(len: u64, size: u64, segment: u64, key: Key) -> Buffer {
        Buffer { len, size, segment, key }
    }

    /// First position and length of the segment that holds `position`.
    fn segment(&self, position: u64) -> (u64, u64) {
        let start = position - position % self.segment;
        (start, self.segment.min(self.len - start))
    }

    /// Which read is delivered at `position`, without memory: follows the delivered place of the
    /// reservoir back to the step that filled it, `size` steps on average.
    pub(super) fn trace(&self, position: u64) -> u64 {
        let (start, len) = self.segment(position);
        let place_at = |step: u64| below(self.key.draw(start + step), self.held(step, len));
        let mut place = place_at(position - start);
        for step in (0..position - start).rev() {
            if place_at(step) == place {
                match self.size + step {
                    read if read < len => return start + read,
                    // Drained: the last one of the reservoir was moved here.
                    _ => place = self.held(step, len) - 1,
                }
            }
        }
        start + place
    }

    /// Samples that the reservoir holds at a step of a segment of `len`.
    fn held(&self, step: u64, len: u64) -> u64 {
        self.size.min(len - step)
    }
}

/// A reservoir at work on one segment. Takes 4 bytes a sample of the reservoir.
#[derive(Clone, Debug)]
pub(super) struct Reservoir {
    start: u64,
    len: u64,
    step: u64,
    /// Reads that wait, counted from the segment's start.
    held: Vec<u32>,
}

impl Reservoir {
    pub(super) fn new() -> Reservoir {
        Reservoir { start: 0, len: 0, step: 0, held: Vec::new() }
    }

    /// Goes to `position`, which is below the number of reads: a replay of the segment up to there,
    /// or from here if it is ahead.
    pub(super) fn seek(&mut self, buffer: &Buffer, position: u64) {
        let (start, len) = buffer.segment(position);
        let ahead = self.len > 0 && self.start == start && self.step <= position - start;
        if !ahead {
            self.start = start;
            self.len = len;
            self.step = 0;
            self.held.clear();
            self.held.extend(0..buffer.size.min(len) as u32);
        }
        while self.step < position - start {
            self.advance(buffer);
        }
    }

    /// The next read to deliver, of any segment.
    #[inline]
    pub(super) fn next(&mut self, buffer: &Buffer) -> u64 {
        if self.step == self.len {
            self.seek(buffer, self.start + self.len);
        }
        self.start + u64::from(self.advance(buffer))
    }

    #[inline]
    fn advance(&mut self, buffer: &Buffer) -> u32 {
        let draw = buffer.key.draw(self.start + self.step);
        let place = below(draw, self.held.len() as u64) as usize;
        let read = buffer.size + self.step;
        self.step += 1;
        if read < self.len {
            std::mem::replace(&mut self.held[place], read as u32)
        } else {
            self.held.swap_remove(place)
        }
    }
}
