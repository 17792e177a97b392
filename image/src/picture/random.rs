//! The random numbers of one sample: SplitMix64, so that a crop depends on the sample's seed only.
//!
//! The results of these functions are frozen: a change would silently change augmentations. Uses no
//! clock, thread or machine state.

/// A random number generator that depends on its seed only.
///
/// SplitMix64 (Steele, Lea, Flood: "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014),
/// with the constants of Vigna's public-domain version.
///
/// ```
/// use tarflume::Random;
///
/// let mut random = Random::new(42); // of a sample: Random::new(sample.seed)
/// assert!(random.unit() < 1.0 && random.below(6) < 6);
/// ```
#[derive(Debug, Clone)]
pub struct Random {
    state: u64,
}

impl Random {
    /// The generator for `seed`; see `Sample::seed`.
    pub fn new(seed: u64) -> Random {
        Random { state: seed }
    }

    /// One of many independent generators derived from `seed`. Stream 0 is [`Random::new`].
    pub fn stream(seed: u64, stream: u64) -> Random {
        if stream == 0 {
            return Random::new(seed);
        }
        Random::new(mix(mix(seed) ^ stream.wrapping_mul(0xd6e8_feb8_6659_fd93)))
    }

    /// The seed of a generator that gives the numbers that this one gives next.
    #[doc(hidden)]
    pub fn seed(&self) -> u64 {
        self.state
    }

    /// Returns 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.state)
    }

    /// Returns a number in 0 <= x < 1. All multiples of 2^-53 are equally likely.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Returns a number in `low` <= x <= `high`.
    #[inline]
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        (low + (high - low) * self.unit()).clamp(low, high.max(low))
    }

    /// Returns an integer in 0 <= n < `bound`, uniformly distributed; 0 if `bound` is 0.
    ///
    /// Lemire: "Fast Random Integer Generation in an Interval", 2019. Products that would bias the result
    /// are rejected.
    pub fn below(&mut self, bound: u64) -> u64 {
        loop {
            let product = u128::from(self.bits()) * u128::from(bound);
            let low = product as u64;
            if low >= bound || low >= bound.wrapping_neg() % bound.max(1) {
                return (product >> 64) as u64;
            }
        }
    }

    /// True with the given probability: never for 0, always for 1.
    #[inline]
    pub fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }
}

fn mix(bits: u64) -> u64 {
    let z = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_published_for_seed_1234567() {
        let mut random = Random::new(1_234_567);
        assert_eq!(random.bits(), 6_457_827_717_110_365_317);
        assert_eq!(random.bits(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn bounds_are_kept_and_every_number_is_equally_likely() {
        let mut random = Random::new(5);
        let mut counts = [0u32; 7];
        for _ in 0..70_000 {
            counts[random.below(7) as usize] += 1;
            let x = random.between(-2.0, 3.0);
            assert!((-2.0..=3.0).contains(&x));
        }
        // Standard deviation 93: six of them.
        assert!(counts.iter().all(|&n| n.abs_diff(10_000) < 560), "{counts:?}");
        assert_eq!((random.below(0), random.below(1)), (0, 0));
        // A bound that rejects nearly every second product.
        let bound = (1 << 63) + 1;
        assert!((0..100).all(|_| random.below(bound) < bound));
    }

    #[test]
    fn the_mean_is_a_half_and_chances_are_kept() {
        let mut random = Random::new(9);
        let n = 100_000;
        let mean = (0..n).map(|_| random.unit()).sum::<f64>() / f64::from(n);
        assert!((mean - 0.5).abs() < 0.006, "{mean}");
        assert!((0..1000).all(|_| !random.chance(0.0) && random.chance(1.0)));
    }

    #[test]
    fn streams_differ_and_the_first_is_the_plain_one() {
        fn first(stream: u64) -> u64 {
            Random::stream(3, stream).bits()
        }

        assert_eq!(first(0), Random::new(3).bits());
        let all: std::collections::BTreeSet<u64> = (0..1000).map(first).collect();
        assert_eq!(all.len(), 1000);
    }
}
