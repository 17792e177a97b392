//! `Lines`: the rows between the two passes, as many as an output needs.
//!
//! Computes no sums.

use crate::simd::Taps;

/// Consecutive rows after the first pass. Rows that no output needs any more make room for others.
#[derive(Debug, Default)]
pub(super) struct Lines {
    bytes: Vec<u8>,
    row_bytes: usize,
    /// The number of the first row.
    first: usize,
    /// The number of rows that are there.
    count: usize,
    /// The number of rows that have room.
    most: usize,
    /// The rows that are best computed at once.
    step: usize,
    /// The number of the last row that is needed, plus 1.
    end: usize,
}

impl Lines {
    /// Makes room for the rows of any output of `down`, of `row_bytes` bytes each, and begins with
    /// the first output. `step` rows are computed at once where they are needed.
    pub(super) fn begin(&mut self, down: &Taps, row_bytes: usize, step: usize) {
        let rows = down.reach(1);
        // Twice the rows of an output: each row is moved once at most.
        self.most = (2 * down.each + 2 * step).min(rows);
        self.step = step;
        self.row_bytes = row_bytes;
        self.first = down.starts[0] as usize;
        self.count = 0;
        self.end = self.first + rows;
        self.bytes.resize(self.most * row_bytes, 0);
    }

    /// Returns `count` rows from `start` on, which is not before the start of the call before. Rows
    /// that are not there are computed: `compute(number, to)` has room for one row or more, and
    /// returns how many it has computed.
    pub(super) fn fill(
        &mut self,
        start: usize,
        count: usize,
        mut compute: impl FnMut(usize, &mut [u8]) -> usize,
    ) -> &[u8] {
        let each = self.row_bytes;
        while self.first + self.count < start + count {
            if self.most < self.count + self.step && start > self.first {
                let passed = (start - self.first).min(self.count);
                self.bytes.copy_within(passed * each..self.count * each, 0);
                self.first += passed;
                self.count -= passed;
            }
            let next = self.first + self.count;
            let room = (self.most - self.count).min(self.end - next);
            self.count += compute(next, &mut self.bytes[self.count * each..][..room * each]);
        }
        &self.bytes[(start - self.first) * each..]
    }

    /// Frees memory above `bytes` bytes.
    pub(super) fn drop_large(&mut self, bytes: usize) {
        if self.bytes.capacity() > bytes {
            *self = Lines::default();
        }
    }
}
