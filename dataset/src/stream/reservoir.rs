//! `Reservoir`: the shuffle buffer, which removes a random one of its samples by a keyed draw.
//!
//! The output depends on seed, epoch and the costs of the input, never on time. Bounded in number and in
//! bytes.

use tarflume_order::{Key, below};

/// Holds items back and returns them shuffled.
#[derive(Debug)]
pub(super) struct Reservoir<T> {
    size: u64,
    bytes: u64,
    key: Key,
    drawn: u64,
    held: Vec<(T, u64)>,
    held_bytes: u64,
}

impl<T> Reservoir<T> {
    /// A reservoir of at most `size` items and `bytes` bytes.
    pub(super) fn new(size: u64, bytes: u64, key: Key) -> Reservoir<T> {
        Reservoir { size, bytes, key, drawn: 0, held: Vec::new(), held_bytes: 0 }
    }

    /// Adds an item. The caller must then call [`Reservoir::over`] until it returns `None`.
    pub(super) fn push(&mut self, thing: T, cost: u64) {
        self.held.push((thing, cost));
        self.held_bytes += cost;
    }

    /// Removes an item while a limit is exceeded.
    pub(super) fn over(&mut self) -> Option<T> {
        let over = self.held.len() as u64 > self.size || self.held_bytes > self.bytes;
        if over { self.pop() } else { None }
    }

    /// The number of items, if the bytes and not the number exceed their limit.
    pub(super) fn shortened(&self) -> Option<u64> {
        let held = self.held.len() as u64;
        (self.held_bytes > self.bytes && held <= self.size).then_some(held)
    }

    /// Removes a random item; `None` if there are none.
    pub(super) fn pop(&mut self) -> Option<T> {
        if self.held.is_empty() {
            return None;
        }
        let at = below(self.key.draw(self.drawn), self.held.len() as u64);
        self.drawn += 1;
        let (thing, cost) = self.held.swap_remove(at as usize);
        self.held_bytes -= cost;
        Some(thing)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn key(seed: u64, epoch: u64) -> Key {
        Key::new(seed, epoch, b"test    ")
    }

    /// A second implementation of the rule, on numbers.
    fn naive(costs: &[u64], size: usize, bytes: u64, key: Key) -> Vec<usize> {
        let mut held = Vec::<usize>::new();
        let mut out = Vec::new();
        for next in 0..=costs.len() {
            let last = next == costs.len();
            held.extend((!last).then_some(next));
            while !held.is_empty()
                && (last
                    || held.len() > size
                    || held.iter().map(|&i| costs[i]).sum::<u64>() > bytes)
            {
                let at = below(key.draw(out.len() as u64), held.len() as u64) as usize;
                out.push(held.swap_remove(at));
            }
        }
        out
    }

    fn ours(costs: &[u64], size: usize, bytes: u64, key: Key) -> Vec<usize> {
        let mut reservoir = Reservoir::new(size as u64, bytes, key);
        let mut out = Vec::new();
        for (i, &cost) in costs.iter().enumerate() {
            reservoir.push(i, cost);
            out.extend(std::iter::from_fn(|| reservoir.over()));
            assert!(reservoir.held.len() <= size && reservoir.held_bytes <= bytes);
        }
        out.extend(std::iter::from_fn(|| reservoir.pop()));
        out
    }

    proptest! {
        #[test]
        fn each_index_comes_once_and_in_the_order_of_the_oracle(
            costs in prop::collection::vec(1u64..100, 0..200),
            size in 1usize..50, bytes in 1u64..3000, seed: u64, epoch: u64,
        ) {
            let key = key(seed, epoch);
            let out = ours(&costs, size, bytes, key);
            prop_assert_eq!(&out, &naive(&costs, size, bytes, key));
            let mut sorted = out;
            sorted.sort_unstable();
            prop_assert_eq!(sorted, (0..costs.len()).collect::<Vec<_>>());
        }
    }

    #[test]
    fn another_seed_or_epoch_is_another_order_and_the_same_is_the_same() {
        fn order(seed: u64, epoch: u64) -> Vec<usize> {
            ours(&[1; 500], 100, 1000, key(seed, epoch))
        }

        assert_eq!(order(1, 2), order(1, 2));
        assert_ne!(order(1, 2), order(1, 3));
        assert_ne!(order(1, 2), order(2, 2));
        assert_ne!(order(1, 2), (0..500).collect::<Vec<_>>());
    }

    #[test]
    fn a_reservoir_reports_that_bytes_and_not_its_count_filled_it() {
        let mut reservoir = Reservoir::new(10, 100, key(0, 0));
        for i in 0..3 {
            reservoir.push(i, 40);
        }
        assert_eq!(reservoir.shortened(), Some(3));
        assert!(reservoir.over().is_some());
        assert_eq!(reservoir.shortened(), None);
    }
}
