//! Packs: each sample once, none over the limits, equal steps, and a resume at any step by any number of ranks.

use std::collections::BTreeMap;

use proptest::prelude::*;
use tarflume_order::{
    Ledger, Lengths, LoaderState, Order, PackBatch, PackLimits, PackShare, Remainder, Shuffle,
    Split,
};

use crate::oracle::{self, split};

/// A job of `world` ranks.
#[derive(Debug, Clone, Copy)]
struct Job<'a> {
    order: &'a Order,
    lengths: &'a Lengths,
    remainder: Remainder,
    world: u64,
    /// Packs of a batch.
    each: u64,
    epoch: u64,
}

/// What a job delivers.
#[derive(Debug)]
struct Delivered {
    ledger: Ledger,
    samples: u64,
    steps: Vec<u64>,
    position: u64,
    /// The samples of packs that are no padding, by step and rank.
    packs: Vec<Vec<u64>>,
}

fn share(job: Job<'_>, rank: u64) -> PackShare {
    PackShare::new(job.order, split(rank, job.world), job.lengths.clone()).unwrap()
}

/// The ordinals of each pack of a batch, and whether it is padding. Checks the limits.
fn packs_of(batch: &PackBatch, lengths: &Lengths) -> Vec<(Vec<u64>, bool)> {
    let limits = lengths.limits();
    let packs = (0..batch.packs).map(|pack| {
        let rows: Vec<_> = batch.rows.iter().filter(|row| row.pack == pack).collect();
        let ordinals: Vec<u64> = rows.iter().map(|row| row.draw.ordinal).collect();
        let tokens: u64 = ordinals.iter().map(|&ordinal| lengths.of(ordinal)).sum();
        assert!(tokens <= limits.capacity, "a pack over its budget");
        assert!((1..=limits.samples).contains(&(ordinals.len() as u64)), "{ordinals:?}");
        assert!(rows.iter().all(|row| row.padding == rows[0].padding));
        (ordinals, rows[0].padding)
    });
    packs.collect()
}

/// Delivers up to `most` steps on each rank.
fn deliver(job: Job<'_>, position: u64, most: u64) -> Option<Delivered> {
    let Job { order, lengths, remainder, world, each, epoch } = job;
    let mut all = Delivered {
        ledger: Ledger::new(order.data()),
        samples: 0,
        steps: Vec::new(),
        position,
        packs: Vec::new(),
    };
    let mut sequence: BTreeMap<(u64, u64), Vec<Vec<u64>>> = BTreeMap::new();
    let mut positions: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for rank in 0..world {
        let mut steps = share(job, rank).steps(epoch, position, each, remainder).ok()?;
        all.steps.push(steps.count());
        let mut batch = PackBatch::default();
        while steps.step() < most && steps.next_into(&mut batch) {
            let packs = packs_of(&batch, lengths);
            assert!(packs.len() as u64 <= each);
            let own = packs.into_iter().filter(|(_, padding)| !padding).map(|(pack, _)| pack);
            sequence.entry((steps.step(), rank)).or_default().extend(own);
            positions.entry(steps.step()).or_default().push(batch.position);
        }
        if most == u64::MAX {
            assert_eq!(steps.step(), steps.count());
        }
    }
    for at in positions.values() {
        assert!(at.iter().all(|position| *position == at[0]), "{at:?}");
        all.position = at[0];
    }
    all.packs = sequence.into_values().flatten().collect();
    for ordinal in all.packs.iter().flatten() {
        all.ledger.add(*ordinal);
        all.samples += 1;
    }
    Some(all)
}

fn limits() -> impl Strategy<Value = PackLimits> {
    (1..40_u64, 1..9_u64, 1..50_u64).prop_map(|(capacity, samples, window)| PackLimits {
        capacity,
        samples,
        window,
    })
}

fn lengths(order: &Order, limits: PackLimits, key: u64) -> Lengths {
    let each = (0..order.ordinals()).map(|n| (n * 31 + key) * (n + 7) % (limits.capacity + 1));
    Lengths::new(limits, each).unwrap()
}

