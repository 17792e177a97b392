//! The permutation is one, for any number of things, and mixes as well as Fisher-Yates does.
//!
//! Quality is measured by chi-square sums over many keys, as deviations from their mean. Keys are
//! fixed, so a test passes always or never; margins are wide, and the same sums tell too few rounds
//! from enough.

use std::collections::HashSet;

use proptest::prelude::*;

use super::*;

fn key(number: u64) -> Key {
    Key::new(1, number, b"test    ")
}

#[test]
#[cfg_attr(miri, ignore = "Miri takes minutes for so many cases")]
fn a_permutation_is_a_bijection_for_every_small_length() {
    for n in (0..600).chain([1023, 1024, 1025, 4096, 4097, 65537]) {
        let permutation = Permutation::new(n, key(n));
        let mut seen = vec![false; n as usize];
        for place in 0..n {
            let thing = permutation.at(place);
            assert!(!std::mem::replace(&mut seen[thing as usize], true), "{thing} twice, n = {n}");
            assert_eq!(permutation.place_of(thing), place, "n = {n}");
        }
    }
}

proptest! {
    #[test]
    fn a_permutation_is_a_bijection_for_any_length(
        bits in 1u32..=63, low in any::<u64>(), number in any::<u64>(), places in any::<[u64; 64]>()
    ) {
        let n = (1 << bits >> 1) + low % (1 << bits >> 1) + 1;
        let permutation = Permutation::new(n, key(number));
        let places: HashSet<u64> = places.iter().map(|p| p % n).chain([0, n - 1, n / 2]).collect();
        let mut seen = HashSet::new();
        for place in places {
            let thing = permutation.at(place);
            prop_assert!(thing < n && seen.insert(thing));
            prop_assert_eq!(permutation.place_of(thing), place);
        }
    }

    #[test]
    fn the_domain_is_hardly_larger_than_needed(n in TABLE + 1..=Permutation::MAX) {
        let feistel = Feistel::<ROUNDS>::new(n, key(0));
        let domain = u128::from(feistel.high_range) << feistel.low_bits;
        // So a walk takes less than 17/16 tries on average, for large n almost exactly one.
        prop_assert!(domain >= u128::from(n) && domain - u128::from(n) < u128::from(n.div_ceil(16)));
    }
}

#[test]
fn the_largest_permutations_stay_in_range() {
    for n in [Permutation::MAX, Permutation::MAX - 1, (1 << 62) + 1] {
        let permutation = Permutation::new(n, key(0));
        for place in [0, 1, n / 2, n - 1] {
            assert_eq!(permutation.place_of(permutation.at(place)), place);
        }
    }
}

/// An independent shuffle of the textbook kind, driven by another generator (xorshift64*).
fn fisher_yates(n: u64, number: u64) -> Vec<u64> {
    let mut state = 0x9e37_79b9_7f4a_7c15 ^ (number + 1).wrapping_mul(0x2545_f491_4f6c_dd1d);
    let mut all: Vec<u64> = (0..n).collect();
    for i in (1..n as usize).rev() {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        let bits = state.wrapping_mul(0x2545_f491_4f6c_dd1d);
        all.swap(i, ((u128::from(bits) * (i as u128 + 1)) >> 64) as usize);
    }
    all
}

fn permuted(n: u64, number: u64) -> Vec<u64> {
    let permutation = Permutation::new(n, key(number));
    (0..n).map(|place| permutation.at(place)).collect()
}

fn rounds<const R: usize>(n: u64, number: u64) -> Vec<u64> {
    let feistel = Feistel::<R>::new(n, key(number));
    (0..n).map(|place| feistel.at(place)).collect()
}

/// Counts over cells of given weight.
struct Cells {
    weights: Vec<f64>,
    counts: Vec<u64>,
}

impl Cells {
    fn even(cells: u64) -> Cells {
        Cells { weights: vec![1.0; cells as usize], counts: vec![0; cells as usize] }
    }

    /// Bins of `0..n` on both sides of a table; two things of one order are never the same.
    fn table(n: u64, one_order: bool) -> Cells {
        let mut weights = vec![0.0; (BINS * BINS) as usize];
        let sizes = (0..BINS).map(|b| (0..n).filter(|&x| bin(x, n) as u64 == b).count() as f64);
        let sizes: Vec<f64> = sizes.collect();
        for (cell, weight) in weights.iter_mut().enumerate() {
            let a = cell / BINS as usize;
            let b = cell % BINS as usize;
            let same = if one_order && a == b { sizes[a] } else { 0.0 };
            *weight = sizes[a] * sizes[b] - same;
        }
        Cells { counts: vec![0; weights.len()], weights }
    }

