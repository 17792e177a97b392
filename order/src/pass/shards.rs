//! Shards in random order, each from its first sample to its last.
//!
//! Knows where shards start, nothing of what is done with the samples.

use std::sync::Arc;

use crate::random::mix::Key;
use crate::random::permutation::Permutation;

/// Where each shard is in the permuted order; empty shards are left out.
#[derive(Clone, Debug)]
pub(super) struct ShardOrder(Arc<Stretches>);

#[derive(Debug)]
struct Stretches {
    /// By position.
    stretches: Vec<Stretch>,
    /// Which of them holds the first position of each bucket of `2^shift` positions, and the last one
    /// of all: shards of similar size are found without a search.
    buckets: Vec<usize>,
    shift: u32,
}

/// A shard: its first position in the order, its first index in the data set.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    position: u64,
    index: u64,
}

impl ShardOrder {
    /// `starts` as of `Pass::new`.
    pub(super) fn new(starts: &[u64], key: Key) -> ShardOrder {
        let order = Permutation::new(starts.len().saturating_sub(1) as u64, key);
        let mut len = 0;
        let mut stretches = Vec::with_capacity(order.len() as usize);
        for place in 0..order.len() {
            let shard = order.at(place) as usize;
            let index = starts[shard];
            let end = starts[shard + 1];
            if index < end {
                stretches.push(Stretch { position: len, index });
                len += end - index;
            }
        }
        let mut shift = 0;
        while len >> shift > 2 * stretches.len() as u64 {
            shift += 1;
        }
        let mut buckets = Vec::new();
        let mut at = 0;
        for first in (0..len).step_by(1 << shift) {
            while stretches.get(at + 1).is_some_and(|next: &Stretch| next.position <= first) {
                at += 1;
            }
            buckets.push(at);
        }
        buckets.push(stretches.len().saturating_sub(1));
        ShardOrder(Arc::new(Stretches { stretches, buckets, shift }))
    }

    /// The index at `position`, which is below the number of samples.
    #[inline]
    pub(super) fn index(&self, position: u64) -> u64 {
        let Stretches { stretches, buckets, shift } = &*self.0;
        let bucket = (position >> shift) as usize;
        let low = buckets[bucket];
        let high = buckets[bucket + 1];
        let later = stretches[low + 1..=high].partition_point(|s| s.position <= position);
        let Stretch { position: first, index } = stretches[low + later];
        index + (position - first)
    }
}
