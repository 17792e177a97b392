//! The bottleneck verdict under planted causes, ten runs each: the same verdict every time.
//!
//! Causes are sleeps and loops of milliseconds, so that a loaded machine of two cores gives the same verdict.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tarflume::{
    Bottleneck, DType, Decode, Identity, Loader, LoaderBuilder, Open, Result, Row, RowShape,
    Sample, Scratch, Shuffle, Source, SourceKind,
};

use crate::harness::Shards;

const RUNS: usize = 10;
const MS: Duration = Duration::from_millis(1);

/// A storage that takes its time.
#[derive(Debug)]
struct Slow(Arc<dyn Source>, Duration);

impl Source for Slow {
    fn len(&self) -> u64 {
        self.0.len()
    }

    fn read_at(&self, at: u64, into: &mut [u8]) -> Result<()> {
        std::thread::sleep(self.1);
        self.0.read_at(at, into)
    }
}

#[derive(Debug)]
struct Slowly(Duration);

impl Open for Slowly {
    fn open(&self, path: &Path) -> Result<(Arc<dyn Source>, Identity)> {
        let (source, identity) = SourceKind::File.open(path)?;
        Ok((Arc::new(Slow(source, self.0)), identity))
    }
}

/// What a column does with a sample.
enum Work {
    /// Computes for so long.
    Spin(Duration),
    /// Has a function of the user's sleep for so long.
    Call(Duration),
    /// Sleeps for so long; a row may take so many bytes.
    Sleep(Duration, u64),
}

struct Heavy(Work);

impl Decode for Heavy {
    fn parts(&self) -> Vec<String> {
        vec!["txt".into()]
    }

    fn shape(&self) -> RowShape {
        RowShape::Variable(DType::U8)
    }

    fn room(&self, lengths: &[u64]) -> u64 {
        if let Work::Sleep(_, room) = self.0 { room } else { lengths.iter().sum() }
    }

    fn decode(&self, sample: &Sample<'_>, mut row: Row<'_>, scratch: &mut Scratch) -> Result<()> {
        match self.0 {
            Work::Spin(time) => {
                let begun = Instant::now();
                while begun.elapsed() < time {
                    std::hint::spin_loop();
                }
            }
            Work::Call(time) => {
                let begun = Instant::now();
                std::thread::sleep(time);
                scratch.called(Duration::ZERO, begun.elapsed());
            }
            Work::Sleep(time, _) => std::thread::sleep(time),
        }
        row.put(sample.part(0))
    }
}

/// The verdicts of ten loaders: each gives `batches` batches to a consumer that works for `consumer` on each.
#[track_caller]
fn always(
    wanted: &[Bottleneck],
    loader: impl Fn(LoaderBuilder) -> LoaderBuilder,
    (batches, consumer): (usize, Duration),
) {
    let shards = Shards::of(&[40, 40]);
    for run in 0..RUNS {
        let builder = Loader::builder(shards.path()).batch(4).threads(2).prefetch(8);
        let loader = loader(builder.shuffle(Shuffle::Full { seed: 1 }).epoch_length(1 << 20));
        let loader = loader.build().unwrap();
        for batch in loader.epoch(0).take(batches) {
            drop(batch.unwrap());
            std::thread::sleep(consumer);
        }
        let stats = loader.stats();
        assert!(wanted.contains(&stats.bottleneck()), "run {run}: {wanted:?}, but\n{stats}");
    }
}

const NOTHING: Duration = Duration::ZERO;

#[test]
fn a_slow_source_is_storage() {
    let loader = |builder: LoaderBuilder| builder.bytes("bin").opener(Arc::new(Slowly(8 * MS)));
    always(&[Bottleneck::Storage], loader, (16, NOTHING));
}

#[test]
fn a_heavy_decoder_is_decoding() {
    let loader = |builder: LoaderBuilder| builder.column("x", Heavy(Work::Spin(3 * MS)));
    always(&[Bottleneck::Decode], loader, (24, NOTHING));
}

#[test]
fn a_function_of_the_users_is_named() {
    let loader = |builder: LoaderBuilder| builder.column("x", Heavy(Work::Call(4 * MS)));
    always(&[Bottleneck::Functions], loader, (24, NOTHING));
}

#[test]
fn a_slow_consumer_is_the_consumer() {
    always(&[Bottleneck::Consumer], |builder| builder.bytes("bin"), (14, 25 * MS));
}

#[test]
fn a_limit_of_two_batches_makes_memory_the_bottleneck() {
    let loader = |builder: LoaderBuilder| {
        let heavy = Heavy(Work::Sleep(8 * MS, 36 << 20));
        builder.column("x", heavy).batch(1).threads(6).memory_limit("256MiB".parse().unwrap())
    };
    always(&[Bottleneck::Memory], loader, (48, NOTHING));
}

#[test]
fn one_batch_in_preparation_is_prefetch() {
    let loader = |builder: LoaderBuilder| {
        builder.column("x", Heavy(Work::Sleep(8 * MS, 100))).batch(1).threads(4).prefetch(1)
    };
    always(&[Bottleneck::Prefetch], loader, (24, NOTHING));
}

#[test]
fn without_a_slow_stage_the_verdict_is_balanced() {
    let shards = Shards::of(&[40, 40]);
    for run in 0..RUNS {
        let loader = Loader::builder(shards.path()).bytes("bin").batch(16).threads(2);
        let loader = loader.epoch_length(1 << 40).build().unwrap();
        let begun = Instant::now();
        let mut epoch = loader.epoch(0);
        let mut taken = 0;
        while taken < 50 || begun.elapsed() < 200 * MS {
            drop(epoch.next().unwrap().unwrap());
            taken += 1;
        }
        let stats = loader.stats();
        let innocent = [Bottleneck::Loader, Bottleneck::Unknown];
        assert!(innocent.contains(&stats.bottleneck()), "run {run}:\n{stats}");
    }
}

#[test]
fn bytes_out_of_the_page_cache_are_neither_storage_nor_decoding() {
    // As `pack bench --raw` requests them: every part as it is stored.
    let shards = Shards::of(&[]);
    let photo =
        |n: u8| (format!("{n:03}"), vec![("jpg", vec![n; 300_000]), ("json", b"{}".to_vec())]);
    shards.write(0, (0..60).map(photo));
    for run in 0..RUNS {
        let loader = Loader::builder(shards.path()).batch(16).threads(2);
        let loader =
            loader.shuffle(Shuffle::Full { seed: 0 }).epoch_length(1 << 40).build().unwrap();
        let begun = Instant::now();
        let mut epoch = loader.epoch(0);
        let mut taken = 0;
        while taken < 30 || begun.elapsed() < 200 * MS {
            drop(epoch.next().unwrap().unwrap());
            taken += 1;
        }
        let stats = loader.stats();
        let innocent = [Bottleneck::Loader, Bottleneck::Unknown];
        assert!(innocent.contains(&stats.bottleneck()), "run {run}:\n{stats}");
    }
}

#[test]
fn a_few_batches_are_too_few_to_judge() {
    let shards = Shards::of(&[40, 40]);
    let loader = shards.loader().column("x", Heavy(Work::Spin(3 * MS))).build().unwrap();
    loader.epoch(0).take(5).for_each(|batch| drop(batch.unwrap()));
    assert_eq!(loader.stats().bottleneck(), Bottleneck::Unknown);
    assert!(loader.stats().verdict().starts_with("Too little was measured"), "{}", loader.stats());
}
