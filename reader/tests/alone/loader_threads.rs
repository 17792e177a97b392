//! Loaders dropped at any moment, in any order: no thread is left, and nothing hangs.
//!
//! A separate test binary with one test, because it counts the threads of the process.
#![allow(missing_docs, unreachable_pub, clippy::unwrap_used)]

#[path = "../loader/harness.rs"]
mod harness;
#[path = "../patience.rs"]
mod patience;
#[path = "../loader/thread_count.rs"]
mod thread_count;
#[path = "../loader/truth.rs"]
mod truth;

use std::sync::Arc;
use std::time::Duration;

use harness::Shards;
use tarflume::{DType, Decode, Loader, Row, RowShape, Sample, Scratch, Shuffle};
use tarflume_fixtures::SplitMix64;

/// Takes some time for each sample.
struct Slow;

impl Decode for Slow {
    fn parts(&self) -> Vec<String> {
        vec!["bin".into()]
    }

    fn shape(&self) -> RowShape {
        RowShape::Fixed(DType::U8, vec![])
    }

    fn decode(
        &self,
        sample: &Sample<'_>,
        mut row: Row<'_>,
        _: &mut Scratch,
    ) -> tarflume::Result<()> {
        std::thread::sleep(Duration::from_micros(sample.ordinal % 7 * 40));
        row.put(&[1])
    }
}

fn slow(shards: &Shards, threads: u32) -> Loader {
    let loader = shards.loader().shuffle(Shuffle::Full { seed: threads.into() });
    loader.column("slow", Slow).threads(threads as usize).build().unwrap()
}

/// Two loaders that share the pool, epochs and batches of both, and a random end.
fn once(shards: &Shards, random: &mut SplitMix64) {
    let threads = [1 + random.below(3), 1 + random.below(3)];
    let mut loaders: Vec<Loader> = threads.map(|threads| slow(shards, threads)).into();
    let mut epochs = Vec::new();
    let mut batches = Vec::new();
    for _ in 0..random.below(12) {
        match random.below(6) {
            0 if !loaders.is_empty() => {
                loaders.swap_remove(random.below(loaders.len() as u32) as usize);
            }
            1 if !epochs.is_empty() => {
                epochs.swap_remove(random.below(epochs.len() as u32) as usize);
            }
            2 | 3 if !loaders.is_empty() => {
                let loader = &loaders[random.below(loaders.len() as u32) as usize];
                epochs.push(loader.epoch(random.below(3).into()));
            }
            _ => {
                let some = random.below(epochs.len().max(1) as u32) as usize;
                batches.extend(epochs.get_mut(some).and_then(Iterator::next).map(Result::unwrap));
            }
        }
        std::thread::sleep(Duration::from_micros(random.below(300).into()));
    }
    match random.below(3) {
        0 => drop((loaders, epochs)),
        1 => drop((epochs, loaders)),
        _ => drop((batches.split_off(batches.len() / 2), epochs, loaders)),
    }
    assert!(thread_count::threads_are_gone(), "everything but batches is dropped");
    batches.iter().for_each(truth::is_true);
}

#[test]
fn a_thousand_dropped_epochs_leave_no_thread() {
    let shards = Arc::new(Shards::of(&[13, 29]));
    for number in 0..1000 {
        let shards = shards.clone();
        patience::ends(&format!("round {number}"), move || {
            once(&shards, &mut SplitMix64::nth(1, number))
        });
    }
    let loader = shards.loader().build().unwrap();
    assert_eq!(truth::batches(&loader, 0).unwrap().concat().len(), 40, "ten batches of four");
}
