//! `Readahead`: files of a slow server are read by many threads, with the same rows, errors and checks.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use tarflume::{
    Error, ErrorKind, Identity, Loader, LoaderBuilder, OnBad, Open, Readahead, Result, Shuffle,
    Size, Source, SourceKind,
};
use tarflume_formats::{Durability, Manifest, ShardWriter};

use crate::patience::{PATIENCE, ends, until};

const SHARDS: u64 = 3;
const SAMPLES: u64 = 200;

/// Counts reads, and what happens to them.
#[derive(Debug, Default)]
struct Counts {
    under_way: AtomicUsize,
    most: AtomicUsize,
    reads: AtomicUsize,
    failing: AtomicBool,
    opened: AtomicUsize,
}

/// Holds reads up until so many are under way at the same time.
#[derive(Debug, Default)]
struct Gate {
    least: Mutex<usize>,
    changed: Condvar,
}

impl Gate {
    /// With fewer reads at the same time nothing is ever answered.
    fn until(&self, least: usize) {
        *self.least.lock().unwrap() = least;
        self.changed.notify_all();
    }

    /// Waits in a read, of which there are now so many.
    fn pass(&self, under_way: usize) {
        let mut least = self.least.lock().unwrap();
        if under_way >= *least {
            *least = 0;
            self.changed.notify_all();
        }
        let waited = self
            .changed
            .wait_timeout_while(least, PATIENCE, |least: &mut usize| *least > 0)
            .unwrap();
        assert!(!waited.1.timed_out(), "{under_way} reads are under way, and no more");
    }
}

/// A file server that takes its time.
#[derive(Debug, Clone)]
struct Slow {
    latency: Duration,
    counts: Arc<Counts>,
    gate: Arc<Gate>,
}

impl Slow {
    fn new(milliseconds: u64) -> Slow {
        let latency = Duration::from_millis(milliseconds);
        Slow { latency, counts: Arc::default(), gate: Arc::default() }
    }
}

impl Open for Slow {
    fn open(&self, path: &Path) -> Result<(Arc<dyn Source>, Identity)> {
        let (source, identity) = SourceKind::File.open(path)?;
        self.counts.opened.fetch_add(1, Ordering::Relaxed);
        Ok((Arc::new(SlowFile { source, slow: self.clone() }), identity))
    }
}

#[derive(Debug)]
struct SlowFile {
    source: Arc<dyn Source>,
    slow: Slow,
}

impl Source for SlowFile {
    fn len(&self) -> u64 {
        self.source.len()
    }

    fn read_at(&self, at: u64, into: &mut [u8]) -> Result<()> {
        let counts = &self.slow.counts;
        counts.reads.fetch_add(1, Ordering::Relaxed);
        let now = counts.under_way.fetch_add(1, Ordering::SeqCst) + 1;
        counts.most.fetch_max(now, Ordering::SeqCst);
        self.slow.gate.pass(now);
        std::thread::sleep(self.slow.latency);
        counts.under_way.fetch_sub(1, Ordering::SeqCst);
        if counts.failing.load(Ordering::Relaxed) {
            return Err(Error::new(ErrorKind::Machine, "the file server is gone"));
        }
        self.source.read_at(at, into)
    }

    fn check(&self) -> Result<()> {
        self.source.check()
    }
}

fn set(folder: &Path) {
    let mut entries = Vec::new();
    for number in 0..SHARDS {
        let name = format!("shard-{number:06}.tar");
        let mut shard = ShardWriter::create(folder, &name).unwrap();
        for ordinal in number * SAMPLES..(number + 1) * SAMPLES {
            shard.begin(format!("{ordinal:06}").as_bytes());
            let length = 3000 + ordinal * 37 % 900;
            let bytes: Vec<u8> = (0..length).map(|n| (n * 7 + ordinal) as u8).collect();
            shard.part(b"bin", length).unwrap().copy_from_slice(&bytes);
            shard.commit(None).unwrap();
        }
        let written = shard.finish().unwrap();
        entries.push(written.publish(folder, &name, Durability::Cached).unwrap());
    }
    let extensions = [("bin".to_string(), SHARDS * SAMPLES)].into();
    let manifest = Manifest::new("test", None, extensions, entries);
    std::fs::write(folder.join("dataset.json"), manifest.to_json()).unwrap();
}

fn loader(folder: &Path, shuffle: Shuffle) -> LoaderBuilder {
    Loader::builder(folder).shuffle(shuffle).bytes("bin").batch(16).threads(2).prefetch(4)
}

/// Ordinals and bytes of two epochs, and the ledger.
fn epochs(builder: LoaderBuilder) -> (Vec<(u64, Vec<u8>)>, tarflume::Ledger) {
    let loader = builder.build().unwrap();
    let mut rows = Vec::new();
    for epoch in 0..2 {
        for batch in loader.epoch(epoch) {
            let batch = batch.unwrap();
            let column = batch.column("bin").unwrap();
            let found = batch.ordinals().enumerate();
            rows.extend(found.map(|(row, ordinal)| (ordinal, column.row(row).to_vec())));
        }
    }
    (rows, loader.ledger())
}

