//! Measures epochs from files whose reads take milliseconds, with the kernel's readahead and with threads, beside the
//! bound of the threads.
//!
//!     slow_files [--samples 8000] [--bytes 110000] [--threads 64]
//!
//! Each read sleeps first, as if a file server answered late; the bytes come from the page cache.
#![allow(clippy::print_stdout, clippy::unwrap_used)]

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tarflume::{Identity, Loader, Open, Readahead, Result, Shuffle, Source, SourceKind};
use tarflume_formats::{Durability, Manifest, ShardWriter};

const SHARDS: u64 = 8;

#[derive(Debug, Clone)]
struct Sleeping(Duration);

impl Open for Sleeping {
    fn open(&self, path: &Path) -> Result<(Arc<dyn Source>, Identity)> {
        let (source, identity) = SourceKind::File.open(path)?;
        Ok((Arc::new(SleepingFile { source, latency: self.0 }), identity))
    }
}

#[derive(Debug)]
struct SleepingFile {
    source: Arc<dyn Source>,
    latency: Duration,
}

impl Source for SleepingFile {
    fn len(&self) -> u64 {
        self.source.len()
    }

    fn read_at(&self, at: u64, into: &mut [u8]) -> Result<()> {
        std::thread::sleep(self.latency);
        self.source.read_at(at, into)
    }

    fn check(&self) -> Result<()> {
        self.source.check()
    }
}

fn main() {
    fn number(given: &HashMap<&str, u64>, name: &str, usual: u64) -> u64 {
        given.get(name).copied().unwrap_or(usual)
    }

    let words: Vec<String> = std::env::args().skip(1).collect();
    let given: HashMap<&str, u64> = words
        .chunks(2)
        .map(|pair| (pair[0].trim_start_matches("--"), pair[1].parse().unwrap()))
        .collect();
    let samples = number(&given, "samples", 8_000);
    let bytes = number(&given, "bytes", 110_000);
    let threads = number(&given, "threads", 64) as usize;
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path(), samples, bytes);
    println!("latency_ms shuffle engine samples/s first_batch_ms bound share");
    for latency in [0, 5, 20, 50].map(Duration::from_millis) {
        let shuffles = [
            ("full", Shuffle::Full { seed: 1 }),
            ("blocks", Shuffle::Blocks { block: 64, window: 16, seed: 1 }),
        ];
        for (word, shuffle) in shuffles {
            let sleeping = Arc::new(Sleeping(latency));
            let ahead = Readahead::new(sleeping.clone()).threads(threads);
            let (alone, _) = measure(folder.path(), shuffle, sleeping);
            let (rate, first) = measure(folder.path(), shuffle, Arc::new(ahead));
            // Of `Full`, each sample is a read.
            let bound = threads as f64 / latency.as_secs_f64();
            let share = if word == "full" && bound.is_finite() { rate / bound } else { f64::NAN };
            let latency = latency.as_millis();
            println!("{latency} {word} pread {alone:.0} - - -");
            println!("{latency} {word} threads {rate:.0} {first:.0} {bound:.0} {share:.2}");
        }
    }
}

/// Samples a second behind the first batch, for at most five seconds, and the time to it in milliseconds.
fn measure(folder: &Path, shuffle: Shuffle, opener: Arc<dyn Open>) -> (f64, f64) {
    let begin = Instant::now();
    let loader = Loader::builder(folder)
        .opener(opener)
        .shuffle(shuffle)
        .bytes("bin")
        .batch(256)
        .prefetch(4)
        .threads(2)
        .build()
        .unwrap();
    let mut first = None;
    let mut count = 0;
    for batch in loader.epoch(0) {
        let rows = batch.unwrap().len();
        match first {
            None => first = Some(Instant::now()),
            Some(_) => count += rows,
        }
        if first.is_some_and(|first| first.elapsed() > Duration::from_secs(5)) {
            break;
        }
    }
    let first = first.unwrap();
    (count as f64 / first.elapsed().as_secs_f64(), (first - begin).as_secs_f64() * 1e3)
}

fn fill(folder: &Path, samples: u64, bytes: u64) {
    let mut entries = Vec::new();
    for number in 0..SHARDS {
        let name = format!("shard-{number:06}.tar");
        let mut shard = ShardWriter::create(folder, &name).unwrap();
        for ordinal in number * samples / SHARDS..(number + 1) * samples / SHARDS {
            shard.begin(format!("{ordinal:08}").as_bytes());
            shard.part(b"bin", bytes).unwrap().fill(ordinal as u8);
            shard.commit(None).unwrap();
        }
        let written = shard.finish().unwrap();
        entries.push(written.publish(folder, &name, Durability::Cached).unwrap());
    }
    let extensions = [("bin".to_string(), samples)].into();
    let manifest = Manifest::new("example", None, extensions, entries);
    std::fs::write(folder.join("dataset.json"), manifest.to_json()).unwrap();
}
