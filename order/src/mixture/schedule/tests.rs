//! A schedule is never a whole sample off: all small weights, some large ones, changes.

use proptest::prelude::*;

use super::*;

/// Deals `positions` and checks each prefix since the last change, and each index.
fn check(schedule: &Schedule, positions: u64) {
    let changes: Vec<_> = schedule.changes().cloned().collect();
    let parts = changes[0].weights.len();
    let mut drawn = vec![0_u64; parts];
    for (i, segment) in changes.iter().enumerate() {
        let end = changes.get(i + 1).map_or(segment.from + positions, |next| next.from);
        let total: u64 = segment.weights.iter().sum();
        let before = drawn.clone();
        for position in segment.from..end {
            assert_eq!(schedule.drawn(position), drawn, "at {position} of {changes:?}");
            let (part, index) = schedule.place(position);
            assert_eq!(index, drawn[part], "at {position} of {changes:?}");
            drawn[part] += 1;
            let n = i128::from(position + 1 - segment.from);
            for part in 0..parts {
                let count = i128::from(drawn[part] - before[part]);
                let off = count * i128::from(total) - n * i128::from(segment.weights[part]);
                assert!(off.abs() < i128::from(total), "{n} of {changes:?}: {part} is off");
            }
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "Miri takes minutes for so many cases")]
fn all_small_weights_keep_their_shares() {
    for parts in 1..=4_u32 {
        for code in 1..6_u64.pow(parts) {
            let weights: Vec<_> = (0..parts).map(|part| code / 6_u64.pow(part) % 6).collect();
            let period: u64 = weights.iter().sum();
            check(&Schedule::new(weights).unwrap(), 2 * period + 1);
        }
    }
}

fn weights(parts: usize) -> impl Strategy<Value = Vec<u64>> {
    let one = prop_oneof![Just(0), Just(1), 1..12_u64, 1..700_u64];
    prop::collection::vec(one, parts).prop_filter("one above 0", |w| w.iter().any(|&w| w > 0))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    #[cfg_attr(miri, ignore = "Miri takes minutes for so many cases")]
    fn changed_weights_hold_from_each_change_on(
        weights in (1..9_usize).prop_flat_map(|parts| {
            (weights(parts), prop::collection::vec((1..900_u64, weights(parts)), 0..4))
        }),
    ) {
        let (first, changes) = weights;
        let mut schedule = Schedule::new(first).unwrap();
        let mut from = 0;
        for (later, weights) in changes {
            from += later;
            schedule.change(Weights { from, weights }).unwrap();
        }
        check(&schedule, 1500);
    }
}

#[test]
#[cfg_attr(miri, ignore = "Miri takes minutes for so many cases")]
fn a_long_period_keeps_its_shares_to_its_end() {
    let schedule = Schedule::new(vec![999_983, 17, 40_000, 1]).unwrap();
    let period = 999_983 + 17 + 40_000 + 1;
    let mut drawn = [0_u64; 4];
    for position in 0..period {
        let (part, index) = schedule.place(position);
        assert_eq!(index, drawn[part]);
        drawn[part] += 1;
        for (count, weight) in drawn.iter().zip([999_983, 17, 40_000, 1]) {
            let off = (count * period) as i64 - ((position + 1) * weight) as i64;
            assert!(off.unsigned_abs() < period, "at {position}");
        }
    }
    assert_eq!(schedule.drawn(period), drawn);
    // Far along, a position is found without going there.
    let far = period * (1 << 40);
    assert_eq!(schedule.drawn(far), drawn.map(|n| n << 40));
}

#[test]
fn impossible_weights_are_refused() {
    assert!(Schedule::new(vec![0, 0]).unwrap_err().text().contains("0"));
    assert!(Schedule::new(vec![1 << 20, 1]).unwrap_err().text().contains("round"));
    assert!(Schedule::new(vec![u64::MAX, u64::MAX - 1]).is_err());
    assert!(Schedule::new(vec![u64::MAX, u64::MAX]).is_ok(), "they are 1:1");
    let mut schedule = Schedule::new(vec![1, 2]).unwrap();
    assert!(schedule.change(Weights { from: 5, weights: vec![1] }).is_err());
    assert!(schedule.change(Weights { from: 0, weights: vec![1, 1] }).is_err());
}
