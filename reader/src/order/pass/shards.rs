//! Shards in random order, each from its first sample to its last.
//!
//! Knows where shards start, nothing of what is done with the samples.

use std::sync::Arc;

use crate::order::mix::Key;
use crate::order::permutation::Permutation;

/// Where each shard stands in the permuted order; empty shards are left out.
#[derive(Clone, Debug)]
pub(super) struct ShardOrder(Arc<[Stretch]>);

/// A shard: its first position in the order, its first slot in the data set.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    position: u64,
    slot: u64,
}

impl ShardOrder {
    /// `starts` as of `Pass::new`.
    pub(super) fn new(starts: &[u64], key: Key) -> ShardOrder {
        let order = Permutation::new(starts.len().saturating_sub(1) as u64, key);
        let mut position = 0;
        let mut stretches = Vec::with_capacity(order.len() as usize);
        for place in 0..order.len() {
            let shard = order.at(place) as usize;
            let (slot, end) = (starts[shard], starts[shard + 1]);
            if slot < end {
                stretches.push(Stretch { position, slot });
                position += end - slot;
            }
        }
        ShardOrder(stretches.into())
    }

    /// The slot at `position`, by binary search.
    pub(super) fn slot(&self, position: u64) -> u64 {
        let after = self.0.partition_point(|s| s.position <= position);
        let stretch = self.0[after - 1];
        stretch.slot + (position - stretch.position)
    }

    /// The same, where `near` tells which shard was met last: in it, or in the next one, there is
    /// nothing to search.
    #[inline]
    pub(super) fn slot_near(&self, position: u64, near: &mut usize) -> u64 {
        for guess in [*near, *near + 1] {
            if let Some(slot) = self.within(guess, position) {
                *near = guess;
                return slot;
            }
        }
        *near = self.0.partition_point(|s| s.position <= position) - 1;
        self.0[*near].slot + (position - self.0[*near].position)
    }

    #[inline]
    fn within(&self, shard: usize, position: u64) -> Option<u64> {
        let stretch = self.0.get(shard)?;
        let end = self.0.get(shard + 1).map_or(u64::MAX, |next| next.position);
        (stretch.position <= position && position < end)
            .then(|| stretch.slot + (position - stretch.position))
    }
}
