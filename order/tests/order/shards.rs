//! Split by shard: each rank uses its own shards only, and the ranks together cover the data set.

use std::collections::BTreeSet;

use proptest::prelude::*;
use tarflume_order::{Order, Remainder, Selection, Share, Shuffle};

use crate::oracle::{self, split};

/// A rank's steps, and its ordinals with their padding marks.
type Given = (u64, Vec<(u64, bool)>);

/// What each rank gives; nothing if it is refused.
fn given(
    order: &Order,
    world: u64,
    epoch: u64,
    batch: u64,
    remainder: Remainder,
) -> Option<Vec<Given>> {
    let rank = |rank| {
        let share = Share::new(order, split(rank, world).by_shard()).ok()?;
        let steps = share.steps(0, batch, remainder).ok()?;
        let mut rows = Vec::new();
        for (position, padding) in oracle::listed(&steps).concat() {
            rows.push((share.order().ordinal(epoch, position).unwrap().unwrap(), padding));
        }
        Some((steps.count(), rows))
    };
    (0..world).map(rank).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn ranks_stay_on_their_shards_and_miss_nothing(
        counts in prop::collection::vec(1..30_u64, 4..12), shuffle in oracle::shuffles(),
        world in 1..5_u64, batch in 1..9_u64, epoch in 0..3_u64,
        remainder in oracle::remainders(), passes in 1..3_u64,
    ) {
        let order = oracle::order(&counts, shuffle).repeat(passes).unwrap();
        let Some(given) = given(&order, world, epoch, batch, remainder) else { return Ok(()) };
        let contents = oracle::contents("oracle", &counts);
        let mut seen = Vec::new();
        for (rank, (count, rows)) in given.iter().enumerate() {
            for (ordinal, padding) in rows {
                let (shard, _) = contents.place(*ordinal).unwrap();
                prop_assert_eq!(shard % world as usize, rank);
                seen.extend((!padding).then_some(*ordinal));
            }
            if remainder != Remainder::Uneven {
                prop_assert_eq!(*count, given[0].0, "rank {} has as many steps", rank);
                prop_assert_eq!(rows.len(), given[0].1.len(), "rank {} has as many rows", rank);
            }
            if matches!(remainder, Remainder::Drop | Remainder::Pad) {
                prop_assert_eq!(rows.len() as u64, count * batch);
            }
        }
        seen.sort_unstable();
        if remainder == Remainder::Even {
            fn own(rank: &Given) -> usize {
                rank.1.iter().filter(|(_, padding)| !padding).count()
            }
            let longest = given.iter().map(own).max().unwrap();
            prop_assert_eq!(given[0].1.len(), longest, "as many as the rank with most samples");
        }
        let all = (0..contents.samples()).flat_map(|o| std::iter::repeat_n(o, passes as usize));
        match remainder {
            Remainder::Drop => prop_assert!(seen.len() as u64 <= order.epoch_samples()),
            _ => prop_assert!(seen.iter().copied().eq(all)),
        }
    }
}

#[test]
fn impossible_splits_by_shard_are_refused_with_the_counts() {
    let order = oracle::order(&[5, 5, 5], Shuffle::None);
    let error = Share::new(&order, split(0, 4).by_shard()).unwrap_err();
    let text = error.text();
    assert!(text.contains("3 shards") && text.contains("4 ranks") && text.contains("by position"));
    let contents = oracle::contents("shards", &[5, 5]);
    let first = Selection::all(10).take(5).unwrap();
    let order = Order::new(contents, first, Shuffle::None).unwrap();
    let error = Share::new(&order, split(0, 2).by_shard()).unwrap_err();
    assert!(error.text().contains("rank 1 of 2 have no selected sample"));
    let order = oracle::order(&[50, 3], Shuffle::None);
    let share = Share::new(&order, split(0, 2).by_shard()).unwrap();
    assert!(share.steps(0, 4, Remainder::Drop).unwrap_err().text().contains("3 samples"));
    assert!(share.steps(3, 1, Remainder::Drop).unwrap_err().text().contains("no multiple of 2"));
}

#[test]
fn worlds_over_uneven_shards_have_the_same_number_of_steps() {
    let counts: Vec<u64> = (0..300).map(|shard| 40 + shard * 7919 % 97).collect();
    let order = oracle::order(&counts, Shuffle::Full { seed: 3 });
    for world in [1, 2, 3, 7, 8, 64, 100, 299, 300] {
        for remainder in [Remainder::Drop, Remainder::Pad, Remainder::Even] {
            let counts: BTreeSet<_> = (0..world)
                .map(|rank| Share::new(&order, split(rank, world).by_shard()).unwrap())
                .map(|share| share.steps(0, 8, remainder).unwrap().count())
                .collect();
            assert_eq!(counts.len(), 1, "{world} ranks");
        }
    }
}

#[test]
fn a_job_split_by_shard_resumes_where_it_stopped() {
    let order = oracle::order(&[30, 11, 25, 40], Shuffle::Full { seed: 3 });
    for rank in 0..2 {
        let share = Share::new(&order, split(rank, 2).by_shard()).unwrap();
        for remainder in [Remainder::Drop, Remainder::Pad, Remainder::Even, Remainder::Uneven] {
            let whole = share.steps(0, 4, remainder).unwrap();
            for stop in 0..whole.count() {
                let rest = share.steps(whole.position_after(stop), 4, remainder).unwrap();
                let mut all = oracle::listed(&whole);
                let rest = oracle::listed(&rest);
                assert_eq!(all.split_off(stop as usize + 1), rest, "{remainder:?} after {stop}");
            }
        }
    }
}
