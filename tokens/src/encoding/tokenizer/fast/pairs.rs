//! `PairTable`: numbers by pairs of numbers; and `Borders`, the pairs of neighbors that some merge joins.

use std::hash::{BuildHasher, RandomState};

/// No number.
pub(super) const NONE: u32 = u32::MAX;

#[derive(Debug, Clone, Copy)]
struct Slot {
    pair: u64,
    number: u32,
}

/// A table of numbers by pairs. At most half of its places are taken.
#[derive(Debug)]
pub(super) struct PairTable {
    slots: Box<[Slot]>,
    /// Of the process, so that no file can choose pairs that share a place.
    factor: u64,
    shift: u32,
}

impl PairTable {
    /// Makes a table. Of a repeated pair the last number counts. No number is [`NONE`].
    pub(super) fn new(pairs: &[(u64, u32)]) -> PairTable {
        let places = (pairs.len() * 2).next_power_of_two().max(2);
        let slots = vec![Slot { pair: 0, number: NONE }; places].into_boxed_slice();
        let factor = RandomState::new().hash_one(places) | 1;
        let mut table = PairTable { slots, factor, shift: 64 - places.trailing_zeros() };
        for &(pair, number) in pairs {
            let at = table.place(pair);
            table.slots[at] = Slot { pair, number };
        }
        table
    }

    /// Returns the place of a pair, or the free one where it would be.
    #[inline]
    fn place(&self, pair: u64) -> usize {
        let mixed = (pair ^ (pair >> 29)).wrapping_mul(self.factor);
        let mixed = (mixed ^ (mixed >> 32)).wrapping_mul(self.factor);
        let mut at = (mixed >> self.shift) as usize;
        while self.slots[at].number != NONE && self.slots[at].pair != pair {
            at = (at + 1) & (self.slots.len() - 1);
        }
        at
    }

    /// Returns the number of a pair; [`NONE`] if it has none.
    #[inline]
    pub(super) fn get(&self, left: u32, right: u32) -> u32 {
        self.slots[self.place(pair(left, right))].number
    }
}

/// Returns a pair as the key of a [`PairTable`].
pub(super) fn pair(left: u32, right: u32) -> u64 {
    u64::from(left) << 32 | u64::from(right)
}

/// The neighbors that some merge joins: the last character of its left side, and the first one of its right side. A text
/// may be cut between all others, for no merge reaches over them.
#[derive(Debug)]
pub(super) struct Borders {
    /// A bit for each pair below [`LOW`].
    low: Box<[u64]>,
    others: PairTable,
}

/// Bytes, and the characters that have a bit.
const LOW: u32 = 256;

impl Borders {
    /// Makes the set of these neighbors.
    pub(super) fn new(pairs: impl Iterator<Item = (u32, u32)>) -> Borders {
        let mut low = vec![0; (LOW * LOW / 64) as usize].into_boxed_slice();
        let mut others = Vec::new();
        for (left, right) in pairs {
            if left < LOW && right < LOW {
                let bit = left * LOW + right;
                low[(bit / 64) as usize] |= 1 << (bit % 64);
            } else {
                others.push((pair(left, right), 0));
            }
        }
        others.sort_unstable();
        others.dedup();
        Borders { low, others: PairTable::new(&others) }
    }

    /// Returns true if some merge may join these neighbors.
    #[inline]
    pub(super) fn joins(&self, left: u32, right: u32) -> bool {
        if left < LOW && right < LOW {
            let bit = left * LOW + right;
            return self.low[(bit / 64) as usize] >> (bit % 64) & 1 == 1;
        }
        self.others.get(left, right) != NONE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_what_it_was_given() {
        let pairs: Vec<(u64, u32)> = (0..5000).map(|n| (pair(n * 7, n * n), n)).collect();
        let table = PairTable::new(&pairs);
        for n in 0..5000 {
            assert_eq!(table.get(n * 7, n * n), n);
            assert_eq!(table.get(n * 7 + 1, n * n), NONE);
        }
        assert_eq!(PairTable::new(&[]).get(0, 0), NONE);
        assert_eq!(PairTable::new(&[(0, 1), (0, 2)]).get(0, 0), 2);
    }

    #[test]
    fn neighbors_are_joined_in_one_order() {
        let borders = Borders::new([(97, 98), (97, 0x2581), (0x4e00, 97)].into_iter());
        assert!(borders.joins(97, 98) && borders.joins(97, 0x2581) && borders.joins(0x4e00, 97));
        assert!(!borders.joins(98, 97) && !borders.joins(0x2581, 97) && !borders.joins(0, 0));
    }
}
