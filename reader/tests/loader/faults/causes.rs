//! Planted causes: their time is counted where they are, and on an idle machine the verdict names them.
//!
//! On a busy machine a thread that has no core looks like a slow stage, so what runs by default asserts only what is
//! so under any load: the least time that a planted sleep takes. The rules of the verdict are tested over given
//! measurements (`loader/metrics/bottleneck/tests.rs`). Verdicts from real clocks need an idle machine: `make idle`.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tarflume::{
    Bottleneck, DType, Decode, Identity, Loader, LoaderBuilder, Open, Result, Row, RowShape,
    Sample, Scratch, Shuffle, Source, SourceKind, StageStats, Stats,
};

use crate::loader::harness::Shards;

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

/// A loader, and how it is used.
#[derive(Debug, Clone, Copy)]
struct Cause {
    /// The verdict on an idle machine.
    verdict: Bottleneck,
    /// Plants the cause.
    plant: fn(LoaderBuilder) -> LoaderBuilder,
    /// Batches that are taken.
    batches: usize,
    /// The consumer's work on each of them.
    consumer: Duration,
}

impl Cause {
    /// The statistics of a loader with this cause after its batches, of epochs of `length` samples.
    fn stats(self, shards: &Shards, length: u64) -> Stats {
        let builder = Loader::builder(shards.path()).batch(4).threads(2).prefetch(8);
        let builder = builder.shuffle(Shuffle::Full { seed: 1 }).epoch_length(length);
        let loader = (self.plant)(builder).build().unwrap();
        for batch in loader.epoch(0).take(self.batches) {
            drop(batch.unwrap());
            std::thread::sleep(self.consumer);
        }
        loader.stats()
    }
}

/// The statistics after a whole epoch of 80 samples: no thread is still counting.
fn stats_of(cause: Cause) -> Stats {
    let cause = Cause { batches: usize::MAX, ..cause };
    cause.stats(&Shards::of(&[40, 40]), 80)
}

/// Asserts that each item of a stage took at least `least`: a thread never sleeps or works for less.
#[track_caller]
fn each_took(stage: &StageStats, least: Duration) {
    assert!(stage.items > 0 && stage.busy >= least * stage.items as u32, "{stage:?}");
}

const NOTHING: Duration = Duration::ZERO;

const SLOW_SOURCE: Cause = Cause {
    verdict: Bottleneck::Storage,
    plant: |builder| builder.bytes("bin").opener(Arc::new(Slowly(8 * MS))),
    batches: 16,
    consumer: NOTHING,
};
const HEAVY_DECODER: Cause = Cause {
    verdict: Bottleneck::Decode,
    plant: |builder| builder.column("x", Heavy(Work::Spin(3 * MS))),
    batches: 24,
    consumer: NOTHING,
};
const SLOW_FUNCTION: Cause = Cause {
    verdict: Bottleneck::Functions,
    plant: |builder| builder.column("x", Heavy(Work::Call(4 * MS))),
    batches: 24,
    consumer: NOTHING,
};
const SLOW_CONSUMER: Cause = Cause {
    verdict: Bottleneck::Consumer,
    plant: |builder| builder.bytes("bin"),
    batches: 14,
    consumer: Duration::from_millis(25),
};
const LITTLE_MEMORY: Cause = Cause {
    verdict: Bottleneck::Memory,
    plant: |builder| {
        let heavy = Heavy(Work::Sleep(8 * MS, 36 << 20));
        builder.column("x", heavy).batch(1).threads(6).memory_limit("256MiB".parse().unwrap())
    },
    batches: 48,
    consumer: NOTHING,
};
const LITTLE_PREFETCH: Cause = Cause {
    verdict: Bottleneck::Prefetch,
    plant: |builder| {
        builder.column("x", Heavy(Work::Sleep(8 * MS, 100))).batch(1).threads(4).prefetch(1)
    },
    batches: 24,
    consumer: NOTHING,
};

#[test]
fn the_time_of_a_slow_source_is_counted_as_reading() {
    let stats = stats_of(SLOW_SOURCE);
    each_took(stats.stage("read").unwrap(), 8 * MS);
}

#[test]
fn the_time_of_a_heavy_decoder_is_counted_as_decoding() {
    let stats = stats_of(HEAVY_DECODER);
    each_took(stats.stage("decode").unwrap(), 3 * MS);
    assert_eq!(stats.calls.count, 0);
}

#[test]
fn the_time_of_a_function_of_the_users_is_counted_as_decoding_and_by_itself() {
    let stats = stats_of(SLOW_FUNCTION);
    let decode = stats.stage("decode").unwrap();
    each_took(decode, 4 * MS);
    assert!(stats.calls.count == 80 && decode.busy >= stats.calls.time(), "{stats}");
    assert!(stats.calls.time() >= 4 * MS * stats.calls.count as u32, "{stats}");
}

#[test]
fn the_time_between_two_batches_is_the_consumers() {
    let stats = stats_of(SLOW_CONSUMER);
    let consumer = stats.stage("consumer").unwrap();
    // The work on the last batch has no end that the loader sees.
    assert!(consumer.busy >= 25 * MS * (consumer.items - 1) as u32, "{stats}");
}

#[test]
fn threads_without_room_for_a_batch_lack_memory_or_prefetch() {
    assert!(stats_of(LITTLE_MEMORY).idle.memory > NOTHING);
    assert!(stats_of(LITTLE_PREFETCH).idle.prefetch > NOTHING);
}

#[test]
#[ignore = "judges real clocks, which takes an idle machine: make idle"]
fn idle_verdicts_name_the_planted_cause() {
    let shards = Shards::of(&[40, 40]);
    for cause in
        [SLOW_SOURCE, HEAVY_DECODER, SLOW_FUNCTION, SLOW_CONSUMER, LITTLE_MEMORY, LITTLE_PREFETCH]
    {
        for run in 0..RUNS {
            let stats = cause.stats(&shards, 1 << 20);
            assert_eq!(stats.bottleneck(), cause.verdict, "run {run}:\n{stats}");
        }
    }
}

/// Asserts that ten runs of a loader without a slow stage name no stage.
fn is_innocent(loader: impl Fn() -> LoaderBuilder) {
    for run in 0..RUNS {
        let loader = loader().batch(16).threads(2).epoch_length(1 << 40).build().unwrap();
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
#[ignore = "judges real clocks, which takes an idle machine: make idle"]
fn idle_verdicts_name_no_stage_where_none_is_slow() {
    let shards = Shards::of(&[40, 40]);
    is_innocent(|| Loader::builder(shards.path()).bytes("bin"));
    // As `pack bench --raw` requests them: every part as it is stored, out of the page cache.
    let shards = Shards::of(&[]);
    shards.write(
        0,
        (0..60u8).map(|n| {
            (format!("{n:03}"), vec![("jpg", vec![n; 300_000]), ("json", b"{}".to_vec())])
        }),
    );
    is_innocent(|| Loader::builder(shards.path()).shuffle(Shuffle::Full { seed: 0 }));
}

#[test]
fn a_few_batches_are_too_few_to_judge() {
    let shards = Shards::of(&[40, 40]);
    let loader = shards.loader().column("x", Heavy(Work::Spin(3 * MS))).build().unwrap();
    loader.epoch(0).take(5).for_each(|batch| drop(batch.unwrap()));
    assert_eq!(loader.stats().bottleneck(), Bottleneck::Unknown);
    assert!(loader.stats().verdict().starts_with("Too little was measured"), "{}", loader.stats());
}
