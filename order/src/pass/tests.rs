//! Compares every shuffle with a naive oracle on lists: no sample is missing or repeated, and a cursor gives the same
//! order as random access. Frozen orders are at the end.

use proptest::prelude::*;

use super::*;
use crate::random::mix::below;

fn starts(sizes: &[u64]) -> Arc<[u64]> {
    let ends = sizes.iter().scan(0, |sum, size| {
        *sum += size;
        Some(*sum)
    });
    [0].into_iter().chain(ends).collect()
}

/// Ways to cut `n` samples into shards, also with empty ones, also a single one.
fn shapes(n: u64) -> Vec<Arc<[u64]>> {
    let thirds = [0, n / 3, 0, 0, n / 3, n - 2 * (n / 3), 0];
    let ones = vec![1; n as usize];
    vec![starts(&[n]), starts(&thirds), starts(&ones), starts(&[n - n / 7, n / 7])]
}

fn shuffles(seed: u64) -> Vec<Shuffle> {
    let mut all = vec![Shuffle::None, Shuffle::Shards { seed }, Shuffle::Full { seed }];
    all.extend([1, 2, 7, 1000].map(|size| Shuffle::Buffer { size, seed }));
    let blocks = [(1, 1), (1, 9), (3, 2), (5, 100), (1000, 1), (7, 3), (16, 4)];
    all.extend(blocks.map(|(block, window)| Shuffle::Blocks { block, window, seed }));
    all
}

/// What the documents say, on lists.
fn oracle(starts: &[u64], shuffle: Shuffle, pass: u64) -> Vec<u64> {
    let n = *starts.last().unwrap();
    let key = |purpose| Key::new(shuffle.seed(), pass, purpose);
    match shuffle {
        Shuffle::None => (0..n).collect(),
        Shuffle::Shards { .. } => shards_oracle(starts, key(b"shards  ")),
        Shuffle::Buffer { size, .. } => {
            let segment = (16 * size).clamp(1 << 20, 2 << 20);
            let reads = shards_oracle(starts, key(b"shards  "));
            buffer_oracle(&reads, size, segment, key(b"buffer  "))
        }
        Shuffle::Blocks { block, window, .. } => blocks_oracle(n, block, window, key(b"blocks  ")),
        Shuffle::Full { .. } => permuted(&(0..n).collect::<Vec<_>>(), key(b"full    ")),
    }
}

fn permuted<T: Clone>(things: &[T], key: Key) -> Vec<T> {
    let order = Permutation::new(things.len() as u64, key);
    (0..order.len()).map(|place| things[order.at(place) as usize].clone()).collect()
}

fn shards_oracle(starts: &[u64], key: Key) -> Vec<u64> {
    let shards: Vec<_> = starts.windows(2).map(|ends| ends[0]..ends[1]).collect();
    permuted(&shards, key).into_iter().flatten().collect()
}

fn buffer_oracle(reads: &[u64], size: u64, segment: u64, key: Key) -> Vec<u64> {
    let mut delivered = Vec::new();
    for reads in reads.chunks(segment as usize) {
        let mut reads = reads.iter();
        let mut held: Vec<u64> = reads.by_ref().take(size as usize).copied().collect();
        while !held.is_empty() {
            let place = below(key.draw(delivered.len() as u64), held.len() as u64) as usize;
            delivered.push(held.swap_remove(place));
            if let Some(&read) = reads.next() {
                held.push(read);
                let last = held.len() - 1;
                held.swap(place, last);
            }
        }
    }
    delivered
}

fn blocks_oracle(n: u64, block: u64, window: u64, key: Key) -> Vec<u64> {
    let indexes: Vec<u64> = (0..n).collect();
    let (whole, rest) = indexes.split_at((n - n % block) as usize);
    let whole: Vec<&[u64]> = whole.chunks(block as usize).collect();
    let mut runs = permuted(&whole, key.sub(0));
    if !rest.is_empty() {
        runs.insert(below(key.sub(1).draw(0), whole.len() as u64 + 1) as usize, rest);
    }
    let windows = runs.chunks(window as usize).enumerate();
    windows.flat_map(|(i, runs)| permuted(&runs.concat(), key.sub(2).sub(i as u64))).collect()
}

/// A pass that is the oracle's, step by step and by random access; every index once.
fn check(starts: &Arc<[u64]>, shuffle: Shuffle, number: u64) {
    let pass = Pass::new(starts.clone(), shuffle, number);
    let expected = oracle(starts, shuffle, number);
    let label = || format!("{shuffle:?}, pass {number}, starts {starts:?}");
    let mut sorted = expected.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, (0..pass.len()).collect::<Vec<_>>(), "{}", label());
    let accessed: Vec<u64> = (0..pass.len()).map(|position| pass.index(position)).collect();
    assert_eq!(accessed, expected, "index, {}", label());
    assert_eq!(pass.cursor(0).collect::<Vec<_>>(), expected, "cursor, {}", label());
}

