//! Assigns samples to shards: their order, and the boundaries between shards.
//!
//! Pure arithmetic on sizes and keys: the same samples and options give the same shards on every
//! machine.

use serde::{Deserialize, Serialize};

/// The size of shards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Cut {
    /// No shard exceeds these bytes or samples, unless a single sample does.
    Limits {
        /// Bytes of the tar.
        bytes: Option<u64>,
        /// Samples.
        samples: Option<u64>,
    },
    /// Exactly this many shards of nearly equal bytes.
    Shards(u64),
}

/// The totals of all samples, needed in advance to cut into a given number of shards.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Total {
    /// Samples.
    pub samples: u64,
    /// Bytes of their members, headers and padding included.
    pub bytes: u64,
}

/// Bytes of a tar's end marker.
const END: u64 = 1024;

/// Decides sample by sample where a new shard begins.
#[derive(Debug)]
pub(crate) struct Cutter {
    cut: Cut,
    total: Total,
    /// Samples and bytes so far, in all shards.
    seen: Total,
    /// Samples and bytes so far in this shard.
    here: Total,
    /// Shards begun.
    shards: u64,
}

impl Cutter {
    /// Creates a cutter for samples with these totals.
    pub(crate) fn new(cut: Cut, total: Total) -> Cutter {
        Cutter { cut, total, seen: Total::default(), here: Total::default(), shards: 0 }
    }

    /// Takes the next sample, of `bytes` bytes in the tar; returns true if a shard begins with it.
    pub(crate) fn begins_shard(&mut self, bytes: u64) -> bool {
        let begins = self.shards == 0 || self.is_cut(bytes);
        if begins {
            self.shards += 1;
            self.here = Total::default();
        }
        for count in [&mut self.here, &mut self.seen] {
            count.samples += 1;
            count.bytes += bytes;
        }
        begins
    }

    fn is_cut(&self, bytes: u64) -> bool {
        match self.cut {
            Cut::Limits { bytes: max_bytes, samples: max_samples } => {
                max_bytes.is_some_and(|max| self.here.bytes + bytes + END > max)
                    || max_samples.is_some_and(|max| self.here.samples >= max)
            }
            Cut::Shards(shards) => {
                // The shard that holds the sample's middle byte if bytes were split evenly.
                let middle = u128::from(self.seen.bytes) + u128::from(bytes / 2);
                let ideal = middle * u128::from(shards) / u128::from(self.total.bytes.max(1));
                let left = self.total.samples - self.seen.samples;
                let shards_left = shards - self.shards;
                self.shards < shards && (ideal >= u128::from(self.shards) || left <= shards_left)
            }
        }
    }
}

/// Returns a sample's position in shuffled order: samples are sorted by it.
///
/// It depends only on seed and key (blake3, keyed by the seed), so adding a sample to the source
/// does not reorder the others.
pub(crate) fn shuffled_place(seed: u64, key: &[u8]) -> u64 {
    let mut blake3_key = *b"tarflume shuffle 1              ";
    blake3_key[24..].copy_from_slice(&seed.to_le_bytes());
    let hash = blake3::keyed_hash(&blake3_key, key);
    let mut place = [0; 8];
    place.copy_from_slice(&hash.as_bytes()[..8]);
    u64::from_le_bytes(place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shards(cut: Cut, sizes: &[u64]) -> Vec<Vec<u64>> {
        let total = Total { samples: sizes.len() as u64, bytes: sizes.iter().sum() };
        let mut cutter = Cutter::new(cut, total);
        let mut shards: Vec<Vec<u64>> = Vec::new();
        for &size in sizes {
            if cutter.begins_shard(size) {
                shards.push(Vec::new());
            }
            shards.last_mut().unwrap().push(size);
        }
        shards
    }

    #[test]
    fn limits_are_kept_but_for_single_giants() {
        let cut = Cut::Limits { bytes: Some(5000), samples: Some(3) };
        let shards = shards(cut, &[1024, 1024, 1024, 1024, 9999, 1024, 4000]);
        assert_eq!(shards, [vec![1024; 3], vec![1024], vec![9999], vec![1024], vec![4000]]);
    }

    proptest! {
        #[test]
        fn exactly_n_shards_of_nearly_equal_bytes(
            sizes in prop::collection::vec(1024u64..1_000_000, 1..400), share in 0.0f64..1.0
        ) {
            let n = ((sizes.len() as f64 * share) as u64).max(1);
            let dealt = shards(Cut::Shards(n), &sizes);
            prop_assert_eq!(dealt.len() as u64, n);
            prop_assert!(dealt.iter().all(|s| !s.is_empty()));
            let largest = *sizes.iter().max().unwrap();
            let ideal = sizes.iter().sum::<u64>() / n;
            if sizes.len() as u64 >= 4 * n {
                for shard in &dealt {
                    let bytes: u64 = shard.iter().sum();
                    prop_assert!(bytes.abs_diff(ideal) <= 2 * largest, "{bytes} for {ideal}");
                }
            }
        }

        #[test]
        fn every_limit_holds(sizes in prop::collection::vec(1024u64..100_000, 1..300), max in 2048u64..300_000) {
            for shard in shards(Cut::Limits { bytes: Some(max), samples: None }, &sizes) {
                prop_assert!(shard.len() == 1 || shard.iter().sum::<u64>() + END <= max);
            }
        }
    }

    #[test]
    fn places_depend_on_seed_and_key() {
        assert_ne!(shuffled_place(1, b"a"), shuffled_place(2, b"a"));
        assert_ne!(shuffled_place(1, b"a"), shuffled_place(1, b"b"));
        assert_eq!(shuffled_place(7, b"cat/001"), shuffled_place(7, b"cat/001"));
    }
}
