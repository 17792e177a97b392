//! Orders by class and by weight: counts of every round, passes inside a class, resumed anywhere, ledgers.

use std::collections::HashMap;
use std::sync::Arc;

use proptest::prelude::*;
use tarflume_order::{
    Contents, Draw, Fingerprint, Ledger, LoaderState, Order, Remainder, Selection, Share, Shuffle,
};

use crate::oracle::{self, split};

const SAMPLES: u64 = 60;

fn contents() -> Arc<Contents> {
    Arc::new(Contents::new(Fingerprint::of("classes", ["v1"]), [25, 0, 35]).unwrap())
}

/// Every sixth sample is of class 7, every second other of class -1, the rest of class 3.
fn class_of(ordinal: u64) -> i64 {
    match ordinal {
        o if o % 6 == 0 => 7,
        o if o % 2 == 0 => -1,
        _ => 3,
    }
}

fn classes() -> Vec<i64> {
    (0..SAMPLES).map(class_of).collect()
}

fn order(weights: [u64; 3], shuffle: Shuffle, selection: &Selection) -> Order {
    let weights = [-1, 3, 7].into_iter().zip(weights);
    Order::by_class(contents(), selection, &classes(), weights, shuffle).unwrap()
}

fn draws(order: &Order, epoch: u64, from: u64) -> Vec<Draw> {
    order.cursor(epoch, from).unwrap().collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn each_round_has_the_weights_and_each_class_its_passes(
        shuffle in oracle::shuffles(),
        weights in prop::array::uniform3(0..5_u64),
        length in 20..200_u64, start in 0..20_u64,
    ) {
        prop_assume!(weights.iter().sum::<u64>() > 0);
        let selection = Selection::leave_out(SAMPLES, [0, 1, 2]).unwrap();
        let order = order(weights, shuffle, &selection).epoch_length(length).unwrap();
        let stream: Vec<Draw> = (0..4).flat_map(|epoch| draws(&order, epoch, 0)).collect();
        prop_assert_eq!(&draws(&order, 2, start)[..], &stream[(2 * length + start) as usize..3 * length as usize]);
        let common = weights.iter().copied().filter(|w| *w > 0).fold(0, |a, b| if a == 0 { b } else {
            (1..=a.min(b)).rev().find(|d| a % d == 0 && b % d == 0).unwrap()
        });
        let period = (weights.iter().sum::<u64>() / common) as usize;
        for round in stream.chunks_exact(period) {
            for (class, weight) in [-1, 3, 7].into_iter().zip(weights) {
                let count = round.iter().filter(|draw| class_of(draw.ordinal) == class).count() as u64;
                prop_assert_eq!(count, weight / common);
            }
        }
        for class in [-1, 3, 7] {
            let own: Vec<&Draw> = stream.iter().filter(|draw| class_of(draw.ordinal) == class).collect();
            let members = (3..SAMPLES).filter(|o| class_of(*o) == class).count();
            for (number, pass) in own.chunks_exact(members).enumerate() {
                let mut seen: Vec<u64> = pass.iter().map(|draw| draw.ordinal).collect();
                seen.sort_unstable();
                seen.dedup();
                prop_assert_eq!(seen.len(), members, "each once a pass");
                prop_assert!(pass.iter().all(|draw| draw.pass == number as u64));
            }
        }
    }

    #[test]
    fn ledgers_of_any_part_of_an_epoch_are_those_of_its_draws(
        weights in prop::array::uniform3(1..6_u64), from in 0..60_u64, more in 0..60_u64, epoch in 0..5_u64,
    ) {
        let order = order(weights, Shuffle::Full { seed: 3 }, &Selection::all(SAMPLES));
        let to = (from + more).min(60);
        let mut ledger = Ledger::new(order.data());
        let drawn = draws(&order, epoch, from).into_iter().take((to - from) as usize);
        drawn.for_each(|draw| ledger.add(draw.ordinal));
        ledger.prove(&order.ledger(epoch, from..to).unwrap()).unwrap();
    }

    #[test]
    fn a_pass_draws_each_sample_as_often_as_its_weight(
        weights in prop::collection::vec(0..5_i64, SAMPLES as usize), seed in 0..9_u64, epoch in 0..4_u64,
    ) {
        prop_assume!(weights.contains(&1));
        let shuffle = Shuffle::Full { seed };
        let order = Order::by_weight(contents(), &Selection::all(SAMPLES), &weights, shuffle).unwrap();
        let mut came: HashMap<u64, Vec<u64>> = HashMap::new();
        let mut ledger = Ledger::new(order.data());
        for draw in draws(&order, epoch, 0) {
            came.entry(draw.ordinal).or_default().push(draw.pass);
            ledger.add(draw.ordinal);
        }
        for (ordinal, weight) in weights.iter().enumerate() {
            let mut passes = came.remove(&(ordinal as u64)).unwrap_or_default();
            prop_assert_eq!(passes.len() as i64, *weight);
            passes.dedup();
            passes.sort_unstable();
            passes.dedup();
            prop_assert_eq!(passes.len() as i64, *weight, "copies differ, so that augmentations do");
        }
        ledger.prove(&order.ledger(epoch, 0..order.epoch_samples()).unwrap()).unwrap();
        let length = order.epoch_samples();
        let mut part = Ledger::new(order.data());
        draws(&order, epoch, length / 3).iter().for_each(|draw| part.add(draw.ordinal));
        part.prove(&order.ledger(epoch, length / 3..length).unwrap()).unwrap();
    }
}

