//! The ledger: the ledgers of the ranks add up to the computed one, or report a difference.

use proptest::prelude::*;
use tarflume_order::{Ledger, Order, Remainder, Share, Shuffle};

use crate::oracle::{self, split};

fn of(order: &Order, ordinals: &[u64]) -> Ledger {
    let mut ledger = Ledger::new(order.data());
    ordinals.iter().for_each(|&ordinal| ledger.add(ordinal));
    ledger
}

fn drawn(order: &Order, epoch: u64, range: std::ops::Range<u64>) -> Vec<u64> {
    let cursor = order.cursor(epoch, range.start).unwrap();
    cursor.take((range.end - range.start) as usize).map(|draw| draw.ordinal).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_computed_ledger_is_that_of_the_list(
        counts in oracle::counts(), shuffle in oracle::shuffles(), epoch in 0..3_u64,
        length in 1..900_u64, cuts in (0..900_u64, 0..900_u64), mixed in any::<bool>(),
    ) {
        let mut order = oracle::order(&counts, shuffle);
        if mixed {
            let other = oracle::order(&[9, 4], shuffle);
            order = Order::mixture([(order, 3), (other, 2)]).unwrap();
            order = order.reweigh(0, 20, vec![1, 6]).unwrap();
        }
        let order = order.epoch_length(length).unwrap();
        let a = cuts.0.min(length);
        let b = cuts.1.min(length);
        let range = a.min(b)..a.max(b);
        let expected = of(&order, &drawn(&order, epoch, range.clone()));
        prop_assert_eq!(order.ledger(epoch, range).unwrap(), expected);
    }

    #[test]
    fn ranks_add_up_over_resumes_and_resizes(
        counts in oracle::counts(), shuffle in oracle::shuffles(),
        lives in prop::collection::vec((1..9_u64, 1..5_u64, oracle::remainders(), 0..4_u64), 0..6),
    ) {
        let order = oracle::order(&counts, shuffle);
        let mut sum = Ledger::new(order.data());
        let mut position = 0;
        for (world, batch, remainder, ends) in lives {
            let ranks = (0..world).map(|r| Share::new(&order, split(r, world)).unwrap());
            let ranks: Vec<_> = ranks.collect();
            let steps = ranks.iter().map(|share| share.steps(position, batch, remainder));
            let Ok(steps) = steps.collect::<Result<Vec<_>, _>>() else { continue };
            let most = steps.iter().map(|s| s.count()).max().unwrap().min(ends);
            for (share, steps) in ranks.iter().zip(&steps) {
                let mut ledger = Ledger::new(order.data());
                for (at, _) in (0..most).flat_map(|step| steps.rows(step)).filter(|(_, pad)| !pad) {
                    let ordinal = share.order().ordinal(1, at).unwrap().unwrap();
                    if ordinal % 7 == 3 { ledger.add_bad(ordinal) } else { ledger.add(ordinal) }
                }
                sum.merge(&ledger.to_string().parse().unwrap()).unwrap();
            }
            if most > 0 {
                position = steps[0].position_after(most - 1);
            }
            sum.prove(&order.ledger(1, 0..position).unwrap()).unwrap();
        }
    }

    #[test]
    fn one_lost_repeated_or_swapped_is_noticed(
        counts in oracle::counts(), shuffle in oracle::shuffles(), at in any::<prop::sample::Index>(),
        other in any::<prop::sample::Index>(),
    ) {
        let order = oracle::order(&counts, shuffle);
        let half = order.samples().div_ceil(2);
        let order = order.epoch_length(half).unwrap();
        let epochs = [drawn(&order, 0, 0..half), drawn(&order, 1, 0..half)];
        let expected = order.ledger(0, 0..half).unwrap();
        of(&order, &epochs[0]).prove(&expected).unwrap();
        let mut lost = epochs[0].clone();
        let one = lost.swap_remove(at.index(lost.len()));
        prop_assert!(of(&order, &lost).prove(&expected).is_err());
        let mut repeated = epochs[0].clone();
        repeated.push(one);
        prop_assert!(of(&order, &repeated).prove(&expected).is_err());
        let stranger = epochs[1][other.index(epochs[1].len())];
        lost.push(stranger);
        let proof = of(&order, &lost).prove(&expected);
        prop_assert_eq!(proof.is_ok(), stranger == one, "swapped between epochs");
    }
}

#[test]
fn all_ranks_by_shard_give_the_whole_data_set() {
    let order = oracle::order(&[30, 11, 25, 40, 1], Shuffle::Full { seed: 3 });
    let mut sum = Ledger::new(order.data());
    for rank in 0..3 {
        let share = Share::new(&order, split(rank, 3).by_shard()).unwrap();
        let steps = share.steps(0, 4, Remainder::Uneven).unwrap();
        sum.merge(&share.order().ledger(0, steps.covered()).unwrap()).unwrap();
    }
    sum.prove(&order.ledger(0, 0..107).unwrap()).unwrap();
}

#[test]
fn a_ledger_is_a_line_of_text() {
    let order = oracle::order(&[30, 11], Shuffle::None);
    let mut ledger = of(&order, &[1, 2, 3]);
    ledger.add_bad(4);
    let text = ledger.to_string();
    assert_eq!(text.parse::<Ledger>().unwrap(), ledger);
    assert!(text.contains(" seen 3:") && text.contains(" bad 1:"), "{text}");
    assert!(text[..text.len() - 1].parse::<Ledger>().is_err());
    assert!("".parse::<Ledger>().is_err());
    let json = serde_json::to_string(&ledger).unwrap();
    assert_eq!(serde_json::from_str::<Ledger>(&json).unwrap(), ledger);
    let other = oracle::order(&[30, 12], Shuffle::None);
    assert!(ledger.merge(&Ledger::new(other.data())).is_err());
    assert!(ledger.prove(&Ledger::new(other.data())).is_err());
    assert!(order.ledger(0, 0..42).is_err());
    assert_eq!((ledger.seen().count, ledger.bad().count, ledger.planned().count), (3, 1, 4));
}
