//! Steps by position equal those of the naive loader, for every world size, batch size and remainder.

use std::collections::BTreeSet;

use proptest::prelude::*;
use tarflume_order::{Remainder, Share, Shuffle, Steps};

use crate::oracle::{self, split};

proptest! {
    #[test]
    fn steps_equal_those_of_the_oracle(
        epoch in 1..300_u64, start in 0..300_u64, batch in 1..20_u64, world in 1..16_u64,
        remainder in oracle::remainders(),
    ) {
        let start = start.min(epoch);
        for rank in 0..world {
            let expected = oracle::steps(start..epoch, batch, rank, world, remainder);
            match Steps::by_position(epoch, start, batch, split(rank, world), remainder) {
                Ok(steps) => prop_assert_eq!(oracle::listed(&steps), expected),
                Err(error) => {
                    prop_assert!(start == 0 && expected.is_empty() && remainder == Remainder::Drop);
                    let have = epoch.to_string();
                    let need = (batch * world).to_string();
                    prop_assert!(error.text().contains(&have) && error.text().contains(&need));
                }
            }
        }
    }

    #[test]
    fn every_ordinal_comes_once_over_all_ranks(
        counts in oracle::counts(), shuffle in oracle::shuffles(),
        batch in 1..9_u64, world in 1..9_u64, epoch in 0..3_u64, remainder in oracle::remainders(),
    ) {
        let order = oracle::order(&counts, shuffle);
        let mut seen = Vec::new();
        let mut padding = 0;
        let mut counts = BTreeSet::new();
        for rank in 0..world {
            let share = Share::new(&order, split(rank, world)).unwrap();
            let Ok(steps) = share.steps(0, batch, remainder) else { return Ok(()) };
            counts.insert(steps.count());
            let mut cursor = share.order().cursor(epoch, 0).unwrap();
            for step in 0..steps.count() {
                for (position, pad) in steps.rows(step) {
                    cursor.seek(position);
                    let ordinal = cursor.next().unwrap().ordinal;
                    if pad { padding += 1 } else { seen.push(ordinal) }
                }
            }
        }
        let samples = order.samples();
        let whole = batch * world;
        seen.sort_unstable();
        let distinct: BTreeSet<_> = seen.iter().copied().collect();
        prop_assert_eq!(distinct.len(), seen.len(), "none comes twice");
        match remainder {
            Remainder::Drop => prop_assert!(samples - (seen.len() as u64) < whole),
            _ => prop_assert_eq!(seen.len() as u64, samples),
        }
        let padded = match remainder {
            Remainder::Pad => samples.next_multiple_of(whole),
            Remainder::Even => samples.next_multiple_of(world),
            Remainder::Drop | Remainder::Uneven => samples,
        };
        prop_assert_eq!(padding, padded - samples);
        prop_assert!(counts.len() == 1 || remainder == Remainder::Uneven, "{:?}", counts);
    }
}

#[test]
fn one_to_a_thousand_ranks_have_the_same_number_of_steps() {
    // Fewer shards than ranks, too; by position shards do not matter.
    let order = oracle::order(&[1, 4000, 0, 37, 1033, 2], Shuffle::Shards { seed: 1 });
    for world in 1..=1000 {
        for remainder in [Remainder::Drop, Remainder::Pad] {
            let counts: BTreeSet<_> = (0..world)
                .map(|rank| Share::new(&order, split(rank, world)).unwrap())
                .map(|share| share.steps(0, 3, remainder).unwrap())
                .map(|steps| {
                    let rows = (0..steps.count()).map(|step| steps.rows(step).len() as u64);
                    assert!(rows.into_iter().all(|rows| rows == 3));
                    steps.count()
                })
                .collect();
            let whole = 3 * world;
            let expected = match remainder {
                Remainder::Drop => 5073 / whole,
                _ => 5073_u64.div_ceil(whole),
            };
            assert_eq!(counts, BTreeSet::from([expected]), "{world} ranks");
        }
    }
}

#[test]
fn a_batch_is_the_same_set_for_every_world_that_divides_it() {
    const WHOLE: u64 = 720;
    let order = oracle::order(&[300, 1000, 5, 2000, 41], Shuffle::Full { seed: 9 });
    let batches = |world: u64| -> Vec<BTreeSet<u64>> {
        let mut batches = vec![BTreeSet::new(); 4];
        for rank in 0..world {
            let share = Share::new(&order, split(rank, world)).unwrap();
            let steps = share.steps(0, WHOLE / world, Remainder::Drop).unwrap();
            assert_eq!(steps.count(), 4);
            for (step, batch) in batches.iter_mut().enumerate() {
                let rows = steps.rows(step as u64);
                batch.extend(rows.map(|(at, _)| share.order().ordinal(2, at).unwrap().unwrap()));
            }
        }
        assert!(batches.iter().all(|batch| batch.len() == WHOLE as usize));
        batches
    };
    let one = batches(1);
    for world in (2..=WHOLE).filter(|world| WHOLE.is_multiple_of(*world)) {
        assert!(batches(world) == one, "{world} ranks");
    }
}

#[test]
fn padding_wraps_as_often_as_it_must() {
    let steps = Steps::by_position(3, 0, 4, split(1, 2), Remainder::Pad).unwrap();
    let rows: Vec<_> = steps.rows(0).collect();
    assert_eq!(rows, [(1, true), (2, true), (0, true), (1, true)]);
    assert_eq!((steps.count(), steps.position_after(0), steps.covered()), (1, 3, 0..3));
}

#[test]
fn equal_shares_of_the_last_batch_repeat_fewer_rows_than_there_are_ranks() {
    fn of(rank: u64) -> Steps {
        Steps::by_position(10, 0, 3, split(rank, 4), Remainder::Even).unwrap()
    }
    fn rows(rank: u64) -> Vec<(u64, bool)> {
        of(rank).rows(0).collect::<Vec<_>>()
    }
    assert_eq!(rows(2), [(6, false), (7, false), (8, false)]);
    assert_eq!(rows(3), [(9, false), (0, true), (1, true)]);
    fn last(rank: u64) -> usize {
        of(rank).rows(1).len()
    }
    assert_eq!([0, 1, 2, 3].map(last), [0; 4]);
    let of = |rank| Steps::by_position(9, 0, 2, split(rank, 4), Remainder::Even).unwrap();
    assert_eq!(
        [0, 1, 2, 3].map(|rank| of(rank).rows(1).collect::<Vec<_>>()),
        [[(8, false)], [(0, true)], [(1, true)], [(2, true)],]
    );
    assert_eq!((of(1).count(), of(1).position_after(1), of(1).covered()), (2, 9, 0..9));
}

#[test]
fn impossible_batches_are_refused() {
    fn by(epoch: u64, start: u64, batch: u64) -> tarflume_order::Error {
        Steps::by_position(epoch, start, batch, split(0, 8), Remainder::Pad).unwrap_err()
    }
    assert!(by(10, 0, 0).text().contains("0 rows"));
    assert!(by(10, 0, u64::MAX).text().contains("8 ranks"));
    assert!(by(10, 11, 1).text().contains("past the end"));
}
