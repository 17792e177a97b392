//! Some samples only: by ordinal, by key, from a table; and classes and samples by their weights.

use std::collections::BTreeMap;

use tarflume::{Dataset, ErrorKind, KeySet, Loader, Remainder, Shuffle, Split, Subset, Weights};

use crate::loader::harness::{Shards, key};
use crate::loader::order::orders::sum;
use crate::loader::truth::batches;

const COUNTS: [u64; 5] = [7, 0, 23, 1, 12];
const SAMPLES: u64 = 43;

fn some() -> Vec<u64> {
    (0..SAMPLES).filter(|o| o % 3 == 1).collect()
}

fn drawn(loader: &Loader, epoch: u64) -> Vec<u64> {
    batches(loader, epoch).unwrap().concat()
}

#[test]
fn the_same_samples_come_in_the_same_order_however_they_are_given() {
    let shards = Shards::of(&COUNTS);
    let full = || shards.loader().shuffle(Shuffle::Full { seed: 3 }).remainder(Remainder::Uneven);
    let subset = Dataset::open(shards.path()).unwrap().subset(some()).unwrap();
    let keys: Vec<String> = some().into_iter().rev().map(key).collect();
    let ways = [
        full().select(some()),
        full().select(some().into_iter().rev().chain(some())),
        full().select_keys(&keys),
        full().subset(subset),
        full().select(0..40).select((0..SAMPLES).filter(|o| o % 3 == 1)),
    ];
    let loaders: Vec<Loader> = ways.into_iter().map(|way| way.build().unwrap()).collect();
    let right = drawn(&loaders[0], 1);
    let mut sorted = right.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, some());
    for loader in &loaders[..4] {
        assert_eq!(drawn(loader, 1), right);
        assert_eq!(loader.state().to_string(), loaders[0].state().to_string());
        let mut expected = loader.expected(1).unwrap();
        if std::ptr::eq(loader, &loaders[0]) {
            expected.merge(&loader.expected(1).unwrap()).unwrap(); // it was read twice
        }
        loader.ledger().prove(&expected).unwrap();
    }
    assert_eq!(loaders[4].order().samples(), 13);
}

#[test]
fn few_keys_are_searched_and_many_compared_with_the_same_result() {
    let shards = Shards::of(&[4000, 4000]);
    let dataset = Dataset::open(shards.path()).unwrap();
    let few = [4001, 17, 7999].map(key);
    assert_eq!(
        dataset.subset_of_keys(&few).unwrap().ordinals().collect::<Vec<_>>(),
        [17, 4001, 7999]
    );
    let many: Vec<u64> = (0..8000).filter(|o| o % 7 == 0).collect();
    let mut keys = KeySet::default();
    many.iter().for_each(|&o| keys.insert(key(o).as_bytes()).unwrap());
    assert!(dataset.subset_of(&keys).unwrap().ordinals().eq(many.iter().copied()));
    for more in ["nobody", "none"] {
        keys.insert(more.as_bytes()).unwrap();
    }
    let error = dataset.subset_of(&keys).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage);
    assert!(error.to_string().contains("2 of the selected keys"), "{error}");
    assert!(error.to_string().contains("'nobody'"), "{error}");
    let error = dataset.subset_of_keys(["nobody"]).unwrap_err();
    assert!(error.to_string().contains("1 of the selected keys"), "{error}");
}

#[test]
fn a_state_of_another_selection_is_refused_and_that_of_the_same_continues() {
    let shards = Shards::of(&COUNTS);
    let loader = shards.loader().shuffle(Shuffle::Full { seed: 3 }).remainder(Remainder::Uneven);
    let first = loader.clone().select(some()).build().unwrap();
    let right = drawn(&first, 0);
    let mut epoch = first.epoch(0);
    let begun: Vec<u64> = epoch.next().unwrap().unwrap().ordinals().collect();
    let state = first.state();
    drop(epoch);
    let mut rest = Vec::new();
    for rank in 0..2 {
        let split = Split::new(rank, 2).unwrap();
        let second = loader.clone().select(some()).split(split).batch(3);
        let second = second.resume(state.clone()).build().unwrap();
        rest.extend(drawn(&second, 0));
    }
    rest.sort_unstable();
    let mut left = right[begun.len()..].to_vec();
    left.sort_unstable();
    assert_eq!((begun, rest), (right[..4].to_vec(), left));
    let error = loader.select(0..14).resume(state).build().unwrap_err();
    assert!(error.to_string().contains("other samples selected"), "{error}");
}

