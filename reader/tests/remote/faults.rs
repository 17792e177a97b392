//! Many epochs from a store with errors, cuts and flipped bytes: the rows and the ledger of the files, and every flip
//! is named.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tarflume::{Dataset, Ledger, LoaderBuilder, Shuffle, Size, Stats, Storage};
use tarflume_store::simulated::{Asked, Fault};

use super::{Set, flip_in, loader};

const EPOCHS: u64 = 20;

/// Of a thousand ranges, 50 are answered with 503 and 10 are cut; in nine answers of all epochs a byte is flipped.
fn weather(flips: Arc<AtomicU64>) -> impl FnMut(&Asked) -> Option<Fault> {
    let mut ranges = 0u64;
    let mut flip = flip_in((0..9).map(|n| n * 13), flips);
    move |asked| {
        asked.range?;
        ranges += 1;
        if let Some(fault) = flip(asked) {
            return Some(fault);
        }
        match ranges * 7919 % 1000 {
            0..50 => Some(Fault::Status(503, None)),
            50..60 => Some(Fault::Cut(700)),
            _ => None,
        }
    }
}

/// Ordinals with a sum of their bytes.
type Rows = Vec<(u64, u64)>;

/// The rows of all epochs, and the ledgers.
fn run(builder: LoaderBuilder) -> (Rows, Vec<Ledger>, Stats) {
    let loader = builder.build().unwrap();
    let mut rows = Vec::new();
    let mut ledgers = Vec::new();
    for epoch in 0..EPOCHS {
        for batch in loader.epoch(epoch) {
            let batch = batch.unwrap();
            let column = batch.column("bin").unwrap();
            for (row, ordinal) in batch.ordinals().enumerate() {
                let sum = column.row(row).iter().map(|byte| u64::from(*byte)).sum();
                rows.push((ordinal, sum));
            }
        }
        ledgers.push(loader.ledger());
    }
    let stats = loader.stats();
    assert_eq!(stats.reread as usize, stats.reread_texts.len());
    (rows, ledgers, stats)
}

#[test]
fn faults_of_every_kind_change_no_row_and_every_flip_is_named() {
    let set = Set::new();
    let shuffle = Shuffle::Full { seed: 9 };
    let files = run(loader(set.local(), shuffle));
    assert_eq!(files.2.reread, 0);
    let flips = Arc::new(AtomicU64::new(0));
    set.server.plan(weather(flips.clone()));
    let (rows, ledgers, stats) = run(loader(set.remote(), shuffle));
    assert!(rows == files.0 && ledgers == files.1);
    // Every epoch reads every sample, and no answer is thrown away.
    assert_eq!((flips.load(Ordering::SeqCst), stats.reread), (9, 9), "{stats}");
    let texts = &stats.reread_texts;
    assert!(texts.iter().all(|text| text.contains("s3://bucket/set/shard-")), "{texts:?}");
}

#[test]
fn a_cache_under_the_same_faults_gives_the_same() {
    fn open(storage: Storage) -> Dataset {
        Dataset::open_with("s3://bucket/set", &storage).unwrap()
    }

    let set = Set::new();
    let disk = tempfile::tempdir().unwrap();
    let shuffle = Shuffle::Full { seed: 9 };
    let files = run(loader(set.local(), shuffle));
    let cached = || set.storage().cache(Size::new(40 << 20)).cache_folder(disk.path());
    // Each of the three blocks arrives with a flipped byte first.
    let mut flipped = 0;
    set.server.plan(move |asked| {
        let (from, to) = asked.range?;
        flipped += 1;
        match flipped {
            1..=3 => Some(Fault::Flip(50_000.min((to - from) as usize / 2))),
            4..=6 => Some(Fault::Status(503, None)),
            7..=8 => Some(Fault::Cut(700)),
            _ => None,
        }
    });
    let (rows, ledgers, stats) = run(loader(open(cached()), shuffle));
    assert!(rows == files.0 && ledgers == files.1);
    let texts = &stats.reread_texts;
    assert!(!texts.is_empty() && texts.len() <= 6, "{texts:?}");
    set.server.take_asked();
    let (rows, ledgers, stats) = run(loader(open(cached()), shuffle));
    assert!(rows == files.0 && ledgers == files.1 && stats.reread == 0, "{stats}");
    let asked = set.server.take_asked();
    assert!(asked.iter().all(|asked| !asked.name.ends_with(".tar")), "{asked:?}");
}