#[test]
fn many_reads_are_under_way_and_the_rows_are_the_same() {
    let folder = tempfile::tempdir().unwrap();
    set(folder.path());
    for (shuffle, least) in [
        (Shuffle::Full { seed: 1 }, 16),
        (Shuffle::Blocks { block: 16, window: 4, seed: 1 }, 2),
        (Shuffle::None, 2),
    ] {
        let files = epochs(loader(folder.path(), shuffle));
        let slow = Slow::new(0);
        slow.gate.until(least);
        let counts = slow.counts.clone();
        let ahead = Arc::new(Readahead::new(Arc::new(slow)));
        assert_eq!(epochs(loader(folder.path(), shuffle).opener(ahead)), files, "{shuffle:?}");
        let most = counts.most.load(Ordering::SeqCst);
        assert!((least..=66).contains(&most), "{shuffle:?}: {most} reads under way");
        // What is read ahead is not read again.
        let reads = counts.reads.load(Ordering::Relaxed) as u64;
        assert!(reads <= 2 * SHARDS * SAMPLES + 20, "{shuffle:?}: {reads} reads");
    }
}

#[test]
fn the_word_for_it_reads_files() {
    let folder = tempfile::tempdir().unwrap();
    set(folder.path());
    for shuffle in [Shuffle::Full { seed: 1 }, Shuffle::Shards { seed: 1 }] {
        let files = epochs(loader(folder.path(), shuffle));
        assert_eq!(epochs(loader(folder.path(), shuffle).source(SourceKind::Threads)), files);
    }
}

#[test]
fn threads_and_budget_are_limits() {
    let folder = tempfile::tempdir().unwrap();
    set(folder.path());
    let shuffle = Shuffle::Full { seed: 1 };
    let files = epochs(loader(folder.path(), shuffle));
    let slow = Slow::new(2);
    let counts = slow.counts.clone();
    let ahead = Readahead::new(Arc::new(slow)).threads(3);
    assert_eq!(epochs(loader(folder.path(), shuffle).opener(Arc::new(ahead))), files);
    // Three, and those of the two threads that decode.
    assert!(counts.most.load(Ordering::SeqCst) <= 5);
    let tiny = Readahead::new(Arc::new(Slow::new(0))).budget(Size::new(10_000)).threads(0);
    assert_eq!(epochs(loader(folder.path(), shuffle).opener(Arc::new(tiny))), files);
}

#[test]
fn an_error_of_the_server_is_one_of_the_machine() {
    let folder = tempfile::tempdir().unwrap();
    set(folder.path());
    let slow = Slow::new(1);
    let counts = slow.counts.clone();
    let ahead = Arc::new(Readahead::new(Arc::new(slow)));
    let built = loader(folder.path(), Shuffle::Full { seed: 1 }).opener(ahead).on_bad(OnBad::Skip);
    let loader = built.build().unwrap();
    let mut epoch = loader.epoch(0);
    epoch.next().unwrap().unwrap();
    counts.failing.store(true, Ordering::Relaxed);
    let error = epoch.find_map(Result::err).expect("an error");
    assert!(error.is_machine(), "{error}");
    drop(epoch);
    counts.failing.store(false, Ordering::Relaxed);
    assert!(loader.epoch(0).all(|batch| batch.is_ok()), "it goes on");
}

#[test]
fn a_shard_that_is_replaced_gives_no_mixture() {
    let folder = tempfile::tempdir().unwrap();
    set(folder.path());
    let expected = epochs(loader(folder.path(), Shuffle::Full { seed: 1 })).0;
    let ahead = Arc::new(Readahead::new(Arc::new(Slow::new(1))));
    let built = loader(folder.path(), Shuffle::Full { seed: 1 }).opener(ahead).build().unwrap();
    let mut row = 0;
    for (number, batch) in built.epoch(0).enumerate() {
        if number == 2 {
            replace_shards(folder.path());
        }
        // A file that is open keeps its bytes; one that is opened again is noticed.
        let Ok(batch) = batch.inspect_err(|e| assert_eq!(e.kind(), ErrorKind::Stale, "{e}")) else {
            return;
        };
        let column = batch.column("bin").unwrap();
        for at in 0..batch.len() {
            assert!(column.row(at) == expected[row].1, "row {row}");
            row += 1;
        }
    }
}

fn replace_shards(folder: &Path) {
    for number in 0..SHARDS {
        let path = folder.join(format!("shard-{number:06}.tar"));
        let bytes: Vec<u8> = std::fs::read(&path).unwrap().iter().map(|byte| byte ^ 1).collect();
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, bytes).unwrap();
    }
}

#[test]
fn a_loader_that_is_dropped_begins_no_further_reads() {
    let folder = tempfile::tempdir().unwrap();
    set(folder.path());
    let slow = Slow::new(0);
    let counts = slow.counts.clone();
    let gate = slow.gate.clone();
    let ahead = Arc::new(Readahead::new(Arc::new(slow)));
    let built = loader(folder.path(), Shuffle::Full { seed: 1 }).opener(ahead).build().unwrap();
    let mut epoch = built.epoch(0);
    epoch.next().unwrap().unwrap();
    // From now on the server answers nothing.
    gate.until(usize::MAX);
    until("a read that is not answered", || counts.under_way.load(Ordering::SeqCst) > 0);
    let dropping = std::thread::spawn(move || drop((epoch, built)));
    gate.until(0);
    ends("dropping a loader", move || dropping.join().unwrap());
    // The reads that were under way end by themselves, and no further ones begin: nothing has a file any more.
    until("all files are closed", || Arc::strong_count(&counts) == 1);
    assert!((counts.reads.load(Ordering::Relaxed) as u64) < SHARDS * SAMPLES);
}