#[test]
fn ranks_share_the_rounds_and_by_shard_each_has_its_own() {
    let order = order([1, 1, 1], Shuffle::Full { seed: 5 }, &Selection::all(SAMPLES));
    let mut ledger = Ledger::new(order.data());
    for rank in 0..3 {
        let share = Share::new(&order, split(rank, 3)).unwrap();
        let steps = share.steps(0, 4, Remainder::Drop).unwrap();
        for step in 0..steps.count() {
            for (position, _) in steps.rows(step) {
                ledger.add(share.order().ordinal(0, position).unwrap().unwrap());
            }
        }
    }
    ledger.prove(&order.ledger(0, 0..60).unwrap()).unwrap();
    let by_shard = Share::new(&order, split(0, 2).by_shard());
    assert!(by_shard.is_err(), "the middle shard is empty, and rank 1 of 2 has it alone");
}

#[test]
fn a_state_belongs_to_its_classes_and_weights() {
    let all = Selection::all(SAMPLES);
    let shuffle = Shuffle::Full { seed: 5 };
    let first = order([1, 2, 3], shuffle, &all);
    let state = LoaderState::new(&first, split(0, 1), 1, 7);
    state.check(&order([1, 2, 3], shuffle, &all), split(0, 2)).unwrap();
    let others = [
        order([1, 2, 4], shuffle, &all),
        order([1, 2, 3], shuffle, &all.skip(1).unwrap()),
        Order::new(contents(), all.clone(), shuffle).unwrap(),
    ];
    for other in others {
        let error = state.check(&other, split(0, 1)).unwrap_err();
        assert!(error.text().contains("classes and weights"), "{error}");
    }
}

#[test]
fn impossible_classes_and_weights_are_errors_with_their_numbers() {
    let all = Selection::all(SAMPLES);
    let shuffle = Shuffle::Full { seed: 1 };
    let by_class = |classes: &[i64], weights: &[(i64, u64)]| {
        let weights = weights.iter().copied();
        Order::by_class(contents(), &all, classes, weights, shuffle).unwrap_err().to_string()
    };
    assert!(by_class(&[1, 2], &[(1, 1)]).contains("2 numbers for a data set of 60 samples"));
    assert!(by_class(&classes(), &[(3, 1), (7, 1)]).contains("class -1 has no weight"));
    let unknown = by_class(&classes(), &[(-1, 1), (3, 1), (7, 1), (8, 2)]);
    assert!(unknown.contains("class 8 has weight 2"), "{unknown}");
    assert!(by_class(&classes(), &[(-1, 0), (3, 0), (7, 0)]).contains("all weights are 0"));
    let by_weight = |weights: &[i64], shuffle| {
        Order::by_weight(contents(), &all, weights, shuffle).unwrap_err().to_string()
    };
    assert!(by_weight(&[1; 59], shuffle).contains("59 numbers"));
    assert!(by_weight(&[-2; 60], shuffle).contains("weight -2"));
    assert!(by_weight(&[0; 60], shuffle).contains("are 0"));
    assert!(by_weight(&[1; 60], Shuffle::Shards { seed: 1 }).contains("Shuffle::Full"));
}
