//! Keyed 64-bit hashing: where all randomness of an order comes from.
//!
//! Every function here is frozen under `ORDER_VERSION`: another constant is another order.

/// What a key is for, so that no two uses share one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u64)]
pub enum Purpose {
    /// The order of shards.
    Shards = 1,
    /// The order of runs of neighbours.
    Runs = 2,
    /// The order inside a window of runs.
    Window = 3,
    /// Draws from a buffer.
    Buffer = 4,
    /// The order of all samples.
    Full = 5,
    /// Random numbers of a sample.
    Sample = 6,
    /// Which sample stands in for a bad one.
    Substitute = 7,
}

/// The finaliser of SplitMix64 (Steele, Lea, Flood 2014; variant 13 of Stafford): a bijection.
#[inline]
pub fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// A key for one purpose of one pass under one seed.
pub fn key(seed: u64, pass: u64, purpose: Purpose) -> u64 {
    mix(mix(mix(seed) ^ pass) ^ purpose as u64)
}

/// The hash of `x` under `key`.
#[inline]
pub fn keyed(key: u64, x: u64) -> u64 {
    mix(key ^ mix(x))
}

/// A number below `n`, from a hash: by the high half of a product, which is even to 1 in 2^64 / n.
#[inline]
pub fn below(hash: u64, n: u64) -> u64 {
    ((u128::from(hash) * u128::from(n)) >> 64) as u64
}
