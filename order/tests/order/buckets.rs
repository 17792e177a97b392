//! Batches of one bucket: each sample once, none of two buckets, equal steps, and a resume at any step by any number of ranks.

use std::collections::BTreeMap;

use proptest::prelude::*;
use tarflume_order::{
    BucketBatch, BucketRow, BucketShare, Buckets, Ledger, LoaderState, Order, Remainder,
    SameBucket, Split,
};

use crate::oracle::{self, split};

/// What one job delivers.
#[derive(Debug, Default)]
struct Delivered {
    ledger: Option<Ledger>,
    /// The ordinals of rows without padding, by bucket.
    ordinals: BTreeMap<usize, Vec<u64>>,
    steps: Vec<u64>,
    taken: Vec<u64>,
}

fn share(order: &Order, buckets: &Buckets, split: Split, same: SameBucket) -> BucketShare {
    BucketShare::new(order, split, buckets.clone(), same).unwrap()
}

/// A job of `world` ranks.
#[derive(Debug, Clone, Copy)]
struct Job<'a> {
    order: &'a Order,
    buckets: &'a Buckets,
    same: SameBucket,
    remainder: Remainder,
    world: u64,
    epoch: u64,
}

/// Delivers up to `most` steps on each rank.
fn deliver(job: Job<'_>, taken: &[u64], most: u64) -> Option<Delivered> {
    let Job { order, buckets, same, remainder, world, epoch } = job;
    let mut all = Delivered { taken: taken.to_vec(), ..Delivered::default() };
    let mut ledger = Ledger::new(order.data());
    let mut steps_of_ranks: Vec<Vec<BucketBatch>> = Vec::new();
    for rank in 0..world {
        let share = share(order, buckets, split(rank, world), same);
        let mut steps = share.steps(epoch, taken, remainder).ok()?;
        all.steps.push(steps.count());
        let mut batches = Vec::new();
        while let Some(batch) = steps.next_batch().filter(|_| steps.step() <= most) {
            assert!(
                batch.rows.len() as u64 <= buckets.rows(batch.bucket),
                "a batch over its budget"
            );
            for row in &batch.rows {
                assert_eq!(buckets.bucket(row.draw.ordinal), batch.bucket);
                if !row.padding {
                    ledger.add(row.draw.ordinal);
                    all.ordinals.entry(batch.bucket).or_default().push(row.draw.ordinal);
                }
            }
            batches.push(batch);
        }
        if most == u64::MAX {
            assert_eq!(batches.len() as u64, steps.count());
        }
        steps_of_ranks.push(batches);
    }
    for step in 0..steps_of_ranks[0].len() {
        let at: Vec<_> = steps_of_ranks.iter().filter_map(|batches| batches.get(step)).collect();
        if same == SameBucket::Step && remainder != Remainder::Uneven {
            assert!(at.iter().all(|batch| batch.bucket == at[0].bucket), "two buckets in a step");
            assert!(at.iter().all(|batch| batch.rows.len() == at[0].rows.len()));
        }
        if remainder != Remainder::Uneven {
            assert!(at.iter().all(|batch| batch.taken == at[0].taken));
            all.taken = at[0].taken.to_vec();
        }
    }
    all.ledger = Some(ledger);
    Some(all)
}

fn sames() -> impl Strategy<Value = SameBucket> {
    prop_oneof![Just(SameBucket::Rank), Just(SameBucket::Step)]
}

