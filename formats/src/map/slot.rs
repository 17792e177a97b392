//! One place of the table of mapped ranges: a seqlock that a signal handler reads.
//!
//! Its fields lie between a release fence and a release store of `stamp`. Who reads the stamp twice and finds
//! the same LIVE value has read fields that belong together. `tests/models` explores it with shuttle, which brings
//! its own atomics: hence `super::atomics`.

use super::atomics::{AtomicBool, AtomicUsize, Ordering, fence};

/// A stamp's two low bits; those above count how often the slot was used.
const FREE: usize = 0;
const BUSY: usize = 1;
const LIVE: usize = 2;
const STATE: usize = 3;

/// One mapped range.
#[derive(Debug)]
pub(super) struct Slot {
    stamp: AtomicUsize,
    start: AtomicUsize,
    end: AtomicUsize,
    torn: AtomicBool,
}

impl Slot {
    /// A free slot, of three zeros and a `false`. What atomics are made of is the caller's: those of a model can't be
    /// made in constants.
    pub(super) const fn of(zeros: [AtomicUsize; 3], torn: AtomicBool) -> Slot {
        let [stamp, start, end] = zeros;
        Slot { stamp, start, end, torn }
    }

    /// Takes the slot, if it is free, for the addresses from `start` to before `end`.
    pub(super) fn take(&self, start: usize, end: usize) -> bool {
        let stamp = self.stamp.load(Ordering::Relaxed);
        let busy = stamp | BUSY;
        if stamp & STATE != FREE
            || self
                .stamp
                .compare_exchange(stamp, busy, Ordering::Acquire, Ordering::Relaxed)
                .is_err()
        {
            return false;
        }
        fence(Ordering::Release);
        self.start.store(start, Ordering::Relaxed);
        self.end.store(end, Ordering::Relaxed);
        self.torn.store(false, Ordering::Relaxed);
        self.stamp.store(stamp | LIVE, Ordering::Release);
        true
    }

    /// Gives the slot back. No thread may stand in the range any more.
    pub(super) fn free(&self) {
        let stamp = self.stamp.load(Ordering::Relaxed) & !STATE;
        // The next use has another stamp: a reader that stood still since then will see that.
        self.stamp.store(stamp.wrapping_add(STATE + 1), Ordering::SeqCst);
    }

    /// Where the range ends, if `address` lies in it.
    pub(super) fn end_of(&self, address: usize) -> Option<usize> {
        let stamp = self.stamp.load(Ordering::Acquire);
        let start = self.start.load(Ordering::Relaxed);
        let end = self.end.load(Ordering::Relaxed);
        fence(Ordering::Acquire);
        let same = self.stamp.load(Ordering::Relaxed) == stamp && stamp & STATE == LIVE;
        (same && start <= address && address < end).then_some(end)
    }

    /// Marks the range as no longer what was mapped.
    pub(super) fn tear(&self) {
        self.torn.store(true, Ordering::SeqCst);
    }

    /// True once bytes of the range could not be read. What was read before the call is covered.
    #[inline]
    pub(super) fn is_torn(&self) -> bool {
        fence(Ordering::Acquire);
        self.torn.load(Ordering::Relaxed)
    }
}