#[test]
#[cfg_attr(miri, ignore = "Miri takes minutes for so many cases")]
fn all_shuffles_of_all_small_data_sets_are_the_oracles() {
    for n in 0..=200 {
        for starts in shapes(n) {
            shuffles(n).into_iter().for_each(|shuffle| check(&starts, shuffle, n % 3));
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "Miri takes minutes for so many cases")]
fn a_buffer_over_several_segments_is_the_oracles() {
    for (n, size) in [(1_200_000, 3), (1_049_000, 1000), (1 << 20, 100_000), (1_100_000, 1 << 20)] {
        let starts = starts(&[n / 2, n - n / 2]);
        let shuffle = Shuffle::Buffer { size, seed: 5 };
        let expected = oracle(&starts, shuffle, 0);
        let pass = Pass::new(starts, shuffle, 0);
        for position in [0, 1, n / 2, (1 << 20) - 1, n - 1] {
            assert_eq!(pass.index(position), expected[position as usize], "{n}, {size}");
        }
        assert!(pass.cursor(0).eq(expected), "{n}, {size}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    #[cfg_attr(miri, ignore = "Miri takes minutes for so many cases")]
    fn random_data_sets_are_the_oracles(
        sizes in prop::collection::vec(0u64..60, 0..40), seed in any::<u64>(), pass in any::<u64>(),
        size in 1u64..300, block in 1u64..80, window in 1u64..80,
    ) {
        let starts = starts(&sizes);
        for shuffle in [
            Shuffle::Shards { seed },
            Shuffle::Buffer { size, seed },
            Shuffle::Blocks { block, window, seed },
            Shuffle::Full { seed },
        ] {
            check(&starts, shuffle, pass);
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri takes minutes for so many cases")]
    fn segments_cut_anywhere_are_the_oracles(
        len in 0u64..600, size in 1u64..40, more in 0u64..100, number in any::<u64>(),
    ) {
        let key = Key::new(1, number, b"buffer  ");
        let buffer = Buffer::cut(len, size, size + more, key);
        let expected = buffer_oracle(&(0..len).collect::<Vec<_>>(), size, size + more, key);
        let traced: Vec<u64> = (0..len).map(|position| buffer.trace(position)).collect();
        prop_assert_eq!(&traced, &expected);
        for start in (0..len).step_by(17) {
            let mut reservoir = Reservoir::new();
            reservoir.seek(&buffer, start);
            let rest: Vec<u64> = (start..len).map(|_| reservoir.next(&buffer)).collect();
            prop_assert_eq!(&rest, &expected[start as usize..]);
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri takes minutes for so many cases")]
    fn seeking_anywhere_equals_stepping_there(
        n in 1u64..2_000, seed in any::<u64>(), jumps in prop::collection::vec(0u64..2_100, 1..20),
    ) {
        for shuffle in shuffles(seed) {
            let pass = Pass::new(starts(&[n / 4, n - n / 4]), shuffle, 1);
            let all: Vec<u64> = pass.clone().cursor(0).collect();
            let mut cursor = pass.cursor(0);
            for &to in &jumps {
                cursor.seek(to);
                prop_assert_eq!(cursor.position(), to.min(n));
                let rest = &all[to.min(n) as usize..];
                prop_assert_eq!(cursor.size_hint().0, rest.len());
                prop_assert!(cursor.by_ref().take(5).eq(rest.iter().copied().take(5)));
            }
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri takes minutes for so many cases")]
    fn huge_data_sets_give_each_index_once(
        sizes in prop::collection::vec(0u64..1 << 40, 1..20), seed in any::<u64>(),
        near in any::<[u64; 8]>(), block in 1u64..1 << 30, window in 1u64..1 << 30,
    ) {
        let starts = starts(&sizes);
        let n = *starts.last().unwrap();
        for shuffle in [
            Shuffle::None,
            Shuffle::Shards { seed },
            Shuffle::Buffer { size: 20, seed },
            Shuffle::Blocks { block, window, seed },
            Shuffle::Blocks { block: 64, window: 16, seed },
            Shuffle::Full { seed },
        ] {
            let pass = Pass::new(starts.clone(), shuffle, 0);
            let mut seen = std::collections::HashMap::new();
            for start in near.iter().filter(|_| n > 0).map(|near| near % n) {
                // Far into a segment of a buffer both ways take long, so only near its start.
                let buffered = matches!(shuffle, Shuffle::Buffer { .. });
                let start = if buffered { start >> 20 << 20 } else { start };
                let indexes = pass.clone().cursor(start).take(30).zip(start..);
                for (index, position) in indexes {
                    prop_assert!(index < n);
                    prop_assert_eq!(index, pass.index(position));
                    prop_assert_eq!(*seen.entry(index).or_insert(position), position);
                }
            }
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "Miri takes minutes for so many cases")]
fn passes_and_seeds_give_unrelated_orders() {
    let n = 4000;
    for (a, b) in shuffles(1).into_iter().zip(shuffles(2)).skip(1) {
        let order = |shuffle, pass| {
            Pass::new(starts(&vec![10; 400]), shuffle, pass).cursor(0).collect::<Vec<_>>()
        };
        let first = order(a, 0);
        assert_eq!(first, order(a, 0));
        for other in [order(a, 1), order(b, 0), order(b, 1)] {
            let same = first.iter().zip(&other).filter(|(x, y)| x == y).count();
            let whole = matches!(a, Shuffle::Blocks { block: 1000, .. });
            assert!(whole || same < n / 40, "{same} of {n} in the same place: {a:?}");
            assert_ne!(first, other);
        }
    }
}

mod frozen;
