//! Stopping anywhere and resuming with another world size, batch size, number of threads or prefetch equals an
//! epoch without a stop.

use tarflume::{ErrorKind, Loader, LoaderState, Remainder, Shuffle, Split};

use crate::loader::harness::Shards;
use crate::loader::order::orders::sum;
use crate::loader::truth::batches;

const COUNTS: [u64; 3] = [11, 30, 9];

fn ranks(shards: &Shards, world: u64, batch: u64, state: Option<&LoaderState>) -> Vec<Loader> {
    let loader = shards.loader().shuffle(Shuffle::Full { seed: 5 }).batch(batch);
    let loader = loader.remainder(Remainder::Uneven);
    let loader = match state {
        Some(state) => loader.threads(1).prefetch(1).resume(state.clone()),
        None => loader,
    };
    let splits = (0..world).map(|rank| Split::new(rank, world).unwrap());
    splits.map(|split| loader.clone().split(split).build().unwrap()).collect()
}

#[test]
fn resuming_with_another_world_and_batch_is_never_having_stopped() {
    let shards = Shards::of(&COUNTS);
    let whole: Vec<u64> = batches(&ranks(&shards, 1, 1, None)[0], 3).unwrap().concat();
    assert_eq!(whole.len(), 50);
    for (world, batch) in [(1, 4), (2, 3), (5, 2)] {
        for steps in 0..50 / (world * batch) {
            let mut before = Vec::new();
            let mut saved = None;
            let mut ledger = None;
            for loader in ranks(&shards, world, batch, None) {
                let mut epoch = loader.epoch(3);
                for _ in 0..steps {
                    before.extend(epoch.next().unwrap().unwrap().ordinals());
                }
                let _prefetched = epoch.size_hint();
                saved = Some(serde_json::to_string(&loader.state()).unwrap());
                sum(&mut ledger, &loader.ledger());
            }
            before.sort_unstable();
            let delivered = (steps * world * batch) as usize;
            let mut expected = whole[..delivered].to_vec();
            expected.sort_unstable();
            assert_eq!(before, expected);
            let state: LoaderState = serde_json::from_str(&saved.unwrap()).unwrap();
            for (world, batch) in [(1, 7), (3, 5)] {
                let mut rest = Vec::new();
                let mut all = ledger;
                let loaders = ranks(&shards, world, batch, Some(&state));
                for loader in &loaders {
                    assert_eq!(loader.current_epoch(), 3);
                    rest.extend(batches(loader, 3).unwrap().concat());
                    sum(&mut all, &loader.ledger());
                }
                rest.sort_unstable();
                let mut expected = whole[delivered..].to_vec();
                expected.sort_unstable();
                assert_eq!(rest, expected, "after {steps} steps, {world} ranks");
                assert_eq!(all, Some(loaders[0].expected(3).unwrap()));
            }
        }
    }
}

#[test]
fn the_epoch_after_the_last_batch_is_the_next() {
    let shards = Shards::of(&COUNTS);
    let loader = shards.loader().shuffle(Shuffle::Full { seed: 5 }).batch(25).build().unwrap();
    assert_eq!(loader.epoch(0).count(), 2);
    let resumed = shards.loader().shuffle(Shuffle::Full { seed: 5 }).batch(25);
    let resumed = resumed.resume(loader.state()).build().unwrap();
    assert_eq!(resumed.current_epoch(), 1);
    assert_eq!(batches(&resumed, 1).unwrap(), batches(&loader, 1).unwrap());
}

#[test]
fn a_state_of_another_data_set_is_refused_with_its_name() {
    fn full(seed: u64) -> Shuffle {
        Shuffle::Full { seed }
    }

    let shards = Shards::of(&COUNTS);
    let loader = shards.loader().shuffle(full(5)).build().unwrap();
    loader.epoch(0).next().unwrap().unwrap();
    let state = loader.state();
    let other = shards.loader().shuffle(full(6));
    let error = other.resume(state.clone()).build().unwrap_err();
    assert!(error.to_string().contains("seed"), "{error}");
    let other = Shards::of(&[50]).loader().shuffle(full(5));
    let error = other.resume(state.clone()).build().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Stale, "{error}");
    let json = serde_json::to_string(&state).unwrap().replace("\"order\":1", "\"order\":9");
    let state: Result<LoaderState, _> = serde_json::from_str(&json);
    let refused = match state {
        Ok(state) => shards.loader().shuffle(full(5)).resume(state).build().is_err(),
        Err(_) => true,
    };
    assert!(refused, "{json}");
}

#[test]
fn prefetched_batches_that_were_not_taken_are_not_counted() {
    let shards = Shards::of(&COUNTS);
    let loader = shards.loader().prefetch(6).build().unwrap();
    let mut epoch = loader.epoch(0);
    let first = epoch.next().unwrap().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(50));
    assert_eq!(loader.state().position(), 4);
    drop(first);
    drop(epoch);
    let again = shards.loader().resume(loader.state()).build().unwrap();
    assert_eq!(batches(&again, 0).unwrap()[0], [4, 5, 6, 7]);
}
