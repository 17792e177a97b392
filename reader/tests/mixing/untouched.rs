//! Rows that stay as they are, and are no partners.

use tarflume::transforms::mixing::{MixMode, Partner};
use tarflume::{OnBad, Remainder, RowState};

use super::{both, check_row, key, parts, plain, samples};
use crate::loader::harness::Shards;

/// Samples of which number 5 has no class.
fn spoilt(count: u64) -> Shards {
    let shards = Shards { dir: tempfile::tempdir().unwrap() };
    shards.write(
        0,
        (0..count).map(|o| {
            let mut parts = parts(o);
            if o == 5 {
                parts[1].1 = b"{}".to_vec();
            }
            (key(o), parts)
        }),
    );
    shards
}

/// The pixels of a sample, by its class.
fn pixels(class: i64) -> Vec<u8> {
    parts(class as u64).remove(2).1
}

#[test]
fn padding_is_not_mixed() {
    let shards = samples(10);
    for (mode, partner) in [(MixMode::Batch, Partner::Previous), (MixMode::Elem, Partner::Mirrored)]
    {
        let mix = both("image").mode(mode).partner(partner).label_pairs();
        let loader = plain(&shards).remainder(Remainder::Pad).mix(mix).build().unwrap();
        let batch = loader.epoch(0).nth(1).unwrap().unwrap();
        let padding: Vec<bool> = batch.rows().map(|row| row.padding).collect();
        assert_eq!(padding, [false, false, false, false, true, true]);
        let own = batch.column("label_a").unwrap().elements::<i64>().unwrap();
        let other = batch.column("label_b").unwrap().elements::<i64>().unwrap();
        let lam = batch.column("lam").unwrap().elements::<f32>().unwrap();
        for row in 0..6 {
            assert_eq!(padding[row], lam[row] == 1.0, "row {row}");
            assert!(own[..4].contains(&other[row]) || own[row] == other[row]);
            let now = batch.column("image").unwrap().row(row);
            check_row(now, &pixels(own[row]), &pixels(other[row]), lam[row]);
        }
    }
}

#[test]
fn a_substitute_is_not_mixed_and_a_row_that_is_left_out_is_no_partner() {
    let shards = spoilt(18);
    for on_bad in [OnBad::Substitute, OnBad::Skip] {
        let mix = both("image").label_pairs();
        let loader = plain(&shards).on_bad(on_bad).mix(mix).build().unwrap();
        let mut found = 0;
        for batch in loader.epoch(0) {
            let batch = batch.unwrap();
            let states: Vec<RowState> = batch.rows().map(|row| row.state).collect();
            found += batch.planned().iter().filter(|row| row.state != RowState::Whole).count();
            let own = batch.column("label_a").unwrap().elements::<i64>().unwrap();
            let other = batch.column("label_b").unwrap().elements::<i64>().unwrap();
            let lam = batch.column("lam").unwrap().elements::<f32>().unwrap();
            let whole: Vec<usize> =
                (0..batch.len()).filter(|&row| states[row] == RowState::Whole).collect();
            for row in 0..batch.len() {
                let now = batch.column("image").unwrap().row(row);
                check_row(now, &pixels(own[row]), &pixels(other[row]), lam[row]);
            }
            for (at, &row) in whole.iter().enumerate() {
                let before = whole[(at + whole.len() - 1) % whole.len()];
                assert!(lam[row] == 1.0 || other[row] == own[before], "{on_bad}: row {row}");
            }
            for row in (0..batch.len()).filter(|row| !whole.contains(row)) {
                assert_eq!((lam[row], other[row]), (1.0, own[row]));
            }
        }
        assert_eq!(found, 1);
    }
}

#[test]
fn a_batch_of_one_row_stays_as_it_is() {
    let shards = samples(6);
    let loader = plain(&shards).batch(1).mix(both("image").label_pairs()).build().unwrap();
    for batch in loader.epoch(0) {
        let batch = batch.unwrap();
        let label = batch.column("label").unwrap().elements::<i64>().unwrap();
        assert_eq!(batch.column("image").unwrap().row(0), pixels(label[0]));
        assert_eq!(batch.column("lam").unwrap().elements::<f32>().unwrap(), [1.0]);
    }
}
