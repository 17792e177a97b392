//! A selection against the plain list of the ordinals it holds.

use proptest::prelude::*;

use super::*;

fn check(selection: &Selection, expected: &[u64], samples: u64) {
    assert_eq!(selection.len(), expected.len() as u64);
    for (index, &ordinal) in expected.iter().enumerate() {
        assert_eq!(selection.ordinal(index as u64), ordinal);
    }
    let mut before = 0;
    for ordinal in 0..samples {
        let selected = expected.binary_search(&ordinal).is_ok();
        assert_eq!(selection.contains(ordinal), selected, "{ordinal}");
        assert_eq!(selection.indexes_before(ordinal), before, "{ordinal}");
        before += u64::from(selected);
    }
    assert_eq!(selection.indexes_before(samples), before);
    assert!(!selection.contains(samples));
    assert!(selection.runs().flatten().eq(expected.iter().copied()));
}

/// Samples, and a pattern of the selected ones, with few gaps or with many.
fn patterns() -> impl Strategy<Value = Vec<bool>> {
    let gaps = prop_oneof![Just(0.003), Just(0.2), Just(0.5), Just(0.98)];
    (0..3000_usize, gaps).prop_flat_map(|(samples, out)| {
        prop::collection::vec(prop::bool::weighted(1.0 - out), samples)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    #[cfg_attr(miri, ignore = "Miri takes minutes for so many cases")]
    fn a_selection_is_its_list(pattern in patterns(), cut in 0..3100_u64) {
        let samples = pattern.len() as u64;
        let mut kept = Vec::new();
        let mut out = Vec::new();
        for (ordinal, keep) in pattern.iter().enumerate() {
            if *keep { &mut kept } else { &mut out }.push(ordinal as u64);
        }
        let filtered = Selection::filter(samples, |o| pattern[o as usize]).unwrap();
        check(&filtered, &kept, samples);
        let twice = kept.iter().rev().chain(&kept).copied();
        prop_assert_eq!(&Selection::keep(samples, twice).unwrap(), &filtered);
        let left = Selection::leave_out(samples, out.iter().rev().copied()).unwrap();
        prop_assert_eq!(&left, &filtered);
        prop_assert_eq!(left.fingerprint(), filtered.fingerprint());

        let cut = cut.min(samples);
        let at = (cut as usize).min(kept.len());
        check(&filtered.take(cut).unwrap(), &kept[..at], samples);
        check(&filtered.skip(cut).unwrap(), &kept[at..], samples);
        let both = filtered.and(&Selection::ranges(samples, std::iter::once(0..cut)).unwrap()).unwrap();
        let below = kept.iter().copied().filter(|&o| o < cut).collect::<Vec<_>>();
        check(&both, &below, samples);
        let all = filtered.and(&Selection::all(samples)).unwrap();
        prop_assert_eq!(all, filtered);
    }
}

#[test]
fn shards_begin_where_their_first_selected_sample_is() {
    let contents = Contents::new(Fingerprint::new([0; 32]), [3, 2, 0, 4]).unwrap();
    let selection = Selection::keep(9, [1, 2, 5, 8]).unwrap();
    assert_eq!(selection.starts(&contents)[..], [0, 2, 4]);
    assert_eq!(Selection::all(9).starts(&contents)[..], [0, 3, 5, 9]);
}

#[test]
fn lists_for_another_data_set_are_refused() {
    assert!(Selection::keep(5, [1, 5]).unwrap_err().text().contains("ordinal 5"));
    assert!(Selection::leave_out(0, [0]).is_err());
    assert!(Selection::ranges(9, [3..5, 4..6]).is_err());
    assert!(Selection::all(5).and(&Selection::all(6)).is_err());
}

#[test]
fn a_whole_data_set_of_any_size_costs_nothing() {
    let samples = 1 << 60;
    let some = Selection::all(samples).skip(1 << 40).unwrap().take(1 << 59).unwrap();
    assert_eq!(some.ordinal(some.len() - 1), (1 << 40) + (1 << 59) - 1);
    assert_eq!(some.indexes_before(u64::MAX), 1 << 59);
}
