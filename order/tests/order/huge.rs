//! A million times a million samples: no operation iterates over all of them.

use std::collections::BTreeSet;

use proptest::prelude::*;
use tarflume_order::{Share, Shuffle};

use crate::oracle::{self, split};

const SAMPLES: u64 = 1 << 40;

/// 1000 uneven shards.
fn counts() -> Vec<u64> {
    let mut counts: Vec<u64> =
        (0..999).map(|shard| (shard * 7919 + 13) % 997 * 1_000_003).collect();
    counts.push(SAMPLES - counts.iter().sum::<u64>());
    counts
}

fn shuffles() -> impl Strategy<Value = Shuffle> {
    prop_oneof![
        Just(Shuffle::None),
        any::<u64>().prop_map(|seed| Shuffle::Shards { seed }),
        any::<u64>().prop_map(|seed| Shuffle::Buffer { size: 1000, seed }),
        any::<u64>().prop_map(|seed| Shuffle::Blocks { block: 64, window: 64, seed }),
        any::<u64>().prop_map(|seed| Shuffle::Full { seed }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_step_is_dealt_to_all_ranks_once(
        shuffle in shuffles(), epoch in 0..1000_u64, start in 0..SAMPLES, world in 1..40_u64,
        batch in 1..20_u64, step in any::<prop::sample::Index>(), remainder in oracle::remainders(),
    ) {
        let order = oracle::order(&counts(), shuffle);
        let shares = (0..world).map(|rank| Share::new(&order, split(rank, world)).unwrap());
        let shares: Vec<_> = shares.collect();
        let steps = shares.iter().map(|s| s.steps(start, batch, remainder).unwrap());
        let steps: Vec<_> = steps.collect();
        let most = steps[0].count();
        let step = step.index(most as usize) as u64;
        let first = start + step * world * batch;
        let mut next = first;
        let mut ordinals = BTreeSet::new();
        let mut whole = order.cursor(epoch, first).unwrap();
        for (share, steps) in shares.iter().zip(&steps) {
            let rows = steps.rows(step);
            let mut own = share.order().cursor(epoch, 0).unwrap();
            for (position, padding) in rows.filter(|(_, padding)| !padding) {
                prop_assert_eq!((position, padding), (next, false));
                next += 1;
                own.seek(position);
                let draw = own.next().unwrap();
                prop_assert_eq!(Some(draw), whole.next(), "as never having stopped");
                prop_assert!(draw.ordinal < SAMPLES && draw.pass == epoch);
                prop_assert!(ordinals.insert(draw.ordinal), "{} comes twice", draw.ordinal);
            }
        }
        prop_assert_eq!(next, steps[0].position_after(step));
    }
}
