//! Runs of neighbours in random order, and the samples of a window of runs dealt at random.
//!
//! All runs have one length but the last of the data set; that one is put at a random place of its
//! own, so that everything stays arithmetic.

use super::mix::{below, keyed};
use super::permutation::Permutation;

/// The order of a pass by runs.
#[derive(Debug, Clone)]
pub struct Blocks {
    block: u64,
    window: u64,
    samples: u64,
    /// The runs of full length.
    runs: Permutation,
    /// At which place among all runs the shorter one stands, and how long it is.
    short: Option<(u64, u64)>,
    inside_key: u64,
    /// The window that was asked last: its number, and its order.
    last: Option<(u64, Permutation)>,
}

impl Blocks {
    /// The order of `samples` slots in runs of `block`, `window` of which are dealt together.
    pub fn new(samples: u64, block: u64, window: u64, runs_key: u64, inside_key: u64) -> Blocks {
        let full = samples / block;
        let rest = samples % block;
        let place = below(keyed(runs_key, u64::MAX), full + 1);
        Blocks {
            block,
            window,
            samples,
            runs: Permutation::new(full, runs_key),
            short: (rest > 0).then_some((place, rest)),
            inside_key,
            last: None,
        }
    }

    /// The slot at `position`.
    pub fn slot(&mut self, position: u64) -> u64 {
        let (number, start, length) = self.window_of(position);
        if self.last.as_ref().is_none_or(|(last, _)| *last != number) {
            self.last = Some((number, Permutation::new(length, keyed(self.inside_key, number))));
        }
        let inside = self.last.as_ref().map_or(0, |(_, order)| order.get(position - start));
        self.dealt(start + inside)
    }

    /// The window that holds `position`: its number, first position and length.
    fn window_of(&self, position: u64) -> (u64, u64, u64) {
        let length = self.block * self.window;
        let end = |start: u64| self.samples.min(start + length) - start;
        let Some((place, rest)) = self.short else {
            let number = position / length;
            return (number, number * length, end(number * length));
        };
        // The window with the short run is shorter, and all later ones begin that much earlier.
        let (with, lost) = (place / self.window, self.block - rest);
        let number = (position / length).min(with);
        if number < with || position < (with + 1) * length - lost {
            let start = number * length;
            let length = if number == with { length - lost } else { length };
            return (number, start, length.min(self.samples - start));
        }
        let number = (position + lost) / length;
        let start = number * length - lost;
        (number, start, end(start))
    }

    /// The slot at `position` if runs were not dealt in windows.
    fn dealt(&self, position: u64) -> u64 {
        let (place, rest) = self.short.unwrap_or((u64::MAX, 0));
        let first = place.saturating_mul(self.block);
        if position < first {
            self.runs.get(position / self.block) * self.block + position % self.block
        } else if position < first + rest {
            self.runs.len() * self.block + (position - first)
        } else {
            let position = position - rest;
            self.runs.get(position / self.block) * self.block + position % self.block
        }
    }
}
