//! `Offers`: ranges that will be read and wait for room among the pieces. Pure: no I/O, no clock, no thread.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

/// A piece: number of its shard, first byte.
pub(crate) type PieceId = (u64, u64);

/// A range of a shard, and the first byte of each of its samples, ascending. Each sample is read once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// Number of the shard.
    pub shard: u64,
    /// The bytes.
    pub range: Range<u64>,
    /// The first byte of each sample.
    pub starts: Vec<u64>,
}

impl Offer {
    pub(crate) fn length(&self) -> u64 {
        self.range.end - self.range.start
    }

    fn id(&self) -> PieceId {
        (self.shard, self.range.start)
    }
}

/// The offers of all shards, in the order in which they were made.
#[derive(Debug, Default)]
pub(crate) struct Offers {
    by_place: BTreeMap<PieceId, Offer>,
    order: VecDeque<PieceId>,
}

impl Offers {
    pub(crate) fn is_empty(&self) -> bool {
        self.by_place.is_empty()
    }

    /// Appends an offer. One that begins at the same byte is extended.
    pub(crate) fn push(&mut self, offer: Offer) {
        match self.by_place.get_mut(&offer.id()) {
            Some(earlier) => {
                earlier.range.end = earlier.range.end.max(offer.range.end);
                earlier.starts.extend(offer.starts);
                earlier.starts.sort_unstable();
            }
            None => {
                // An offer that was taken by a byte and made again is in the order twice: its earlier turn counts.
                self.order.push_back(offer.id());
                self.by_place.insert(offer.id(), offer);
            }
        }
    }

    /// The offer that was made first.
    pub(crate) fn first(&mut self) -> Option<&Offer> {
        while let Some(id) = self.order.front() {
            if self.by_place.contains_key(id) {
                return self.by_place.get(id);
            }
            self.order.pop_front(); // it was taken out of turn
        }
        None
    }

    /// Takes the offer that was made first.
    pub(crate) fn pop(&mut self) -> Option<Offer> {
        let id = self.first()?.id();
        self.by_place.remove(&id)
    }

    /// Takes the offer that has byte `at`.
    pub(crate) fn take(&mut self, shard: u64, at: u64) -> Option<Offer> {
        let id = self.with_byte(shard, at)?.id();
        self.by_place.remove(&id)
    }

    /// The offer that has byte `at`.
    pub(crate) fn with_byte(&self, shard: u64, at: u64) -> Option<&Offer> {
        let (id, offer) = self.by_place.range(..=(shard, at)).next_back()?;
        (id.0 == shard && at < offer.range.end).then_some(offer)
    }

    /// The first byte of the next offer of a shard from `at` on.
    pub(crate) fn next_start(&self, shard: u64, at: u64) -> Option<u64> {
        let (id, _) = self.by_place.range((shard, at)..).next()?;
        (id.0 == shard).then_some(id.1)
    }

    pub(crate) fn clear(&mut self) {
        self.by_place.clear();
        self.order.clear();
    }

    /// Drops the offers of a shard.
    pub(crate) fn forget(&mut self, shard: u64) {
        self.by_place.retain(|id, _| id.0 != shard);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer(shard: u64, range: Range<u64>) -> Offer {
        Offer { shard, starts: vec![range.start], range }
    }

    #[test]
    fn offers_are_taken_in_their_order_or_by_a_byte() {
        let mut offers = Offers::default();
        offers.push(offer(1, 100..200));
        offers.push(offer(0, 0..50));
        offers.push(offer(0, 80..90));
        offers.push(offer(0, 80..95));
        assert_eq!(offers.with_byte(0, 60), None);
        assert_eq!(offers.next_start(0, 1), Some(80));
        assert_eq!(offers.next_start(0, 81), None);
        assert_eq!(offers.take(1, 199), Some(offer(1, 100..200)));
        assert_eq!(offers.pop(), Some(offer(0, 0..50)));
        let extended = Offer { shard: 0, range: 80..95, starts: vec![80, 80] };
        assert_eq!(offers.first(), Some(&extended));
        offers.forget(0);
        assert!(offers.is_empty() && offers.pop().is_none());
    }
}
