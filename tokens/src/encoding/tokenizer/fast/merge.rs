//! `Merges`: joins the symbols of a word by the ranks of pairs: the lowest rank first, and the leftmost of equal ones.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::pairs::{NONE, PairTable};

/// Symbols of a word that is merged by looking at all pairs.
const SHORT: usize = 32;

/// The merges of a model.
#[derive(Debug)]
pub(super) struct Merges {
    /// The rank of a pair of ids.
    ranks: PairTable,
    /// The id that a merge makes, by its rank.
    products: Box<[u32]>,
}

/// Memory that words share.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    /// The symbols of a word before it is merged.
    pub(super) symbols: Vec<u32>,
    /// The rank of each symbol with the next one.
    ranks: Vec<u32>,
    before: Vec<u32>,
    next: Vec<u32>,
    heap: BinaryHeap<Reverse<u64>>,
}

impl Merges {
    /// `ranks` has pairs of ids; `products` the ids that they become.
    pub(super) fn new(ranks: &[(u64, u32)], products: Vec<u32>) -> Merges {
        Merges { ranks: PairTable::new(ranks), products: products.into() }
    }

    /// Appends the ids of the word whose symbols are in `scratch`.
    pub(super) fn merge(&self, scratch: &mut Scratch, into: &mut Vec<u32>) {
        match scratch.symbols[..] {
            [] => {}
            [only] => into.push(only),
            _ if scratch.symbols.len() <= SHORT => self.merge_short(scratch, into),
            _ => self.merge_long(scratch, into),
        }
    }

    fn merge_short(&self, scratch: &mut Scratch, into: &mut Vec<u32>) {
        let symbols = &mut scratch.symbols;
        let ranks = &mut scratch.ranks;
        ranks.clear();
        ranks.extend(symbols.windows(2).map(|pair| self.ranks.get(pair[0], pair[1])));
        loop {
            let mut best = NONE;
            let mut at = 0;
            for (place, &rank) in ranks.iter().enumerate() {
                if rank < best {
                    best = rank;
                    at = place;
                }
            }
            if best == NONE {
                break;
            }
            symbols[at] = self.products[best as usize];
            symbols.remove(at + 1);
            ranks.remove(at);
            if at < ranks.len() {
                ranks[at] = self.ranks.get(symbols[at], symbols[at + 1]);
            }
            if at > 0 {
                ranks[at - 1] = self.ranks.get(symbols[at - 1], symbols[at]);
            }
        }
        into.extend_from_slice(symbols);
    }

    /// As [`Merges::merge_short`], with a list of neighbors and a heap of ranks.
    fn merge_long(&self, scratch: &mut Scratch, into: &mut Vec<u32>) {
        let Scratch { symbols, ranks, before, next, heap } = scratch;
        let count = symbols.len() as u32;
        ranks.clear();
        ranks.extend(symbols.windows(2).map(|pair| self.ranks.get(pair[0], pair[1])));
        ranks.push(NONE);
        before.clear();
        before.extend((0..count).map(|at| at.wrapping_sub(1)));
        next.clear();
        next.extend(1..=count);
        heap.clear();
        let ranked = (0..).zip(&*ranks).filter(|&(_, &rank)| rank != NONE);
        heap.extend(ranked.map(|(at, &rank)| entry(rank, at)));
        while let Some(Reverse(top)) = heap.pop() {
            let rank = (top >> 32) as u32;
            let at = top as u32 as usize;
            // The pair has changed since it was noted.
            if ranks[at] != rank {
                continue;
            }
            let right = next[at] as usize;
            symbols[at] = self.products[rank as usize];
            ranks[right] = NONE;
            symbols[right] = NONE;
            next[at] = next[right];
            ranks[at] = NONE;
            if next[at] < count {
                before[next[at] as usize] = at as u32;
                let rank = self.ranks.get(symbols[at], symbols[next[at] as usize]);
                note(heap, ranks, rank, at as u32);
            }
            if at > 0 {
                let left = before[at];
                let rank = self.ranks.get(symbols[left as usize], symbols[at]);
                note(heap, ranks, rank, left);
            }
        }
        into.extend(symbols.iter().filter(|&&id| id != NONE));
    }
}

fn entry(rank: u32, at: u32) -> Reverse<u64> {
    Reverse(u64::from(rank) << 32 | u64::from(at))
}

/// Notes the rank of a symbol with the next one.
fn note(heap: &mut BinaryHeap<Reverse<u64>>, ranks: &mut [u32], rank: u32, at: u32) {
    ranks[at as usize] = rank;
    if rank != NONE {
        heap.push(entry(rank, at));
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::super::pairs::pair;
    use super::*;

    /// What the two ways to merge must give: all pairs are looked up again after each merge.
    fn plain(merges: &Merges, word: &[u32]) -> Vec<u32> {
        let mut word = word.to_vec();
        loop {
            let ranks = word.windows(2).map(|pair| merges.ranks.get(pair[0], pair[1]));
            let Some((rank, at)) = ranks.zip(0..).min().filter(|&(rank, _)| rank != NONE) else {
                return word;
            };
            word[at] = merges.products[rank as usize];
            word.remove(at + 1);
        }
    }

    proptest! {
        #[test]
        fn both_ways_take_the_lowest_rank_first(
            chosen in vec((0u32..12, 0u32..12), 1..40),
            word in vec(0u32..4, 0..90),
        ) {
            let mut ranks = Vec::new();
            let mut products = Vec::new();
            for (left, right) in chosen {
                // A merge makes an id that is its own.
                let rank = products.len() as u32;
                ranks.push((pair(left, right), rank));
                products.push(4 + rank);
            }
            let merges = Merges::new(&ranks, products);
            let expected = plain(&merges, &word);
            for way in [Merges::merge_short, Merges::merge_long] {
                let mut scratch = Scratch { symbols: word.clone(), ..Scratch::default() };
                let mut found = Vec::new();
                way(&merges, &mut scratch, &mut found);
                prop_assert_eq!(&found, &expected);
            }
        }
    }
}
