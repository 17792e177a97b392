//! Draws for streams: numbers that follow from (seed, epoch, number of the draw) and nothing else.

/// What a draw is for, so that no two uses share numbers.
#[derive(Debug, Clone, Copy)]
enum Use {
    Samples = 0x5a,
    Shards = 0x5d,
}

/// The draws of one epoch.
#[derive(Debug, Clone, Copy)]
pub(super) struct Draw(u64);

impl Draw {
    /// Those of the shuffle buffer.
    pub(super) fn new(seed: u64, epoch: u64) -> Draw {
        Draw::keyed(seed, epoch, Use::Samples)
    }

    fn keyed(seed: u64, epoch: u64, what: Use) -> Draw {
        Draw(mix(mix(mix(seed) ^ epoch) ^ what as u64))
    }

    /// Draw `number`: one of 0 to `bound` - 1, each as likely to within `bound` / 2^64.
    pub(super) fn below(&self, number: u64, bound: u64) -> u64 {
        let word = mix(self.0 ^ mix(number));
        ((u128::from(word) * u128::from(bound)) >> 64) as u64
    }
}

/// The order of `count` shards in an epoch: Fisher and Yates's, from the last place to the first.
pub(super) fn shard_order(count: usize, seed: u64, epoch: u64) -> Vec<usize> {
    let draw = Draw::keyed(seed, epoch, Use::Shards);
    let mut order: Vec<usize> = (0..count).collect();
    for last in (1..count).rev() {
        order.swap(last, draw.below(last as u64, last as u64 + 1) as usize);
    }
    order
}

/// SplitMix64's step: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014.
fn mix(x: u64) -> u64 {
    let z = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shard_stands_once_and_everywhere_as_often() {
        let mut seen = vec![[0u32; 5]; 5];
        for epoch in 0..5000 {
            let order = shard_order(5, 1, epoch);
            for (place, &shard) in order.iter().enumerate() {
                seen[place][shard] += 1;
            }
        }
        // 1000 expected, standard deviation 28.
        assert!(seen.iter().flatten().all(|&n| (850..1150).contains(&n)), "{seen:?}");
        assert!(seen.iter().all(|place| place.iter().sum::<u32>() == 5000));
    }

    #[test]
    fn draws_stay_below_their_bound() {
        let draw = Draw::new(7, 7);
        assert!((0..1000).all(|n| draw.below(n, 3) < 3 && draw.below(n, 1) == 0));
    }
}
