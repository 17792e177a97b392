//! `Windows`: the packs of one window of an epoch after the other.

use super::fit::Fit;
use crate::samples::lengths::Lengths;
use crate::sequence::parts::Cursor;
use crate::sequence::stream::Draw;

/// The samples of a pack.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Pack {
    pub(super) draws: Vec<Draw>,
}

/// Goes along the order and packs each window. The packs of a window come in the order of their first samples, so that long
/// samples do not come first; the samples of a pack in the order of the epoch.
#[derive(Debug)]
pub(super) struct Windows {
    lengths: Lengths,
    cursor: Cursor,
    fit: Fit,
    draws: Vec<Draw>,
    each: Vec<u64>,
    packs: Vec<u32>,
    /// For each pack as it was made, its number in the order of first samples.
    numbers: Vec<u32>,
}

impl Windows {
    pub(super) fn new(lengths: &Lengths, cursor: Cursor) -> Windows {
        Windows {
            lengths: lengths.clone(),
            cursor,
            fit: Fit::default(),
            draws: Vec::new(),
            each: Vec::new(),
            packs: Vec::new(),
            numbers: Vec::new(),
        }
    }

    /// Goes on with another window.
    pub(super) fn seek(&mut self, window: u64) {
        self.cursor.seek(window.saturating_mul(self.lengths.limits().window));
    }

    /// Packs the next window without its samples. Returns the number of its packs, 0 after the last window.
    pub(super) fn count(&mut self) -> u64 {
        self.draw();
        u64::from(self.fit.pack(&self.each, self.lengths.limits(), &mut self.packs))
    }

    /// Packs the next window into `into`, whose memory is used again. `into` is empty after the last window.
    pub(super) fn next_into(&mut self, into: &mut Vec<Pack>) {
        let count = self.count() as usize;
        into.truncate(count);
        into.iter_mut().for_each(|pack| pack.draws.clear());
        into.resize_with(count, Pack::default);
        self.numbers.clear();
        self.numbers.resize(count, u32::MAX);
        let mut next = 0;
        for (&draw, &pack) in self.draws.iter().zip(&self.packs) {
            let number = &mut self.numbers[pack as usize];
            if *number == u32::MAX {
                *number = next;
                next += 1;
            }
            into[*number as usize].draws.push(draw);
        }
    }

    /// The tokens of the window that was packed last.
    pub(super) fn tokens(&self) -> u64 {
        self.each.iter().sum()
    }

    fn draw(&mut self) {
        let Windows { lengths, cursor, draws, each, .. } = self;
        draws.clear();
        let window = usize::try_from(lengths.limits().window).unwrap_or(usize::MAX);
        draws.extend(cursor.take(window));
        each.clear();
        each.extend(draws.iter().map(|draw| lengths.of(draw.ordinal)));
    }
}
