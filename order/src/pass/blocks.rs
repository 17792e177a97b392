//! `Shuffle::Blocks`: runs of neighbors in random order, windows of runs shuffled exactly.
//!
//! Knows indexes only. A last run that is shorter than the others has a separate place, drawn from the key.

use crate::random::mix::{Key, below};
use crate::random::permutation::Permutation;

/// All runs of a pass.
#[derive(Clone, Debug)]
pub(super) struct Blocks {
    len: u64,
    block: u64,
    window: u64,
    /// The run at each place; whole runs only.
    runs: Permutation,
    /// Samples of the shorter last run, 0 if there is none; and its place among all runs.
    rest: u64,
    rest_place: u64,
    key: Key,
}

/// One window: its number, where it begins, and the order of its samples.
#[derive(Clone, Debug)]
pub(super) struct Window {
    number: u64,
    start: u64,
    order: Permutation,
}

/// The runs of a window that were met already, to find each once only. At most 32 KiB, and kept from
/// window to window.
#[derive(Clone, Debug, Default)]
pub(super) struct VisitedRuns(Vec<u64>);

/// Windows of more runs do without [`VisitedRuns`].
const MET: u64 = 4096;
const NOT_MET: u64 = u64::MAX;

impl Blocks {
    pub(super) fn new(len: u64, block: u64, window: u64, key: Key) -> Blocks {
        // Longer runs or windows than the data set change nothing, and can't overflow.
        let block = block.clamp(1, len.max(1));
        let window = window.clamp(1, len.div_ceil(block).max(1));
        let whole = len / block;
        let rest = len % block;
        let runs = Permutation::new(whole, key.sub(0));
        let rest_place = if rest == 0 { whole } else { below(key.sub(1).draw(0), whole + 1) };
        Blocks { len, block, window, runs, rest, rest_place, key: key.sub(2) }
    }

    /// Samples that the shorter run lacks; they are missing from its window.
    fn missing(&self) -> u64 {
        if self.rest == 0 { 0 } else { self.block - self.rest }
    }

    /// First position of window `number`.
    fn window_start(&self, number: u64) -> u64 {
        let before = number * self.window * self.block;
        if number > self.rest_place / self.window { before - self.missing() } else { before }
    }

    /// The window that holds `position`.
    pub(super) fn window(&self, position: u64) -> Window {
        let samples = self.window * self.block;
        let short = self.rest_place / self.window;
        let behind = position >= self.window_start(short + 1);
        let number = (position + if behind { self.missing() } else { 0 }) / samples;
        let start = self.window_start(number);
        let end = self.window_start(number + 1).min(self.len);
        Window { number, start, order: Permutation::new(end - start, self.key.sub(number)) }
    }

    /// Where the window that holds `position` ends.
    pub(super) fn window_end(&self, position: u64) -> u64 {
        let window = self.window(position);
        window.start + window.order.len()
    }

    /// The index at `position`, which is in `window`.
    pub(super) fn index(&self, window: &Window, position: u64) -> u64 {
        match self.locate(window, position) {
            RunPlace::Rest(sample) => self.runs.len() * self.block + sample,
            RunPlace::Run { place, sample } => self.run(window, place) * self.block + sample,
        }
    }

    /// The same for a cursor that steps through a window; `met` was cleared when `window` was made.
    #[inline]
    pub(super) fn index_met(&self, window: &Window, met: &mut VisitedRuns, position: u64) -> u64 {
        match self.locate(window, position) {
            RunPlace::Rest(sample) => self.runs.len() * self.block + sample,
            RunPlace::Run { place, sample } => {
                let run = match met.0.get_mut(place as usize) {
                    None => self.run(window, place),
                    Some(run) if *run != NOT_MET => *run,
                    Some(run) => {
                        *run = self.run(window, place);
                        *run
                    }
                };
                run * self.block + sample
            }
        }
    }

    /// Where the sample of `position` is in its window before the window is shuffled.
    #[inline]
    fn locate(&self, window: &Window, position: u64) -> RunPlace {
        let mut sample = window.order.at(position - window.start);
        let rest_place = self.rest_place.wrapping_sub(window.number * self.window);
        if self.rest > 0 && rest_place < self.window {
            let rest_start = rest_place * self.block;
            if sample >= rest_start + self.rest {
                sample += self.missing();
            } else if sample >= rest_start {
                return RunPlace::Rest(sample - rest_start);
            }
        }
        let place = if self.block.is_power_of_two() {
            sample >> self.block.trailing_zeros() // spares a division
        } else {
            sample / self.block
        };
        RunPlace::Run { place, sample: sample - place * self.block }
    }

    /// The whole run at `place` of the window.
    fn run(&self, window: &Window, place: u64) -> u64 {
        let place = window.number * self.window + place;
        self.runs.at(place - u64::from(self.rest > 0 && place > self.rest_place))
    }

    /// Forgets the runs of the last window.
    pub(super) fn forget(&self, met: &mut VisitedRuns) {
        met.0.clear();
        if self.window <= MET {
            met.0.resize(self.window as usize, NOT_MET);
        }
    }
}

/// A sample in its run: of the shorter last one, or of the one at `place` of the window.
enum RunPlace {
    Rest(u64),
    Run { place: u64, sample: u64 },
}

impl Window {
    /// Whether `position` is in it.
    #[inline]
    pub(super) fn holds(&self, position: u64) -> bool {
        position >= self.start && position - self.start < self.order.len()
    }
}
