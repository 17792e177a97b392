//! The table of watched address ranges, which a signal handler may read at any moment.
//!
//! No locks, and no memory is freed: the table grows by slabs of 1,024 ranges, which are reused but
//! never freed. Finding a range takes one pass over the table; it runs once per truncated file,
//! never in a lookup.
//!
//! Invariants:
//! - a slab is reached only through [`Slab::next`], is published complete, and is never freed;
//! - a slot's fields are written only by the thread that moved it from FREE to BUSY, and by
//!   [`tear`];
//! - `stamp` changes before and after the fields do. A reader that reads it twice and finds the
//!   same LIVE value has read fields that belong together. A slot that changes meanwhile is
//!   skipped: a faulting thread borrows its own range, so that slot does not change;
//! - memory order: the fields are between a release fence and a release store of `stamp`, as in a
//!   seqlock.
//!
//! [`tear`]: Slot::tear
#![allow(unsafe_code)]

use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

use super::slot::Slot;

/// Miri needs few, because it takes long.
const SLOTS: usize = if cfg!(miri) { 16 } else { 1024 };

static TABLE: Slab = Slab::new();

const fn free_slot() -> Slot {
    Slot::of([const { AtomicUsize::new(0) }; 4], AtomicBool::new(false))
}

/// Slots that are allocated together.
struct Slab {
    /// Approximate number of taken slots; [`claim`] skips a slab that looks full, with no other
    /// effect.
    taken: AtomicUsize,
    /// Start of the search for a free slot.
    hint: AtomicUsize,
    slots: [Slot; SLOTS],
    next: AtomicPtr<Slab>,
}

impl Slab {
    const fn new() -> Slab {
        Slab {
            taken: AtomicUsize::new(0),
            hint: AtomicUsize::new(0),
            slots: [const { free_slot() }; SLOTS],
            next: AtomicPtr::new(null_mut()),
        }
    }

    fn next(&self) -> Option<&'static Slab> {
        // SAFETY: `next` is null or came from `Box::leak` in `grow`, was published complete with
        // release order, and is never freed.
        unsafe { self.next.load(Ordering::Acquire).as_ref() }
    }

    /// Returns the next slab, allocated if there is none.
    fn grow(&self) -> &'static Slab {
        if let Some(next) = self.next() {
            return next;
        }
        let made: &'static mut Slab = Box::leak(Box::new(Slab::new()));
        let made: *mut Slab = made;
        let order = (Ordering::AcqRel, Ordering::Acquire);
        let next = match self.next.compare_exchange(null_mut(), made, order.0, order.1) {
            Ok(_) => made,
            Err(other) => {
                // SAFETY: `made` came from a box above and was not published.
                drop(unsafe { Box::from_raw(made) });
                other
            }
        };
        // SAFETY: not null, published by this or another thread's `grow`, and never freed.
        unsafe { &*next }
    }

    fn claim(&self, start: usize, end: usize, protection: usize) -> Option<&Slot> {
        if self.taken.load(Ordering::Relaxed) >= SLOTS {
            return None;
        }
        let hint = self.hint.load(Ordering::Relaxed) % SLOTS;
        let (before, behind) = self.slots.split_at(hint);
        let mut slots = behind.iter().chain(before).zip(hint..);
        let found = slots.find(|(slot, _)| slot.take(start, end, protection));
        found.map(|(slot, at)| {
            self.taken.fetch_add(1, Ordering::Relaxed);
            self.hint.store(at + 1, Ordering::Relaxed);
            slot
        })
    }
}

/// Claims a slot of the table for the addresses `start..end`, whose pages have the `PROT_*` bits `protection`.
pub(super) fn claim(start: usize, end: usize, protection: usize) -> &'static Slot {
    let mut slab = &TABLE;
    loop {
        if let Some(slot) = slab.claim(start, end, protection) {
            return slot;
        }
        slab = slab.grow();
    }
}

/// Releases the slot. No thread may still read in the range.
pub(super) fn release(slot: &'static Slot) {
    slot.free();
    let address = std::ptr::from_ref(slot);
    let mut slab = Some(&TABLE);
    while let Some(here) = slab {
        if here.slots.as_ptr_range().contains(&address) {
            here.taken.fetch_sub(1, Ordering::Relaxed);
            return;
        }
        slab = here.next();
    }
}

/// Returns the slot whose range contains `address`, and the end of that range. Safe in a signal
/// handler: takes no lock, allocates nothing and cannot panic.
pub(super) fn find(address: usize) -> Option<(&'static Slot, usize)> {
    let mut slab = Some(&TABLE);
    while let Some(here) = slab {
        for slot in &here.slots {
            if let Some(end) = slot.end_of(address) {
                return Some((slot, end));
            }
        }
        slab = here.next();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Addresses outside every map: the tests of `map` share the table.
    const BASE: usize = 1 << 62;

    /// Ranges of more than two slabs.
    const MANY: usize = SLOTS / 2 * 5;

    #[test]
    fn ranges_are_found_and_forgotten_also_past_the_first_slab() {
        let slots: Vec<_> =
            (0..MANY).map(|i| claim(BASE + i * 10_000, BASE + i * 10_000 + 4096, 1)).collect();
        for (i, slot) in slots.iter().enumerate() {
            let start = BASE + i * 10_000;
            for address in [start, start + 4095] {
                let (found, end) = find(address).expect("a range");
                assert!(std::ptr::eq(found, *slot));
                assert_eq!(end, start + 4096);
            }
            assert!(find(start + 4096).is_none());
        }
        slots.iter().for_each(|slot| release(slot));
        assert!((0..MANY).all(|i| find(BASE + i * 10_000).is_none()));
    }

    #[test]
    fn a_reused_slot_is_intact() {
        let slot = claim(BASE - 4096, BASE - 2048, 1);
        slot.tear();
        assert!(slot.is_torn());
        release(slot);
        let slots: Vec<_> = (0..SLOTS).map(|_| claim(BASE - 4096, BASE - 2048, 1)).collect();
        assert!(slots.iter().all(|slot| !slot.is_torn()));
        slots.iter().for_each(|slot| release(slot));
    }

    /// Ranges come and go in other threads; a fault at an address between two of them, as in
    /// another library's map, never matches a range, and a range that stays is always found.
    #[test]
    fn a_search_never_reads_a_partial_change() {
        let low = BASE / 2;
        let high = BASE / 2 + (1 << 30);
        let stays = claim(low + (512 << 20), low + (512 << 20) + 4096, 1);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..if cfg!(miri) { 40 } else { 20_000 } {
                        release(claim(low, low + 4096, 1));
                        release(claim(high, high + 4096, 1));
                    }
                });
            }
            for _ in 0..if cfg!(miri) { 40 } else { 2_000 } {
                assert!(find(low + (100 << 20)).is_none());
                assert!(find(low + (512 << 20)).is_some());
            }
        });
        release(stays);
    }
}
