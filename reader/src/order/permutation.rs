//! `Permutation`: a keyed bijection on the numbers below n, without a table.
//!
//! A Feistel network over ceil(log2 n) bits, cut in two halves that may differ by one bit; a value that
//! falls outside is sent through again until it falls inside ("cycle walking", Black and Rogaway 2002),
//! fewer than twice on average. Below 256 a shuffled table, because a network over few bits
//! reaches few of all permutations.

use super::mix::{below, keyed, mix};

/// Up to here a table is used.
const TABLE: u64 = 256;
/// Rounds of the network. Four fail tests of neighbouring places, six pass them; see `tests`.
const ROUNDS: usize = 6;

/// A keyed bijection on 0..n.
#[derive(Debug, Clone)]
pub struct Permutation {
    n: u64,
    kind: Kind,
}

#[derive(Debug, Clone)]
enum Kind {
    Table(Box<[u8; TABLE as usize]>),
    Network { low_bits: u32, low_mask: u64, high_mask: u64, keys: [u64; ROUNDS] },
}

impl Permutation {
    /// The permutation of 0..n under `key`; n is at most 2^63.
    pub fn new(n: u64, key: u64) -> Permutation {
        let kind = if n <= TABLE { table(n, key) } else { network(n, key) };
        Permutation { n, kind }
    }

    /// How many numbers there are.
    pub fn len(&self) -> u64 {
        self.n
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.n == 0
    }

    /// Where `x`, which must be below n, is sent.
    #[inline]
    pub fn get(&self, x: u64) -> u64 {
        debug_assert!(x < self.n);
        match &self.kind {
            Kind::Table(table) => u64::from(table[x as usize]),
            Kind::Network { low_bits, low_mask, high_mask, keys } => {
                let mut x = x;
                loop {
                    let (mut high, mut low) = (x >> low_bits, x & low_mask);
                    for pair in keys.chunks_exact(2) {
                        high ^= round(low, pair[0]) & high_mask;
                        low ^= round(high, pair[1]) & low_mask;
                    }
                    x = (high << low_bits) | low;
                    if x < self.n {
                        return x;
                    }
                }
            }
        }
    }
}

#[inline]
fn round(half: u64, key: u64) -> u64 {
    let x = (half ^ key).wrapping_mul(0x9fb2_1c65_1e98_df25);
    let x = (x ^ (x >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    x >> 32
}

fn table(n: u64, key: u64) -> Kind {
    let mut table = Box::new([0; TABLE as usize]);
    for i in 0..n {
        // Fisher and Yates, inside out.
        let j = below(keyed(key, i), i + 1) as usize;
        table[i as usize] = table[j];
        table[j] = i as u8;
    }
    Kind::Table(table)
}

fn network(n: u64, key: u64) -> Kind {
    let bits = 64 - (n - 1).leading_zeros();
    let low_bits = bits.div_ceil(2);
    let keys = std::array::from_fn(|i| mix(key.wrapping_add(mix(i as u64))));
    let mask = |bits: u32| (1u64 << bits) - 1;
    Kind::Network { low_bits, low_mask: mask(low_bits), high_mask: mask(bits - low_bits), keys }
}
