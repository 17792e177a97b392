//! Mixtures: the share of each data set in every prefix, separate orders, changing weights, resuming anywhere.

use proptest::prelude::*;
use tarflume_order::{LoaderState, Order, Share, Shuffle};

use crate::oracle::{self, split};

const SIZES: [&[u64]; 3] = [&[20, 31], &[7], &[4, 0, 90]];

fn parts(shuffle: Shuffle) -> Vec<Order> {
    SIZES.iter().map(|counts| oracle::order(counts, shuffle)).collect()
}

fn mixture(shuffle: Shuffle, weights: [u64; 3]) -> Order {
    Order::mixture(parts(shuffle).into_iter().zip(weights)).unwrap()
}

/// Which data set an ordinal of the mixture belongs to, and its ordinal there.
fn origin(ordinal: u64) -> (usize, u64) {
    match ordinal {
        0..51 => (0, ordinal),
        51..58 => (1, ordinal - 51),
        _ => (2, ordinal - 58),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn each_data_set_keeps_its_order_and_its_share(
        shuffle in oracle::shuffles(),
        weights in prop::array::uniform3(0..9_u64),
        first in 1..400_u64, later in prop::array::uniform3(0..9_u64),
        length in 50..300_u64, start in 0..50_u64,
    ) {
        prop_assume!(weights.iter().sum::<u64>() > 0 && later.iter().sum::<u64>() > 0);
        let order = mixture(shuffle, weights).epoch_length(length).unwrap();
        let order = order.reweigh(first / length, first % length, later.to_vec()).unwrap();
        let mut own: Vec<_> = SIZES.iter().map(|counts| {
            let all: Vec<_> = (0..counts.iter().sum()).collect();
            oracle::stream(counts, &all, shuffle, 900).into_iter()
        }).collect();
        let mut counts = [0_i64; 3];
        let mut position = 0;
        for epoch in 0..3 {
            let draws: Vec<_> = order.cursor(epoch, 0).unwrap().collect();
            let middle: Vec<_> = order.cursor(epoch, start).unwrap().collect();
            prop_assert_eq!(&middle, &draws[start as usize..], "started in the middle");
            for draw in draws {
                if position == first {
                    counts = [0; 3];
                }
                let (part, ordinal) = origin(draw.ordinal);
                prop_assert_eq!(own[part].next().unwrap(), (ordinal, draw.pass));
                counts[part] += 1;
                position += 1;
                let (n, said) = match position {
                    n if n <= first => (n, weights),
                    n => (n - first, later),
                };
                let total = said.iter().sum::<u64>() as i64;
                for (count, weight) in counts.iter().zip(said) {
                    prop_assert!((count * total - n as i64 * weight as i64).abs() < total);
                }
            }
        }
    }
}

#[test]
fn changed_weights_come_back_with_the_state() {
    let first = mixture(Shuffle::Full { seed: 1 }, [1, 3, 2]);
    let changed = first.clone().reweigh(2, 10, vec![5, 0, 1]).unwrap();
    assert_ne!(first.fingerprint(), changed.fingerprint());
    let state = LoaderState::new(&changed, split(0, 1), 2, 40).to_string();
    let state: LoaderState = state.parse().unwrap();
    let resumed = state.resume(&first, split(0, 3)).unwrap();
    assert_eq!(resumed.fingerprint(), changed.fingerprint());
    fn rest(order: &Order) -> Vec<tarflume_order::Draw> {
        order.cursor(2, 40).unwrap().collect()
    }
    assert_eq!(rest(&resumed), rest(&changed));
    assert_ne!(rest(&resumed), rest(&first));
    state.check(&changed, split(0, 1)).unwrap();
    let other = mixture(Shuffle::Full { seed: 1 }, [1, 1, 1]);
    let error = state.check(&other, split(0, 1)).unwrap_err();
    assert!(error.text().contains("1:3:2") && error.text().contains("1:1:1"), "{error}");
    // A loader that changes weights where the state does not is another order.
    let early = first.reweigh(0, 3, vec![1, 1, 1]).unwrap();
    assert!(state.check(&early, split(0, 1)).is_err());
}

#[test]
fn a_mixture_describes_itself() {
    let order = mixture(Shuffle::Full { seed: 1 }, [1, 3, 2]);
    assert_eq!((order.samples(), order.epoch_samples(), order.ordinals()), (152, 152, 152));
    assert_eq!(order.shuffle(), "full, seed 1");
    let nested = Order::mixture([(order, 1)]).unwrap_err();
    assert!(nested.text().contains("mixture"));
    assert!(Order::mixture([]).is_err());
    let one = oracle::order(&[5], Shuffle::None);
    assert!(one.reweigh(0, 1, vec![1]).unwrap_err().text().contains("mixtures"));
}

#[test]
fn a_mixture_by_shard_is_dealt_evenly() {
    let parts = [&[20_u64, 31, 9][..], &[4, 5, 90]].map(|c| oracle::order(c, Shuffle::None));
    let order = Order::mixture(parts.into_iter().zip([1, 2])).unwrap();
    let order = order.reweigh(1, 60, vec![1, 0]).unwrap();
    let lengths = (0..3).map(|rank| {
        let share = Share::new(&order, split(rank, 3).by_shard()).unwrap();
        for draw in share.order().cursor(1, 0).unwrap() {
            let starts = [0, 20, 51, 60, 64, 69, 159];
            let shard = starts.iter().filter(|&&start| start <= draw.ordinal).count() as u64 - 1;
            assert_eq!(shard % 3, rank);
        }
        let later = share.order().cursor(1, 20).unwrap();
        assert!(later.map(|draw| draw.ordinal).all(|ordinal| ordinal < 60));
        let before = share.order().cursor(1, 0).unwrap().take(20);
        let seconds = before.filter(|draw| draw.ordinal >= 60).count();
        assert!((13..=14).contains(&seconds), "{seconds} of 20 with weight 2 of 3");
        share.order().epoch_samples()
    });
    assert_eq!(lengths.collect::<Vec<_>>(), [53, 53, 53]);
}