#[test]
fn selections_of_other_data_sets_are_errors() {
    let shards = Shards::of(&COUNTS);
    let error = shards.loader().select([43]).build().unwrap_err();
    assert!(error.to_string().contains("the data set has 43 samples"), "{error}");
    let error = shards.loader().subset(Subset::none(44).unwrap()).build().unwrap_err();
    assert!(error.to_string().contains("44 samples, this one has 43"), "{error}");
    let error = shards.loader().select([]).build().unwrap_err();
    assert!(error.to_string().contains("none is selected"), "{error}");
}

#[test]
fn a_table_is_what_the_sidecars_say() {
    let shards = Shards::of(&COUNTS);
    let dataset = Dataset::open(shards.path()).unwrap();
    let table = dataset.table().unwrap();
    assert_eq!(
        (table.len(), table.extensions()),
        (SAMPLES, &["bin", "json", "txt"].map(String::from)[..])
    );
    let mut ordinal = 0;
    for batch in table {
        let batch = batch.unwrap();
        assert_eq!(batch.first, ordinal);
        for row in 0..batch.len() {
            assert_eq!(batch.key(row), key(ordinal).as_bytes());
            let (shard, within) = dataset.place(ordinal).unwrap();
            assert_eq!((batch.shards[row], batch.rows[row]), (shard as i32, within as i64));
            let sample = dataset.get(ordinal).unwrap();
            let lengths: Vec<i64> = sample.parts().iter().map(|p| p.bytes().len() as i64).collect();
            assert_eq!(batch.lengths.iter().map(|column| column[row]).collect::<Vec<_>>(), lengths);
            assert_eq!(batch.bytes[row], lengths.iter().sum::<i64>());
            assert_eq!((batch.widths[row], batch.heights[row]), (0, 0));
            ordinal += 1;
        }
    }
    assert_eq!(ordinal, SAMPLES);
    let large = Shards::of(&[70_000, 3]);
    let rows: Vec<usize> =
        Dataset::open(large.path()).unwrap().table().unwrap().map(|b| b.unwrap().len()).collect();
    assert_eq!(rows, [65_536, 4467]);
}

#[test]
fn classes_come_by_their_weights_on_all_ranks_together() {
    fn weights() -> Weights {
        Weights::of_classes("/class", (0..10).map(|c| (c, u64::from(c == 3) * 4 + 1)))
    }

    let shards = Shards::of(&COUNTS);
    let numbers = Dataset::open(shards.path()).unwrap().numbers("/class").unwrap();
    assert!(numbers.iter().copied().eq((0..43).map(|o| o % 10)));
    let mut counts = BTreeMap::new();
    let mut ledger = None;
    let mut expected = None;
    for rank in 0..3 {
        let loader = shards.loader().shuffle(Shuffle::Full { seed: 3 }).weights(weights());
        let loader = loader.epoch_length(14 * 20).remainder(Remainder::Uneven);
        let loader = loader.split(Split::new(rank, 3).unwrap()).build().unwrap();
        for ordinal in drawn(&loader, 2) {
            *counts.entry(ordinal % 10).or_insert(0) += 1;
        }
        sum(&mut ledger, &loader.ledger());
        expected = Some(loader.expected(2).unwrap());
    }
    assert!(counts.iter().all(|(class, count)| *count == if *class == 3 { 100 } else { 20 }));
    assert_eq!((counts.len(), ledger), (10, expected));
    let balanced = shards.loader().shuffle(Shuffle::Full { seed: 3 });
    let balanced = balanced.weights(Weights::balanced("/class")).select(0..12).build().unwrap();
    assert_eq!(balanced.order().epoch_samples(), 12);
    let twice = shards.loader().weights(Weights::of_samples(vec![2; 43])).build().unwrap();
    assert_eq!(
        twice.order().epoch_samples(),
        43,
        "weights are divided by what they have in common"
    );
    let error = Loader::mixture([(Dataset::open(shards.path()).unwrap(), 1)]);
    let error = error.weights(Weights::balanced("/class")).bytes("txt").build().unwrap_err();
    assert!(error.to_string().contains("a mixture has a weight for each data set"), "{error}");
}
