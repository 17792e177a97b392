//! Pairs of 64-bit hashes within a Hamming distance, without comparing all pairs.
//!
//! Two hashes that differ in at most `d` bits are equal in one of `d + 1` bands of bits (the pigeonhole principle;
//! Norouzi, Punjani and Fleet, *Fast Search in Hamming Space with Multi-Index Hashing*, 2012). Hashes are sorted by
//! each band, and those with an equal band are compared. Memory: 12 bytes for each hash, and the pairs.

use rayon::prelude::*;

/// Limit on the distance: at 16, bands have four bits, and most hashes are compared.
pub const MOST: u32 = 16;

/// Two hashes by their numbers, the later one first, and the bits in which they differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Pair {
    pub(super) later: u32,
    pub(super) distance: u32,
    pub(super) earlier: u32,
}

/// Returns all pairs of `hashes` that differ in at most `distance` bits, sorted, each once.
pub(super) fn pairs(hashes: &[u64], distance: u32) -> Vec<Pair> {
    let bands = bands(distance.min(MOST));
    let mut all = Vec::new();
    for (number, band) in bands.iter().enumerate() {
        let mut order: Vec<u32> = (0..hashes.len() as u32).collect();
        let key = |n: u32| hashes[n as usize] & band;
        order.par_sort_unstable_by_key(|&n| (key(n), n));
        let equal: Vec<&[u32]> =
            order.chunk_by(|&a, &b| key(a) == key(b)).filter(|group| group.len() > 1).collect();
        let found = equal.par_iter().flat_map_iter(|group| {
            group
                .iter()
                .enumerate()
                .flat_map(|(n, &earlier)| group[n + 1..].iter().map(move |&later| (earlier, later)))
        });
        let near = found.filter_map(|(earlier, later)| {
            let differing = hashes[earlier as usize] ^ hashes[later as usize];
            // An earlier band has found the pair already.
            let is_known = bands[..number].iter().any(|band| differing & band == 0);
            let bits = differing.count_ones();
            (bits <= distance && !is_known).then_some(Pair { later, distance: bits, earlier })
        });
        all.par_extend(near);
    }
    all.par_sort_unstable();
    all
}

/// Returns masks of `distance + 1` bands that cover 64 bits.
fn bands(distance: u32) -> Vec<u64> {
    let count = distance + 1;
    (0..count).map(|n| low_bits(64 * (n + 1) / count) & !low_bits(64 * n / count)).collect()
}

/// Returns a mask of the lowest `count` bits, 64 at most.
fn low_bits(count: u32) -> u64 {
    if count == 64 { u64::MAX } else { (1 << count) - 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pairs_are_those_of_a_comparison_of_all() {
        let mut state = 1u64;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        // Clusters around some hashes, with up to 20 flipped bits.
        let centers: Vec<u64> = (0..20).map(|_| next()).collect();
        let hashes: Vec<u64> = (0..600)
            .map(|n| (0..n % 21).fold(centers[n % 20], |hash, _| hash ^ 1 << (next() % 64)))
            .collect();
        for distance in [0, 1, 4, 7, 10, 16] {
            let mut expected = Vec::new();
            for later in 0..600u32 {
                for earlier in 0..later {
                    let bits = (hashes[later as usize] ^ hashes[earlier as usize]).count_ones();
                    if bits <= distance {
                        expected.push(Pair { later, distance: bits, earlier });
                    }
                }
            }
            expected.sort_unstable();
            assert_eq!(pairs(&hashes, distance), expected, "distance {distance}");
            assert!(!expected.is_empty());
        }
    }

    #[test]
    fn bands_cover_each_bit_once() {
        for distance in 0..=MOST {
            let bands = bands(distance);
            assert_eq!(bands.iter().fold(0, |all, band| all ^ band), u64::MAX);
            assert_eq!(bands.iter().map(|band| band.count_ones()).sum::<u32>(), 64);
        }
    }
}
