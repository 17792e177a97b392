//! Large machines and data sets: many threads, thousands of shards, a low limit of open files, and a loader
//! used inside another loader's decoder.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tarflume::{
    DType, Decode, ErrorKind, Loader, Result, Row, RowShape, Sample, Scratch, Shuffle, SourceKind,
};

use crate::loader::harness::{Shards, parts};
use crate::loader::truth::batches;
use crate::patience::PATIENCE;

/// Set in the child whose limit of open files is low.
const CHILD: &str = "TARFLUME_TEST_SHARDS";
const SHARDS: u64 = 2000;

#[test]
fn two_thousand_shards_are_shuffled_with_two_hundred_and_fifty_six_files() {
    let shards = Shards::of(&vec![1; SHARDS as usize]);
    let script = "ulimit -n 256 && exec \"$0\" --exact loader::pictures::large::few_files --include-ignored --nocapture";
    let done = Command::new("bash")
        .args(["-c", script])
        .arg(std::env::current_exe().unwrap())
        .env(CHILD, shards.path())
        .output()
        .unwrap();
    let text = [&done.stdout[..], &done.stderr[..]].map(String::from_utf8_lossy).join("\n");
    assert!(done.status.success() && text.contains("1 passed"), "{text}");
}

#[test]
#[ignore = "run by two_thousand_shards_are_shuffled_with_two_hundred_and_fifty_six_files"]
fn few_files() {
    let path = std::env::var(CHILD).unwrap();
    for source in [SourceKind::File, SourceKind::Mapped] {
        let loader =
            Loader::builder(Path::new(&path)).bytes("bin").text("txt").batch(256).threads(8);
        let loader = loader.source(source).shuffle(Shuffle::Full { seed: 3 }).build().unwrap();
        for epoch in 0..2 {
            let all: Vec<u64> = batches(&loader, epoch).unwrap().concat();
            // The last batch has too few rows and is dropped.
            assert_eq!(all.len() as u64, SHARDS / 256 * 256);
        }
    }
}

/// A column of nothing that writes down how many samples it was shown together, and in which task.
struct Groups(Arc<Mutex<BTreeMap<usize, usize>>>);

impl Decode for Groups {
    fn parts(&self) -> Vec<String> {
        vec!["bin".into()]
    }

    fn shape(&self) -> RowShape {
        RowShape::Fixed(DType::U8, vec![1])
    }

    fn group(&self) -> usize {
        8
    }

    fn prepare(&self, samples: &[Sample<'_>], _: &mut Scratch) {
        *self.0.lock().unwrap().entry(samples.len()).or_default() += 1;
    }

    fn decode(&self, _: &Sample<'_>, mut row: Row<'_>, _: &mut Scratch) -> Result<()> {
        row.put(&[0])
    }
}

#[test]
fn decoders_get_whole_groups_with_any_number_of_threads() {
    let shards = Shards::of(&[1280, 1280]);
    let seen = Arc::new(Mutex::default());
    let loader = Loader::builder(shards.path()).column("groups", Groups(seen.clone())).batch(256);
    let loader = loader.threads(64).shuffle(Shuffle::Full { seed: 9 }).build().unwrap();
    assert_eq!(loader.epoch(0).map(|batch| batch.unwrap().len()).sum::<usize>(), 2560);
    let seen = seen.lock().unwrap();
    // The first batch is split among all threads, two samples each. The others are not; neighbors that are
    // read at once stay together, so some groups hold a sample or two less.
    let wide: usize = seen.range(6..).map(|(size, times)| size * times).sum();
    assert!(wide >= (2560 - 256) * 9 / 10, "{seen:?}");
}

/// A column whose decoder takes a batch of another loader.
struct Nested(Loader, Arc<AtomicUsize>);

impl Decode for Nested {
    fn parts(&self) -> Vec<String> {
        vec!["bin".into()]
    }

    fn shape(&self) -> RowShape {
        RowShape::Fixed(DType::U8, vec![1])
    }

    fn decode(&self, _: &Sample<'_>, mut row: Row<'_>, _: &mut Scratch) -> Result<()> {
        let mut epoch = self.0.epoch(0);
        assert!(epoch.ready(PATIENCE), "an error is there at once");
        epoch.next().unwrap().inspect_err(|_| _ = self.1.fetch_add(1, Ordering::Relaxed))?;
        row.put(&[0])
    }
}

#[test]
fn using_a_loader_inside_a_decoder_is_an_error_and_no_deadlock() {
    let shards = Shards::of(&[40]);
    let inner = shards.loader().build().unwrap();
    let refused = Arc::new(AtomicUsize::new(0));
    let nested = Nested(inner, refused.clone());
    let loader = Loader::builder(shards.path()).column("nested", nested).batch(4).threads(2);
    let error = loader.build().unwrap().epoch(0).next().unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage);
    assert!(error.to_string().contains("Dataset::get"), "{error}");
    assert!(refused.load(Ordering::Relaxed) > 0);
    // Single samples may be read in a decoder, and loaders elsewhere go on.
    assert_eq!(parts(0).len(), 3);
    assert_eq!(batches(&shards.loader().build().unwrap(), 0).unwrap().concat().len(), 40);
}
