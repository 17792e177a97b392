//! Measures loaders of random crops that read excerpts of JPEGs, beside the same photographs without checksums of
//! strips, from files and from a simulated store.
//!
//!     excerpts WHOLE EXCERPTS [--rounds 5] [--latency-ms 30] [--mb-per-s 50] [--link-mb-per-s 50] [--threads 2]
//!
//! WHOLE and EXCERPTS are data sets of the same photographs; the sidecars of the second have checksums of strips. The
//! server is in this process and sends no bytes through sockets, so both sides share the processors.
#![allow(clippy::print_stdout, clippy::unwrap_used)]

use std::collections::HashMap;
use std::path::Path;
use std::time::{Duration, Instant};

use tarflume::{Dataset, Image, Loader, RandomResizedCrop, Shuffle, Size, Storage};
use tarflume_store::Store;
use tarflume_store::simulated::Server;

const SHUFFLES: [(&str, Shuffle); 2] = [
    ("full", Shuffle::Full { seed: 1 }),
    ("blocks of 64, window 16", Shuffle::Blocks { block: 64, window: 16, seed: 1 }),
];

/// One epoch.
struct Epoch {
    images_per_second: f64,
    /// CPU time of an image.
    cpu: Duration,
    /// Bytes that were read.
    bytes: u64,
}

fn main() {
    fn number(given: &HashMap<&str, u64>, name: &str, usual: u64) -> u64 {
        given.get(name).copied().unwrap_or(usual)
    }

    let words: Vec<String> = std::env::args().skip(1).collect();
    let [whole, excerpts, options @ ..] = &words[..] else {
        panic!("usage: excerpts WHOLE EXCERPTS [--NAME NUMBER]...");
    };
    let given: HashMap<&str, u64> = options
        .chunks(2)
        .map(|pair| (pair[0].trim_start_matches("--"), pair[1].parse().unwrap()))
        .collect();
    let threads = number(&given, "threads", 2) as usize;
    let sets = [("whole", whole), ("excerpts", excerpts)];
    println!("source, shuffle, sidecars: images/s, CPU us an image, MB; medians");
    for (name, shuffle) in SHUFFLES {
        let mut runs = [Vec::new(), Vec::new()];
        for _ in 0..number(&given, "rounds", 5) {
            for (run, (_, folder)) in runs.iter_mut().zip(sets) {
                run.push(epoch(&Dataset::open(Path::new(folder)).unwrap(), shuffle, threads));
            }
        }
        for (run, (set, _)) in runs.iter_mut().zip(sets) {
            run.sort_by(|a, b| a.images_per_second.total_cmp(&b.images_per_second));
            let Epoch { images_per_second, cpu, bytes } = &run[run.len() / 2];
            let cpu = cpu.as_micros();
            let mb = *bytes as f64 / 1e6;
            println!("files, {name}, {set}: {images_per_second:.0}, {cpu}, {mb:.0}");
        }
    }
    let latency = Duration::from_millis(number(&given, "latency-ms", 30));
    let rate = number(&given, "mb-per-s", 50) * 1_000_000;
    let link = number(&given, "link-mb-per-s", 50) * 1_000_000;
    println!("store, shuffle, sidecars, hole: images/s, requests, MB");
    for (name, shuffle) in SHUFFLES {
        for (set, folder) in sets {
            let server = Server::new().with_delay(latency).with_rate(rate).with_link(link);
            fill(&server, Path::new(folder));
            let sidecars = tempfile::tempdir().unwrap();
            let holes: &[u64] = if set == "whole" { &[128 << 10] } else { &[128 << 10, 8 << 10] };
            for &hole in holes {
                let store = Store::open("s3://bucket/set", &server.options()).unwrap();
                let storage = Storage::new().store(store).sidecars(sidecars.path());
                let storage = storage.hole(Size::new(hole));
                let dataset = Dataset::open_with("s3://bucket/set", &storage).unwrap();
                epoch(&dataset, shuffle, threads); // the sidecars come with the first epoch
                let before = dataset.fetch_stats().unwrap();
                let Epoch { images_per_second, .. } = epoch(&dataset, shuffle, threads);
                let after = dataset.fetch_stats().unwrap();
                let requests = after.requests - before.requests;
                let mb = (after.bytes - before.bytes) as f64 / 1e6;
                let kib = hole >> 10;
                println!(
                    "store, {name}, {set}, {kib} KiB: {images_per_second:.0}, {requests}, {mb:.0}"
                );
            }
        }
    }
}

fn epoch(dataset: &Dataset, shuffle: Shuffle, threads: usize) -> Epoch {
    let image = Image::new("jpg", RandomResizedCrop::new(224).flip(0.5));
    let loader = Loader::from_dataset(dataset.clone()).shuffle(shuffle).column("image", image);
    let loader = loader.batch(256).prefetch(4).threads(threads).build().unwrap();
    let begin = Instant::now();
    let before = cpu();
    let mut images = 0;
    for batch in loader.epoch(0) {
        images += batch.unwrap().len() as u32;
    }
    let images_per_second = f64::from(images) / begin.elapsed().as_secs_f64();
    let stats = loader.stats();
    let read = stats.stages.iter().find(|stage| stage.name == "read").unwrap();
    Epoch { images_per_second, cpu: (cpu() - before) / images, bytes: read.bytes }
}

/// CPU time of this process; a tick of Linux is 10 ms.
fn cpu() -> Duration {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields = text.rsplit(')').next().unwrap().split_whitespace();
    let ticks: u64 = fields.skip(11).take(2).map(|ticks| ticks.parse::<u64>().unwrap()).sum();
    Duration::from_millis(10 * ticks)
}

/// Fills the server with a data set.
fn fill(server: &Server, folder: &Path) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let path = entry.path();
        let name = entry.file_name().into_string().unwrap();
        if entry.file_type().unwrap().is_file() {
            server.set(&format!("set/{name}"), std::fs::read(path).unwrap());
        }
    }
}