    fn add(&mut self, cell: usize) {
        self.counts[cell] += 1;
    }

    /// Standard deviations of chi-square above its mean.
    fn deviations(&self) -> f64 {
        let weight: f64 = self.weights.iter().sum();
        let count: u64 = self.counts.iter().sum();
        let mut sum = 0.0;
        let mut free = -1.0;
        for (&found, cell_weight) in self.counts.iter().zip(&self.weights) {
            let expected = cell_weight / weight * count as f64;
            assert!(expected > 0.0 || found == 0, "in a cell that can't be reached");
            if expected > 0.0 {
                sum += (found as f64 - expected).powi(2) / expected;
                free += 1.0;
            }
        }
        (sum - free) / (2.0 * free).sqrt()
    }
}

const BINS: u64 = 8;

fn bin(x: u64, n: u64) -> usize {
    (x * BINS / n) as usize
}

/// The five sums of a way to shuffle, over `keys` keys.
#[derive(Debug)]
struct Quality {
    /// The place of one thing over the keys.
    place: f64,
    /// The places of two neighbors, in bins.
    pair: f64,
    /// The differences of all neighbors.
    neighbors: f64,
    /// The differences of things that share the lower half of a Feistel network.
    halves: f64,
    /// A thing's places under two successive keys, in bins.
    passes: f64,
}

impl Quality {
    fn of(shuffle: fn(u64, u64) -> Vec<u64>, n: u64, keys: u64) -> Quality {
        let apart = 1 << ((u64::BITS - (n - 1).leading_zeros()) / 2);
        let [mut place, mut neighbors, mut halves] = [n, n - 1, n - 1].map(Cells::even);
        let [mut pair, mut passes] = [true, false].map(|one_order| Cells::table(n, one_order));
        let mut last = shuffle(n, keys);
        for number in 0..keys {
            let all = shuffle(n, number);
            place.add(all[n as usize / 3] as usize);
            pair.add(bin(all[0], n) * BINS as usize + bin(all[1], n));
            for (cells, apart) in [(&mut neighbors, 1), (&mut halves, apart)] {
                for (a, b) in all.iter().zip(&all[apart..]) {
                    cells.add(((b + n - a) % n - 1) as usize);
                }
            }
            for (a, b) in all.iter().zip(&last) {
                passes.add(bin(*a, n) * BINS as usize + bin(*b, n));
            }
            last = all;
        }
        Quality {
            place: place.deviations(),
            pair: pair.deviations(),
            neighbors: neighbors.deviations(),
            halves: halves.deviations(),
            passes: passes.deviations(),
        }
    }

    /// The largest of the sums.
    fn worst(&self) -> f64 {
        let all = [self.place, self.pair, self.neighbors, self.halves, self.passes];
        all.into_iter().fold(f64::MIN, f64::max)
    }
}

#[test]
#[cfg_attr(miri, ignore = "Miri takes minutes for so many cases")]
fn the_permutation_mixes_as_well_as_fisher_yates() {
    // Few keys of many things, many keys of few: about a million places each.
    for (n, keys) in [(10, 50_000), (100, 10_000), (257, 6_000), (1000, 1_500), (4097, 400)] {
        for (name, shuffle) in
            [("Fisher-Yates", fisher_yates as fn(u64, u64) -> Vec<u64>), ("ours", permuted)]
        {
            let quality = Quality::of(shuffle, n, keys);
            assert!(quality.worst() < 6.0, "{name}, n = {n}: {quality:?}");
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "Miri takes minutes for so many cases")]
fn the_statistics_detect_too_few_rounds() {
    for (shuffle, at_least) in [
        (rounds::<3> as fn(u64, u64) -> Vec<u64>, 1000.0),
        (rounds::<4>, 100.0),
        (rounds::<5>, 10.0),
    ] {
        let quality = Quality::of(shuffle, 257, 6_000);
        assert!(quality.worst() > at_least, "{quality:?}");
    }
}

#[test]
#[cfg_attr(miri, ignore = "Miri takes minutes for so many cases")]
fn all_orders_of_four_things_come_equally_often() {
    let mut orders = Cells::even(256);
    for number in 0..24_000 {
        let order = permuted(4, number);
        orders.add(order.iter().fold(0, |cell, &thing| cell * 4 + thing as usize));
    }
    let found: Vec<u64> = orders.counts.into_iter().filter(|&count| count > 0).collect();
    assert_eq!(found.len(), 24);
    let orders = Cells { weights: vec![1.0; 24], counts: found };
    assert!(orders.deviations() < 6.0);
}
