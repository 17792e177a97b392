//! Shards without samples, which downloaders leave: beside others they change nothing for any rank; alone they are a data
//! set without batches.

use std::fs;

use tarflume::{Loader, Remainder, Shuffle, Split, Stream};

use crate::loader::harness::Shards;
use crate::loader::truth::batches;

/// Ordinals of all batches of all ranks, one list for each rank.
fn of_ranks(shards: &Shards, shuffle: Shuffle, world: u64) -> Vec<Vec<u64>> {
    let splits = (0..world).map(|rank| Split::new(rank, world).unwrap());
    let loaders = splits.map(|split| {
        let loader = shards.loader().shuffle(shuffle).remainder(Remainder::Uneven);
        loader.split(split).build().unwrap()
    });
    loaders.map(|loader| batches(&loader, 1).unwrap().concat()).collect()
}

#[test]
fn every_rank_gets_the_samples_of_the_same_set_without_empty_shards() {
    let with = Shards::of(&[0, 7, 0, 0, 10, 3, 0]);
    let without = Shards::of(&[7, 10, 3]);
    for shuffle in [Shuffle::None, Shuffle::Full { seed: 4 }] {
        for world in [1, 2, 3, 5] {
            let found = of_ranks(&with, shuffle, world);
            assert_eq!(found, of_ranks(&without, shuffle, world), "{shuffle:?} {world}");
            let mut all = found.concat();
            all.sort_unstable();
            assert_eq!(all, (0..20).collect::<Vec<_>>(), "{shuffle:?} {world}");
        }
    }
}

#[test]
fn ranks_that_share_whole_shards_get_each_sample_once() {
    let shards = Shards::of(&[0, 7, 0, 0, 10, 3, 0]);
    for world in [1, 2, 3, 5] {
        let mut all = of_ranks(&shards, Shuffle::Buffer { seed: 2, size: 5 }, world).concat();
        all.sort_unstable();
        assert_eq!(all, (0..20).collect::<Vec<_>>(), "{world}");
    }
}

#[test]
fn empty_shards_alone_are_an_error_that_says_so() {
    let shards = Shards::of(&[0, 0]);
    for (rank, world) in [(0, 1), (0, 2), (1, 2)] {
        let split = Split::new(rank, world).unwrap();
        let error = shards.loader().split(split).build().unwrap_err();
        assert!(error.to_string().contains("no samples"), "{error}");
    }
    let data = tarflume::Dataset::open(shards.path()).unwrap();
    assert!(data.is_empty());
    // Without an index, a tar of zeros is a missing sidecar, not a damaged tar.
    fs::write(shards.path().join("zeros.tar"), [0; 10_240]).unwrap();
    let error = Loader::builder(shards.path()).bytes("bin").build().unwrap_err();
    assert!(error.to_string().contains("pack index"), "{error}");
}

fn stream(shards: &Shards) -> Stream {
    Stream::open(shards.path().join("*.tar").to_str().unwrap()).unwrap()
}

#[test]
fn streams_pass_over_empty_shards_and_give_nothing_of_them_alone() {
    fn keys(shards: &Shards, number: u64) -> Vec<Vec<u8>> {
        let loader = Loader::stream(stream(shards)).text("txt").batch(7).build().unwrap();
        let batches = loader.epoch(number).map(Result::unwrap);
        batches.flat_map(|b| (0..b.len()).map(|n| b.key(n).to_vec()).collect::<Vec<_>>()).collect()
    }

    let with = Shards::of(&[0, 20, 0, 1, 33, 0]);
    let without = Shards::of(&[20, 1, 33]);
    fs::write(with.shard(6), [0; 10_240]).unwrap(); // as downloaders leave it
    for number in 0..2 {
        let found = keys(&with, number);
        assert_eq!(found.len(), 54);
        assert_eq!(found, keys(&without, number), "epoch {number}");
    }
    let alone = Shards::of(&[0, 0]);
    assert!(keys(&alone, 0).is_empty());
    assert!(stream(&alone).samples(0).unwrap().next().is_none());
}
