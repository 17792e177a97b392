//! One slot of the table of mapped ranges: a seqlock that a signal handler reads.
//!
//! Its fields are between a release fence and a release store of `stamp`: a reader that reads the
//! stamp twice and finds the same LIVE value has read fields that belong together. `explored.rs`
//! explores it with shuttle, which replaces the atomics; hence `super::atomics`.

use super::atomics::{AtomicBool, AtomicUsize, Ordering, fence};

/// The stamp's two low bits are the state; the bits above count the uses of the slot.
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
    /// The `PROT_*` bits of its pages.
    protection: AtomicUsize,
    torn: AtomicBool,
}

impl Slot {
    /// Creates a free slot from four zeros and a `false`. The caller passes the atomics because
    /// those of a model cannot be created in constants.
    pub(super) const fn of(zeros: [AtomicUsize; 4], torn: AtomicBool) -> Slot {
        let [stamp, start, end, protection] = zeros;
        Slot { stamp, start, end, protection, torn }
    }

    /// Takes the slot, if it is free, for the addresses `start..end`, whose pages have the `PROT_*` bits
    /// `protection`.
    pub(super) fn take(&self, start: usize, end: usize, protection: usize) -> bool {
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
        self.protection.store(protection, Ordering::Relaxed);
        self.torn.store(false, Ordering::Relaxed);
        self.stamp.store(stamp | LIVE, Ordering::Release);
        true
    }

    /// Frees the slot. No thread may still read in the range.
    pub(super) fn free(&self) {
        let stamp = self.stamp.load(Ordering::Relaxed) & !STATE;
        // The next use has another stamp, so a reader that paused since then detects the reuse.
        self.stamp.store(stamp.wrapping_add(STATE + 1), Ordering::SeqCst);
    }

    /// Returns the end of the range if it contains `address`.
    pub(super) fn end_of(&self, address: usize) -> Option<usize> {
        let stamp = self.stamp.load(Ordering::Acquire);
        let start = self.start.load(Ordering::Relaxed);
        let end = self.end.load(Ordering::Relaxed);
        fence(Ordering::Acquire);
        let same = self.stamp.load(Ordering::Relaxed) == stamp && stamp & STATE == LIVE;
        (same && start <= address && address < end).then_some(end)
    }

    /// Returns the `PROT_*` bits of the range, which the caller has borrowed.
    pub(super) fn protection(&self) -> i32 {
        self.protection.load(Ordering::Relaxed) as i32
    }

    /// Marks the range as torn.
    pub(super) fn tear(&self) {
        self.torn.store(true, Ordering::SeqCst);
    }

    /// Returns true once bytes of the range could not be read. Covers all reads before the call.
    #[inline]
    pub(super) fn is_torn(&self) -> bool {
        fence(Ordering::Acquire);
        self.torn.load(Ordering::Relaxed)
    }
}
