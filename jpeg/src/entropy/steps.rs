//! `Steps`: the loops that read one to four lanes in turn, for an instruction set.
//!
//! Knows nothing of what a lane reads: `lockstep` and `skim` have the lanes.

/// Limit on the lanes read in turn. More would need more registers than a processor has, and gain
/// nothing.
pub(crate) const MOST_LANES: usize = 4;

/// The loops for an instruction set. Each returns the number of the lane that stopped.
#[derive(Debug)]
pub(crate) struct Steps<L: 'static> {
    pub(super) one: fn([&mut L; 1]) -> usize,
    pub(super) two: fn([&mut L; 2]) -> usize,
    pub(super) three: fn([&mut L; 3]) -> usize,
    pub(super) four: fn([&mut L; 4]) -> usize,
}

impl<L> Steps<L> {
    /// Runs the lanes, each begun, through their blocks until one stops; returns its number.
    pub(crate) fn run(&self, lanes: &mut [L]) -> usize {
        match lanes {
            [a, b, c, d, ..] => (self.four)([a, b, c, d]),
            [a, b, c] => (self.three)([a, b, c]),
            [a, b] => (self.two)([a, b]),
            [a] => (self.one)([a]),
            [] => 0,
        }
    }
}

/// The loop with one variable per lane: in an array, the compiler would keep them in memory. The
/// look-ups of the lanes alternate, so that each has the time of the others to arrive. A window has
/// the bits of three.
macro_rules! rounds {
    ($name:ident, [$type:ty; $count:literal], $look:path, $($lane:ident $cold:ident $number:literal),+) => {
        /// Steps the lanes in turn until one stops; returns its number.
        #[inline(always)]
        pub(super) fn $name(lanes: [&mut $type; $count]) -> usize {
            let [$($lane),+] = lanes;
            $(let (mut $lane, mut $cold) = $lane.hot();)+
            let stopped = loop {
                $(if !$lane.load(&mut $cold) { break $number; })+
                $(if !$look(&mut $lane, &mut $cold) { break $number; })+
                $(if !$look(&mut $lane, &mut $cold) { break $number; })+
                $(if !$look(&mut $lane, &mut $cold) { break $number; })+
            };
            $($cold.park($lane.state);)+
            stopped
        }
    };
}
pub(super) use rounds;
