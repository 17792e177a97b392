//! The order does not depend on threads, prefetch, memory or world size.

use tarflume::{Ledger, Remainder, Shuffle, SourceKind, Split};

use crate::loader::harness::Shards;
use crate::loader::truth::batches;

const COUNTS: [u64; 5] = [7, 0, 23, 1, 12];
const SAMPLES: u64 = 43;

/// Adds a rank's ledger to those of the others.
pub fn sum(ledger: &mut Option<Ledger>, own: &Ledger) {
    match ledger {
        Some(ledger) => ledger.merge(own).unwrap(),
        None => *ledger = Some(*own),
    }
}

fn shuffles() -> [Shuffle; 5] {
    [
        Shuffle::None,
        Shuffle::Shards { seed: 3 },
        Shuffle::Buffer { size: 5, seed: 3 },
        Shuffle::Blocks { block: 3, window: 2, seed: 3 },
        Shuffle::Full { seed: 3 },
    ]
}

#[test]
fn batches_follow_the_order_of_any_source() {
    let shards = Shards::of(&COUNTS);
    for shuffle in shuffles() {
        for (threads, prefetch, memory, source) in [
            (1, 1, "64MiB", SourceKind::File),
            (4, 6, "2GiB", SourceKind::File),
            (2, 3, "128MiB", SourceKind::Mapped),
        ] {
            let loader = shards.loader().shuffle(shuffle).threads(threads).prefetch(prefetch);
            let loader =
                loader.memory_limit(memory.parse().unwrap()).source(source).build().unwrap();
            for epoch in [0, 1, 7] {
                let expected: Vec<u64> = (0..SAMPLES / 4 * 4)
                    .map(|position| loader.order().ordinal(epoch, position).unwrap().unwrap())
                    .collect();
                let came = batches(&loader, epoch).unwrap();
                assert!(came.iter().all(|batch| batch.len() == 4));
                assert_eq!(came.concat(), expected, "{shuffle:?}, epoch {epoch}");
            }
        }
    }
}

#[test]
fn every_sample_comes_once_over_all_ranks_and_the_ledgers_prove_it() {
    let shards = Shards::of(&COUNTS);
    for shuffle in shuffles() {
        for world in [1, 2, 3, 8] {
            let mut all = Vec::new();
            let mut ledger = None;
            let mut expected = None;
            for rank in 0..world {
                let loader = shards.loader().shuffle(shuffle).remainder(Remainder::Uneven);
                let loader = loader.split(Split::new(rank, world).unwrap()).build().unwrap();
                all.extend(batches(&loader, 2).unwrap().concat());
                sum(&mut ledger, &loader.ledger());
                expected = Some(loader.expected(2).unwrap());
            }
            all.sort_unstable();
            assert!(all.into_iter().eq(0..SAMPLES), "{shuffle:?} over {world} ranks");
            assert_eq!(ledger, expected);
        }
    }
}

#[test]
fn a_batch_of_the_job_is_the_same_set_for_every_world() {
    /// The sets of the batches of a job.
    fn job(shards: &Shards, world: u64) -> Vec<Vec<u64>> {
        let ranks: Vec<_> = (0..world)
            .map(|rank| {
                let loader = shards.loader().shuffle(Shuffle::Full { seed: 9 }).global_batch(12);
                batches(&loader.split(Split::new(rank, world).unwrap()).build().unwrap(), 4)
                    .unwrap()
            })
            .collect();
        assert!(ranks.iter().all(|rank| rank.len() == ranks[0].len()), "equal steps");
        (0..ranks[0].len())
            .map(|step| {
                let mut batch: Vec<_> = ranks.iter().flat_map(|rank| rank[step].clone()).collect();
                batch.sort_unstable();
                batch
            })
            .collect()
    }

    let shards = Shards::of(&COUNTS);
    let alone = job(&shards, 1);
    assert_eq!(alone.len(), 3);
    for world in [2, 3, 4, 6, 12] {
        assert_eq!(job(&shards, world), alone);
    }
}

#[test]
fn padding_is_marked_and_uneven_ends_are_short() {
    let shards = Shards::of(&COUNTS);
    let loader = shards.loader().batch(10).remainder(Remainder::Pad).build().unwrap();
    let last = loader.epoch(0).last().unwrap().unwrap();
    assert_eq!(last.len(), 10);
    assert_eq!(last.rows().filter(|row| row.padding).count(), 7);
    assert_eq!(loader.ledger(), loader.expected(0).unwrap(), "padding is not counted twice");
    let loader = shards.loader().batch(10).remainder(Remainder::Uneven).build().unwrap();
    assert_eq!(loader.epoch(0).last().unwrap().unwrap().len(), 3);
    let loader = shards.loader().batch(10).build().unwrap();
    assert_eq!((loader.epoch(0).count(), loader.steps().unwrap()), (4, 4));
}

#[test]
fn only_selected_samples_are_delivered() {
    let shards = Shards::of(&COUNTS);
    let list = shards.path().join("bad.jsonl");
    let keys = shards.path().join("keys.txt");
    let shard = shards.shard(4);
    let line = format!("{{\"path\":\"{}\",\"key\":\"sample/000040\"}}\n", shard.display());
    std::fs::write(&list, line).unwrap();
    std::fs::write(&keys, "sample/000003\n").unwrap();
    let loader = shards
        .loader()
        .shuffle(Shuffle::Full { seed: 1 })
        .filter(|facts| facts.ordinal() % 2 == 1 || facts.ordinal() == 40)
        .exclude(&list)
        .exclude(&keys)
        .take(15)
        .skip(2)
        .batch(1)
        .build()
        .unwrap();
    let mut came = batches(&loader, 0).unwrap().concat();
    came.sort_unstable();
    let odd = (0..SAMPLES).filter(|o| o % 2 == 1 && *o != 3).skip(2).take(15);
    assert!(came.into_iter().eq(odd));
}

#[test]
fn an_epoch_may_be_several_passes_or_any_number_of_samples() {
    let shards = Shards::of(&[10]);
    let full = Shuffle::Full { seed: 1 };
    let twice = shards.loader().shuffle(full).repeat(2).batch(5).build().unwrap();
    let once = shards.loader().shuffle(full).batch(5).build().unwrap();
    let passes = [batches(&once, 0).unwrap(), batches(&once, 1).unwrap()].concat();
    assert_eq!(batches(&twice, 0).unwrap(), passes);
    let seven = shards.loader().shuffle(full).epoch_length(7).batch(7).build().unwrap();
    let came = [batches(&seven, 0).unwrap(), batches(&seven, 1).unwrap()].concat().concat();
    assert_eq!(came, passes.concat()[..14]);
}