proptest! {
    #[test]
    fn each_sample_comes_once_in_a_pack_within_the_limits(
        counts in oracle::counts(), shuffle in oracle::shuffles(), limits in limits(), key in 0..1000_u64,
        world in 1..6_u64, each in 1..5_u64, epoch in 0..3_u64, remainder in oracle::remainders(),
    ) {
        let order = oracle::order(&counts, shuffle);
        let lengths = lengths(&order, limits, key);
        let job = Job { order: &order, lengths: &lengths, remainder, world, each, epoch };
        let totals = share(job, 0).totals(epoch).unwrap();
        let Some(all) = deliver(job, 0, u64::MAX) else {
            prop_assert!(remainder == Remainder::Drop && totals.packs < world * each);
            return Ok(());
        };
        all.ledger.prove(&share(job, 0).ledger(epoch, each, remainder).unwrap()).unwrap();
        if remainder == Remainder::Drop {
            prop_assert_eq!(all.packs.len() as u64, totals.packs / (world * each) * world * each);
        } else {
            prop_assert_eq!((all.samples, all.packs.len() as u64), (order.epoch_samples(), totals.packs));
        }
        let least = all.steps.iter().min().unwrap();
        let longest = all.steps.iter().max().unwrap();
        prop_assert!(least == longest || remainder == Remainder::Uneven, "{:?}", all.steps);
    }

    #[test]
    fn the_sequence_of_packs_does_not_depend_on_ranks_and_goes_on_at_any_step(
        counts in oracle::counts(), shuffle in oracle::shuffles(), limits in limits(), key in 0..1000_u64,
        before in 1..6_u64, after in 1..6_u64, first in 1..5_u64, then in 1..5_u64, stop in 0..20_u64,
        epoch in 0..3_u64,
    ) {
        let order = oracle::order(&counts, shuffle);
        let lengths = lengths(&order, limits, key);
        let remainder = Remainder::Even;
        let alone = Job { order: &order, lengths: &lengths, remainder, world: 1, each: 1, epoch };
        let whole = deliver(alone, 0, u64::MAX).unwrap();
        let job = Job { world: before, each: first, ..alone };
        let begun = deliver(job, 0, stop).unwrap();
        let state = LoaderState::new(&order, Split::alone(), epoch, begun.position).with_packs(&lengths);
        let state: LoaderState = state.to_string().parse().unwrap();
        let resumed = state.resume_packs(&order, Split::alone(), &lengths).unwrap();
        let job = Job { order: &resumed, world: after, each: then, ..alone };
        let rest = deliver(job, state.position(), u64::MAX).unwrap();
        let mut packs = begun.packs;
        packs.extend(rest.packs);
        prop_assert_eq!(packs, whole.packs);
    }
}

fn text(refused: tarflume_order::Result<Order>) -> String {
    refused.unwrap_err().text().to_string()
}

#[test]
fn a_state_of_other_packs_is_refused() {
    let order = oracle::order(&[100], Shuffle::Full { seed: 9 });
    let limits = PackLimits { capacity: 50, samples: 8, window: 30 };
    let lengths = Lengths::new(limits, (0..100).map(|n| n % 41)).unwrap();
    let others =
        Lengths::new(PackLimits { window: 31, ..limits }, (0..100).map(|n| n % 41)).unwrap();
    let plain = LoaderState::new(&order, Split::alone(), 0, 30);
    let state = plain.clone().with_packs(&lengths);
    let alone = Split::alone();
    state.resume_packs(&order, alone, &lengths).unwrap();
    assert!(text(state.resume_packs(&order, alone, &others)).contains("other packs"));
    assert!(text(plain.resume_packs(&order, alone, &lengths)).contains("without packs"));
    assert!(text(state.resume(&order, alone)).contains("with packs"));
    assert!(text(state.resume_buckets(&order, alone)).contains("with packs"));
    let begin = LoaderState::new(&order, alone, 2, 0);
    begin.resume_packs(&order, alone, &lengths).unwrap();
    let share = PackShare::new(&order, alone, lengths).unwrap();
    let within = (1..30).find(|&position| share.steps(0, position, 1, Remainder::Even).is_err());
    let error = share.steps(0, within.unwrap(), 1, Remainder::Even).unwrap_err();
    assert!(error.text().contains("within a pack"), "{error}");
}

#[test]
fn a_wide_spread_of_lengths_fills_packs() {
    let order = oracle::order(&[20_000], Shuffle::Full { seed: 9 });
    let limits = PackLimits { capacity: 4096, samples: 256, window: 4096 };
    let lengths = Lengths::new(limits, (0..20_000_u64).map(|n| 16 + n * n % 1500)).unwrap();
    let totals = PackShare::new(&order, Split::alone(), lengths).unwrap().totals(0).unwrap();
    assert!(totals.filled() > 0.995, "{totals:?}");
}
