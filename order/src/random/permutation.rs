//! A keyed bijection on `0..n`: an exact shuffle of any number of things, without a table of them.
//!
//! Knows keys and numbers, nothing of samples. Not a cipher: it hides nothing, it mixes.

use crate::random::mix::{Key, below};

/// Up to here a Fisher-Yates table is made: halves of so few bits could reach a small part of all
/// orders only.
const TABLE: u64 = 256;

/// Rounds of the Feistel network. Measured on ten million pairs of neighbors (n = 257, 1000, 4097):
/// with 4 rounds their differences are far from uniform, with 5 visibly, with 6 just so at n = 257;
/// with 8 they do not differ from Fisher-Yates. The tests repeat it on fewer.
const ROUNDS: usize = 8;

/// A permutation of `0..n`, `n` up to 2^63, in less than 300 bytes without heap memory.
///
/// ```
/// use tarflume_order::{Key, Permutation};
///
/// let shuffled = Permutation::new(1_000_000, Key::new(42, 0, b"example "));
/// assert_eq!(shuffled.place_of(shuffled.at(123)), 123);
/// ```
///
/// Up to 256 things it is a Fisher-Yates table. Above, a Feistel network (Luby and Rackoff 1988) of
/// two halves: the lower has `k` bits, the upper counts to `ceil(n / 2^k)` and is added to modulo
/// that (Black and Rogaway 2002, "Ciphers with arbitrary finite domains"). So its domain is larger
/// than `n` by less than 2^k, about the square root of `n`; the few results that are not below `n`
/// go through the network again ("cycle walking").
#[derive(Clone, Debug)]
pub struct Permutation(Method);

#[derive(Clone, Debug)]
enum Method {
    Table { n: u64, table: [u8; TABLE as usize] },
    Feistel(Feistel),
}

impl Permutation {
    /// The most things that can be permuted.
    pub const MAX: u64 = 1 << 63;

    /// The permutation of `0..n` that belongs to `key`.
    ///
    /// # Panics
    /// `n` is above [`Permutation::MAX`].
    pub fn new(n: u64, key: Key) -> Permutation {
        assert!(n <= Permutation::MAX, "a permutation has at most 2^63 things, not {n}");
        if n > TABLE {
            return Permutation(Method::Feistel(Feistel::new(n, key)));
        }
        let mut table: [u8; TABLE as usize] = std::array::from_fn(|i| i as u8);
        for left in (2..=n).rev() {
            table.swap(left as usize - 1, below(key.draw(left), left) as usize);
        }
        Permutation(Method::Table { n, table })
    }

    /// The number of things that are permuted.
    pub fn len(&self) -> u64 {
        match &self.0 {
            Method::Table { n, .. } => *n,
            Method::Feistel(feistel) => feistel.n,
        }
    }

    /// True if nothing is permuted.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number at place `i`.
    ///
    /// # Panics
    /// `i` is not below [`Permutation::len`].
    #[inline]
    pub fn at(&self, i: u64) -> u64 {
        assert!(i < self.len(), "place {i} of {}", self.len());
        match &self.0 {
            Method::Table { table, .. } => u64::from(table[i as usize]),
            Method::Feistel(feistel) => feistel.at(i),
        }
    }

    /// The place of `x`, the inverse of [`Permutation::at`].
    ///
    /// # Panics
    /// `x` is not below [`Permutation::len`].
    pub fn place_of(&self, x: u64) -> u64 {
        assert!(x < self.len(), "thing {x} of {}", self.len());
        match &self.0 {
            Method::Table { table, .. } => {
                let place = table.iter().position(|&t| u64::from(t) == x);
                place.expect("a permutation has each of its things") as u64
            }
            Method::Feistel(feistel) => feistel.place_of(x),
        }
    }
}

#[derive(Clone, Debug)]
struct Feistel<const R: usize = ROUNDS> {
    n: u64,
    /// Bits of the lower half: 4 to 31.
    low_bits: u32,
    /// The upper half is below this: 17 to 2^32.
    high_range: u64,
    keys: [u64; R],
}

impl<const R: usize> Feistel<R> {
    fn new(n: u64, key: Key) -> Self {
        let bits = u64::BITS - (n - 1).leading_zeros();
        let low_bits = bits / 2;
        let high_range = n.div_ceil(1 << low_bits);
        Feistel { n, low_bits, high_range, keys: std::array::from_fn(|i| key.draw(i as u64)) }
    }

    #[inline]
    fn at(&self, i: u64) -> u64 {
        let mut x = self.forth(i);
        while x >= self.n {
            x = self.forth(x);
        }
        x
    }

    fn place_of(&self, x: u64) -> u64 {
        let mut i = self.back(x);
        while i >= self.n {
            i = self.back(i);
        }
        i
    }

    /// Once through the network.
    #[inline]
    fn forth(&self, x: u64) -> u64 {
        let mut high = x >> self.low_bits;
        let mut low = x & ((1 << self.low_bits) - 1);
        for (round, &key) in self.keys.iter().enumerate() {
            if round % 2 == 0 {
                low ^= self.low_noise(high, key);
            } else {
                high += self.high_noise(low, key);
                if high >= self.high_range {
                    high -= self.high_range;
                }
            }
        }
        high << self.low_bits | low
    }

    /// The inverse of `forth`.
    fn back(&self, x: u64) -> u64 {
        let mut high = x >> self.low_bits;
        let mut low = x & ((1 << self.low_bits) - 1);
        for (round, &key) in self.keys.iter().enumerate().rev() {
            if round % 2 == 0 {
                low ^= self.low_noise(high, key);
            } else {
                let noise = self.high_noise(low, key);
                high = if high >= noise { high - noise } else { high + self.high_range - noise };
            }
        }
        high << self.low_bits | low
    }

    #[inline]
    fn low_noise(&self, high: u64, key: u64) -> u64 {
        noise(high, key) >> (u64::BITS - self.low_bits)
    }

    #[inline]
    fn high_noise(&self, low: u64, key: u64) -> u64 {
        below(noise(low, key), self.high_range)
    }
}

/// What a round adds: two multiplications, of which the high bits count. The full mixer of `mix`
/// mixed no better here, at twice the time; a single multiplication failed the tests even with eight
/// rounds.
#[inline]
fn noise(half: u64, key: u64) -> u64 {
    let z = (half ^ key).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (z ^ (z >> 32)).wrapping_mul(0x94d0_49bb_1331_11eb)
}

#[cfg(test)]
mod tests;
