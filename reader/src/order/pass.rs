//! `Pass`: the order of one pass over all samples; position in, slot out.
//!
//! A *slot* is a sample's number among those that take part, in the order of the shards. Cheap to
//! make: memory for the shards, and for the buffer of `Shuffle::Buffer`.

use std::sync::Arc;

use super::blocks::Blocks;
use super::buffer::Buffer;
use super::mix::{Purpose, key};
use super::permutation::Permutation;
use super::sequence::Sequence;
use super::shuffle::Shuffle;

/// The order of one pass.
#[derive(Debug, Clone)]
pub struct Pass {
    samples: u64,
    kind: Kind,
}

#[derive(Debug, Clone)]
enum Kind {
    None,
    Shards(Sequence),
    Buffer(Box<Buffer>),
    Blocks(Box<Blocks>),
    Full(Permutation),
}

impl Pass {
    /// The order of pass number `pass`. `starts` holds the first slot of each shard and, last, the
    /// number of slots.
    pub fn new(starts: Arc<[u64]>, shuffle: Shuffle, pass: u64) -> Pass {
        let samples = starts.last().copied().unwrap_or(0);
        let shards = |seed| Sequence::new(starts.clone(), key(seed, pass, Purpose::Shards));
        let kind = match shuffle {
            Shuffle::None => Kind::None,
            Shuffle::Shards { seed } => Kind::Shards(shards(seed)),
            Shuffle::Buffer { size, seed } => {
                let draws = key(seed, pass, Purpose::Buffer);
                Kind::Buffer(Box::new(Buffer::new(shards(seed), size, draws)))
            }
            Shuffle::Blocks { block, window, seed } => {
                let runs = key(seed, pass, Purpose::Runs);
                let inside = key(seed, pass, Purpose::Window);
                Kind::Blocks(Box::new(Blocks::new(samples, block, window, runs, inside)))
            }
            Shuffle::Full { seed } => {
                Kind::Full(Permutation::new(samples, key(seed, pass, Purpose::Full)))
            }
        };
        Pass { samples, kind }
    }

    /// Samples of the pass.
    pub fn len(&self) -> u64 {
        self.samples
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.samples == 0
    }

    /// The slot at `position`, which must be below [`Pass::len`]. Cheapest when asked in rising order.
    pub fn slot(&mut self, position: u64) -> u64 {
        debug_assert!(position < self.samples);
        match &mut self.kind {
            Kind::None => position,
            Kind::Shards(sequence) => sequence.slot(position),
            Kind::Buffer(buffer) => buffer.slot(position),
            Kind::Blocks(blocks) => blocks.slot(position),
            Kind::Full(permutation) => permutation.get(position),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_slot_comes_once() {
        let shuffles = [
            Shuffle::None,
            Shuffle::Shards { seed: 1 },
            Shuffle::Buffer { size: 7, seed: 1 },
            Shuffle::Blocks { block: 5, window: 3, seed: 1 },
            Shuffle::Blocks { block: 1, window: 1, seed: 1 },
            Shuffle::Full { seed: 1 },
        ];
        for shuffle in shuffles {
            for n in (0..200).chain([255, 256, 257, 1000, 4096, 5000]) {
                for shards in [1, 3, 11] {
                    let starts: Arc<[u64]> = (0..=shards).map(|i| n * i * i / (shards * shards)).collect();
                    let mut pass = Pass::new(starts, shuffle, 3);
                    let mut slots: Vec<_> = (0..n).map(|p| pass.slot(p)).collect();
                    let forward = slots.clone();
                    for p in (0..n).rev().step_by(7) {
                        assert_eq!(pass.slot(p), forward[p as usize]);
                    }
                    slots.sort();
                    assert!(slots.into_iter().eq(0..n), "{shuffle:?} {n} {shards}");
                }
            }
        }
    }
}
