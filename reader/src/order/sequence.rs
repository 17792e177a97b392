//! Shards in random order, each as it stands.

use std::sync::Arc;

use super::permutation::Permutation;

/// The slots, shard after shard in a permuted order.
#[derive(Debug, Clone)]
pub struct Sequence {
    starts: Arc<[u64]>,
    order: Permutation,
    /// The first position of each shard in the permuted order, and the number of positions.
    firsts: Vec<u64>,
    /// The place in `firsts` that was asked last.
    last: usize,
}

impl Sequence {
    /// The order under `key` of the shards whose first slots are `starts`.
    pub fn new(starts: Arc<[u64]>, key: u64) -> Sequence {
        let shards = starts.len().saturating_sub(1);
        let order = Permutation::new(shards as u64, key);
        let mut firsts = Vec::with_capacity(shards + 1);
        let mut first = 0;
        firsts.push(first);
        for place in 0..shards {
            let shard = order.get(place as u64) as usize;
            first += starts[shard + 1] - starts[shard];
            firsts.push(first);
        }
        Sequence { starts, order, firsts, last: 0 }
    }

    /// Slots in all.
    pub fn len(&self) -> u64 {
        self.firsts.last().copied().unwrap_or(0)
    }

    /// The slot at `position`, which must be below [`Sequence::len`].
    pub fn slot(&mut self, position: u64) -> u64 {
        let here = self.firsts[self.last] <= position && position < self.firsts[self.last + 1];
        if !here {
            self.last = self.firsts.partition_point(|&first| first <= position) - 1;
        }
        let shard = self.order.get(self.last as u64) as usize;
        self.starts[shard] + (position - self.firsts[self.last])
    }
}
