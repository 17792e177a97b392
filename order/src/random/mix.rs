//! Keyed hashing: every random number of an order is a hash of a key and a place, never the state of
//! a generator.
//!
//! The arithmetic here is the order: changing one constant changes the order of every data set. The golden tests of
//! `pass` freeze it, and [`ORDER_VERSION`] is its version.

/// The version of all arithmetic in this crate. A saved state has it; another version is another order.
pub const ORDER_VERSION: u32 = 1;

/// The step of SplitMix64: odd, 2^64 divided by the golden ratio.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// SplitMix64's finalizer (Stafford's "Mix13"): a bijection of 64 bits, each bit of the input
/// changes each bit of the output in half of all cases.
#[inline]
pub const fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// What a stream of random numbers depends on: a seed, a pass and a purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key(u64);

impl Key {
    /// The key of one purpose in one pass. `purpose` is a word of eight bytes, padded with blanks;
    /// two uses whose numbers must differ take two words.
    pub const fn new(seed: u64, pass: u64, purpose: &[u8; 8]) -> Key {
        // Each word goes through the mixer before the next comes in, so that no sum of seed and
        // pass equals that of another pair.
        let key = mix(seed.wrapping_add(STEP));
        let key = mix(key ^ pass).wrapping_add(STEP);
        Key(mix(key ^ u64::from_le_bytes(*purpose)))
    }

    /// A key below this one, for instance of one window among many.
    #[inline]
    pub const fn sub(self, n: u64) -> Key {
        Key(mix(mix(self.0 ^ STEP).wrapping_add(n.wrapping_mul(STEP))))
    }

    /// 64 random bits at place `at`: the output `at` of a SplitMix64 that started at this key.
    #[inline]
    pub const fn draw(self, at: u64) -> u64 {
        mix(self.0.wrapping_add(at.wrapping_mul(STEP)))
    }
}

/// A number below `n` from 64 random bits, by the high half of a product (Lemire). Values differ in
/// probability by less than `n` / 2^64.
#[inline]
pub const fn below(bits: u64, n: u64) -> u64 {
    ((bits as u128 * n as u128) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn draws_are_those_of_splitmix64() {
        // Reference output of Vigna's splitmix64.c from state 0; our place 1 is its first number.
        let draws: Vec<u64> = (1..4).map(|at| Key(0).draw(at)).collect();
        assert_eq!(draws, [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4, 0x06c4_5d18_8009_454f]);
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri takes minutes for so many cases")]
    fn keys_of_all_small_seeds_passes_and_purposes_differ() {
        let mut seen = HashSet::new();
        for seed in (0..64).chain([u64::MAX, u64::MAX - 1]) {
            for pass in 0..64 {
                for purpose in [b"shards  ", b"buffer  ", b"full    "] {
                    let key = Key::new(seed, pass, purpose);
                    assert!(seen.insert(key.0), "seed {seed}, pass {pass}");
                    assert!((0..4).all(|n| seen.insert(key.sub(n).0)), "seed {seed}, pass {pass}");
                }
            }
        }
    }

    #[test]
    fn below_covers_its_range_and_no_more() {
        assert_eq!([below(0, 10), below(u64::MAX, 10), below(u64::MAX, 1)], [0, 9, 0]);
        assert_eq!(below(u64::MAX, 1 << 63), (1 << 63) - 1);
    }
}
