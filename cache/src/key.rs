//! `Key`: which block of which content; and `Share`, the part of a data set that a cache keeps.

/// A block of an object. Two keys with the same digest and the same number have the same bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key {
    /// The first 16 bytes of the digest.
    pub(crate) object: [u64; 2],
    pub(crate) block: u32,
}

impl Key {
    /// The block with number `block` (from 0) of the object whose content has this digest. Half of the digest
    /// is compared.
    pub fn new(digest: [u8; 32], block: u32) -> Key {
        Key { object: [word(&digest, 0), word(&digest, 8)], block }
    }

    /// Mixes the key with `salt` to 64 evenly distributed bits: the finalizer of SplitMix64 (Steele, Lea and
    /// Flood, 2014) over each word.
    pub(crate) fn hash(self, salt: u64) -> u64 {
        [self.object[0], self.object[1], u64::from(self.block)].iter().fold(salt, |hash, word| {
            let mut z = (hash ^ word).wrapping_add(0x9e37_79b9_7f4a_7c15);
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        })
    }
}

/// The eight bytes of a digest from `at`.
fn word(digest: &[u8; 32], at: usize) -> u64 {
    let bytes = digest[at..].first_chunk().expect("a digest has 32 bytes");
    u64::from_le_bytes(*bytes)
}

/// Which blocks of a data set are kept, if it has more blocks than the cache has slots: a fixed share,
/// chosen by hash. An epoch reads each sample once, so a cache that keeps the last blocks would drop each
/// block before its next use.
///
/// ```
/// use tarflume_cache::{Key, Share};
///
/// let share = Share::of(1000, 4000);
/// let kept = (0..4000).filter(|block| share.has(Key::new([9; 32], *block))).count();
/// assert!((800..1100).contains(&kept));
/// assert!(Share::of(1000, 900).has(Key::new([9; 32], 5)));
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Share(f64);

/// The part of the slots that a share fills: above it, keys that fall into full buckets replace each other.
const LOAD: f64 = 0.95;
/// Salt of the choice, which must not depend on the choice of buckets.
const CHOICE: u64 = 0x7368_6172_6521_0001;

impl Share {
    /// The share of `blocks` blocks that a cache of `slots` slots keeps.
    pub fn of(slots: u64, blocks: u64) -> Share {
        Share((slots as f64 * LOAD / blocks.max(1) as f64).min(1.0))
    }

    /// True if the block is kept.
    pub fn has(self, key: Key) -> bool {
        // 53 bits, which a float holds exactly.
        self.0 >= 1.0 || ((key.hash(CHOICE) >> 11) as f64) < self.0 * (1u64 << 53) as f64
    }

    /// The share, from 0 to 1.
    pub fn value(self) -> f64 {
        self.0
    }
}
