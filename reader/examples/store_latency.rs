//! Measures epochs from a simulated store whose answers are late and whose connections are slow, beside the
//! bounds of its latency and bandwidth.
//!
//!     store_latency [--samples 20000] [--bytes 16384] [--latency-ms 30] [--mb-per-s 50] [--threads 2]
//!         [--batch 256] [--prefetch 4] [--block 256] [--window 16] [--link-mb-per-s 0]
//!
//! All connections share the link, if its rate is given. The server is in this process and sends no bytes through sockets, so both sides share the processors.
#![allow(clippy::print_stdout, clippy::unwrap_used)]

use std::collections::HashMap;
use std::time::{Duration, Instant};

use tarflume::{Dataset, Loader, Shuffle, Storage};
use tarflume_formats::{Durability, Manifest, ShardWriter};
use tarflume_store::Store;
use tarflume_store::simulated::Server;

const SHARDS: u64 = 8;
/// Requests that the reader has under way at most.
const AT_ONCE: f64 = 256.0;

fn main() {
    fn number(given: &HashMap<&str, u64>, name: &str, usual: u64) -> u64 {
        given.get(name).copied().unwrap_or(usual)
    }

    let words: Vec<String> = std::env::args().skip(1).collect();
    let given: HashMap<&str, u64> = words
        .chunks(2)
        .map(|pair| (pair[0].trim_start_matches("--"), pair[1].parse().unwrap()))
        .collect();
    let samples = number(&given, "samples", 20_000);
    let bytes = number(&given, "bytes", 16_384);
    let latency = Duration::from_millis(number(&given, "latency-ms", 30));
    let rate = number(&given, "mb-per-s", 50) * 1_000_000;
    let link = number(&given, "link-mb-per-s", 0) * 1_000_000;
    let mut server = Server::new().with_delay(latency).with_rate(rate);
    if link > 0 {
        server = server.with_link(link);
    }
    let sidecars = tempfile::tempdir().unwrap();
    fill(&server, samples, bytes);
    println!("shuffle requests samples/s bound share first_batch_ms hedges at_once");
    let block = number(&given, "block", 256);
    let window = number(&given, "window", 16);
    let shuffles = [
        ("full", Shuffle::Full { seed: 0 }), // its first batch waits for the sidecars, too
        ("blocks", Shuffle::Blocks { block, window, seed: 1 }),
        ("full", Shuffle::Full { seed: 1 }),
    ];
    for (name, shuffle) in shuffles {
        let store = Store::open("s3://bucket/set", &server.options()).unwrap();
        let storage = Storage::new().store(store).sidecars(sidecars.path());
        let begin = Instant::now();
        let dataset = Dataset::open_with("s3://bucket/set", &storage).unwrap();
        let loader = Loader::from_dataset(dataset)
            .shuffle(shuffle)
            .bytes("bin")
            .batch(number(&given, "batch", 256))
            .prefetch(number(&given, "prefetch", 4) as usize)
            .threads(number(&given, "threads", 2) as usize)
            .build()
            .unwrap();
        let mut first = None;
        let mut count = 0;
        let mut begun = begin;
        for batch in loader.epoch(0) {
            let rows = batch.unwrap().len() as u64;
            match first {
                None => {
                    first = Some(begin.elapsed());
                    begun = Instant::now();
                }
                Some(_) => count += rows,
            }
        }
        let seconds = begun.elapsed().as_secs_f64();
        let fetch = loader.stats().fetch.unwrap();
        let speed = count as f64 / seconds;
        // A request takes its latency and the time of its bytes on one connection.
        let a_request =
            (fetch.bytes as f64 / fetch.requests as f64) / rate as f64 + latency.as_secs_f64();
        let per_request = samples as f64 / fetch.requests as f64;
        let mut bound = AT_ONCE / a_request * per_request;
        if link > 0 {
            bound = bound.min(link as f64 * samples as f64 / fetch.bytes as f64);
        }
        let first = first.unwrap().as_millis();
        let requests = fetch.requests;
        let hedges = fetch.hedges;
        let most = server.most_at_once();
        let share = speed / bound;
        println!("{name} {requests} {speed:.0} {bound:.0} {share:.2} {first} {hedges} {most}");
    }
}

/// Fills the server with a data set of `samples` samples of `bytes` bytes.
fn fill(server: &Server, samples: u64, bytes: u64) {
    let folder = tempfile::tempdir().unwrap();
    let mut entries = Vec::new();
    let each = samples / SHARDS;
    for number in 0..SHARDS {
        let name = format!("shard-{number:06}.tar");
        let mut shard = ShardWriter::create(folder.path(), &name).unwrap();
        for ordinal in number * each..(number + 1) * each {
            shard.begin(format!("{ordinal:08}").as_bytes());
            shard.part(b"bin", bytes).unwrap().fill(ordinal as u8);
            shard.commit(None).unwrap();
        }
        let written = shard.finish().unwrap();
        entries.push(written.publish(folder.path(), &name, Durability::Cached).unwrap());
    }
    let extensions = [("bin".to_string(), each * SHARDS)].into();
    let manifest = Manifest::new("example", None, extensions, entries);
    std::fs::write(folder.path().join("dataset.json"), manifest.to_json()).unwrap();
    for entry in std::fs::read_dir(folder.path()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_string();
        server.set(&format!("set/{name}"), std::fs::read(path).unwrap());
    }
}