proptest! {
    #[test]
    fn each_sample_comes_once_whatever_the_buckets_and_the_world(
        counts in oracle::counts(), shuffle in oracle::shuffles(),
        rows in prop::collection::vec(1..7_u64, 1..6), key in 0..1000_u64,
        world in 1..6_u64, epoch in 0..3_u64, remainder in oracle::remainders(), same in sames(),
    ) {
        let order = oracle::order(&counts, shuffle);
        let number = rows.len() as u64;
        let each = (0..order.ordinals()).map(|n| ((n * 31 + key) / 7 % number) as usize);
        let buckets = Buckets::new(rows.clone(), each).unwrap();
        let none = vec![0; rows.len()];
        let job = Job { order: &order, buckets: &buckets, same, remainder, world, epoch };
        let Some(all) = deliver(job, &none, u64::MAX) else {
            prop_assert!(
                remainder == Remainder::Drop || (same, remainder) == (SameBucket::Step, Remainder::Uneven)
            );
            return Ok(());
        };
        let expected = share(&order, &buckets, split(0, world), same).ledger(epoch, remainder).unwrap();
        all.ledger.unwrap().prove(&expected).unwrap();
        for ordinals in all.ordinals.values() {
            let mut distinct = ordinals.clone();
            distinct.sort_unstable();
            distinct.dedup();
            prop_assert_eq!(distinct.len(), ordinals.len(), "none comes twice");
        }
        let delivered: usize = all.ordinals.values().map(Vec::len).sum();
        if remainder != Remainder::Drop {
            prop_assert_eq!(delivered as u64, order.epoch_samples());
        } else if same == SameBucket::Rank {
            // A batch less than there are ranks, and the rest of each bucket.
            let most: u64 = rows.iter().map(|rows| rows - 1).sum::<u64>() + (world - 1) * 6;
            prop_assert!(order.epoch_samples() - delivered as u64 <= most);
        }
        let least = all.steps.iter().min().unwrap();
        let longest = all.steps.iter().max().unwrap();
        prop_assert!(least == longest || remainder == Remainder::Uneven, "{:?}", all.steps);
    }

    #[test]
    fn a_resume_at_any_step_on_any_world_size_delivers_the_rest(
        counts in oracle::counts(), shuffle in oracle::shuffles(),
        rows in prop::collection::vec(1..7_u64, 1..6), key in 0..1000_u64,
        before in 1..6_u64, after in 1..6_u64, stop in 0..20_u64, epoch in 0..3_u64,
        first in sames(), then in sames(),
    ) {
        let order = oracle::order(&counts, shuffle);
        let number = rows.len() as u64;
        let each = (0..order.ordinals()).map(|n| ((n * 31 + key) / 7 % number) as usize);
        let buckets = Buckets::new(rows.clone(), each).unwrap();
        let none = vec![0; rows.len()];
        let remainder = Remainder::Even;
        let job = Job { order: &order, buckets: &buckets, same: first, remainder, world: before, epoch };
        let begun = deliver(job, &none, stop).unwrap();
        let state = LoaderState::new(&order, Split::alone(), epoch, begun.taken.iter().sum())
            .with_buckets(&buckets, &begun.taken);
        let state: LoaderState = state.to_string().parse().unwrap();
        let taken = state.taken(&buckets).unwrap();
        prop_assert_eq!(&taken[..], &begun.taken[..]);
        let other = Job { same: then, world: after, ..job };
        let rest = deliver(other, &taken, u64::MAX).unwrap();
        let mut ledger = begun.ledger.unwrap();
        ledger.merge(&rest.ledger.unwrap()).unwrap();
        ledger.prove(&order.ledger(epoch, 0..order.epoch_samples()).unwrap()).unwrap();
        if (before, first) == (after, then) {
            let whole = deliver(job, &none, u64::MAX).unwrap();
            prop_assert_eq!(begun.steps[0].min(stop) + rest.steps[0], whole.steps[0]);
        }
    }
}

/// The batches of all ranks in the order of the steps.
fn sequence(order: &Order, buckets: &Buckets, world: u64) -> Vec<Vec<BucketRow>> {
    let splits = (0..world).map(|rank| split(rank, world));
    let shares = splits.map(|split| share(order, buckets, split, SameBucket::Rank));
    let steps = shares.map(|share| share.steps(1, &[0, 0, 0], Remainder::Uneven).unwrap());
    let mut ranks: Vec<_> = steps.collect();
    let mut batches = Vec::new();
    while let Some(batch) = ranks[batches.len() % world as usize].next_batch() {
        batches.push(batch.rows);
    }
    batches
}

#[test]
fn batches_do_not_depend_on_the_number_of_ranks() {
    let order = oracle::order(&[300, 200], tarflume_order::Shuffle::Full { seed: 9 });
    let buckets = Buckets::new(vec![8, 4, 2], (0..500).map(|n| (n % 7 % 3) as usize)).unwrap();
    let alone = sequence(&order, &buckets, 1);
    assert_eq!(alone.iter().map(Vec::len).sum::<usize>(), 500);
    for world in 2..7 {
        assert_eq!(sequence(&order, &buckets, world), alone);
    }
}

#[test]
fn a_state_of_other_buckets_is_refused() {
    let order = oracle::order(&[100], tarflume_order::Shuffle::Full { seed: 9 });
    let buckets = Buckets::new(vec![8, 4], (0..100).map(|n| n % 2)).unwrap();
    let others = Buckets::new(vec![8, 4], (0..100).map(|n| n / 50)).unwrap();
    let plain = LoaderState::new(&order, Split::alone(), 0, 40);
    let state = plain.clone().with_buckets(&buckets, &[32, 8]);
    assert_eq!(state.taken(&buckets).unwrap(), [32, 8]);
    let same = Buckets::new(vec![2, 2], (0..100).map(|n| n % 2)).unwrap();
    assert_eq!(state.taken(&same).unwrap(), [32, 8], "the rows of a batch may change");
    assert!(state.taken(&others).unwrap_err().text().contains("other buckets"));
    assert!(plain.taken(&buckets).unwrap_err().text().contains("without buckets"));
    assert_eq!(LoaderState::new(&order, Split::alone(), 2, 0).taken(&buckets).unwrap(), [0, 0]);
    let error = state.check(&order, Split::alone()).unwrap_err();
    assert!(error.text().contains("buckets"), "{error}");
    let damaged = plain.with_buckets(&buckets, &[32, 9]);
    assert!(damaged.taken(&buckets).unwrap_err().text().contains("damaged"));
}
