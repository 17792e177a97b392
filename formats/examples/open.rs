//! Makes a data set of any number of samples and times its opening and lookups.
//!
//! `open make DIR SHARDS SAMPLES` writes sidecars and manifest; the tars are holes of the right
//! length, because opening reads no tar. `open time DIR` prints one KEY=VALUE per line. Private
//! memory is measured while a second process (`open hold DIR`) has the same data set open: pages of
//! the mapped sidecars that both use are shared, and only the private ones count.
#![expect(clippy::print_stdout, reason = "a program that prints its measurements")]

use std::collections::BTreeMap;
use std::error::Error;
use std::fs::{self, File};
use std::hint::black_box;
use std::io::{BufRead, BufReader, Write, stdin, stdout};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use tarflume_formats::index::{IndexBuilder, TarFacts};
use tarflume_formats::manifest::{FILE_NAME, Manifest, ShardEntry};
use tarflume_formats::{Dataset, index_path};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const ROUNDS: usize = 21;
const LOOKUPS: u64 = 200_000;

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["make", dir, shards, samples] => make(Path::new(dir), shards.parse()?, samples.parse()?),
        ["time", dir] => time(Path::new(dir)),
        ["hold", dir] => hold(Path::new(dir)),
        _ => Err("usage: open make DIR SHARDS SAMPLES | time DIR | hold DIR".into()),
    }
}

fn make(dir: &Path, shards: u64, samples: u64) -> Result<()> {
    fs::create_dir_all(dir)?;
    let mut entries = Vec::new();
    for shard in 0..shards {
        let rows = shard * samples / shards..(shard + 1) * samples / shards;
        entries.push(make_shard(dir, shard, rows)?);
    }
    let extensions = BTreeMap::from([("jpg".into(), samples), ("json".into(), samples)]);
    let manifest = Manifest::new("open", None, extensions, entries);
    fs::write(dir.join(FILE_NAME), manifest.to_json())?;
    Ok(())
}

fn make_shard(dir: &Path, shard: u64, rows: std::ops::Range<u64>) -> Result<ShardEntry> {
    let name = format!("shard-{shard:06}.tar");
    let mut index = IndexBuilder::new();
    let mut end = 0;
    for n in rows.clone() {
        index.sample(key(n).as_bytes(), end);
        let random = mixed(n);
        for (ext, length) in [("jpg", 20_000 + random % 180_000), ("json", 150 + random % 300)] {
            index.part(ext.as_bytes(), end + 512, length, Some(random as u32))?;
            end += 512 + length.next_multiple_of(512);
        }
        index.dimensions(500, 375);
    }
    let facts = TarFacts { length: end + 1024, digest: Some(blake3::hash(name.as_bytes())) };
    let bytes = index.encode(&facts)?;
    let tar = dir.join(&name);
    File::create(&tar)?.set_len(facts.length)?;
    fs::write(index_path(&tar), &bytes)?;
    Ok(ShardEntry {
        name,
        split: None,
        samples: rows.end - rows.start,
        bytes: facts.length,
        blake3: facts.digest.map(|d| d.to_hex().to_string()),
        index_bytes: bytes.len() as u64,
        index_blake3: blake3::hash(&bytes).to_hex().to_string(),
    })
}

/// As in ImageNet: one folder per class, sorted.
fn key(n: u64) -> String {
    let class = n / 1300;
    format!("n{:08}/n{:08}_{n:08}", 1_440_764 + class * 2_011, 1_440_764 + class * 2_011)
}

fn time(dir: &Path) -> Result<()> {
    let neighbor = Neighbor::start(dir)?;
    let before = Memory::now()?;
    let start = Instant::now();
    let dataset = Dataset::open(dir)?;
    let first = start.elapsed().as_secs_f64() * 1e3;
    let opened = Memory::now()?;
    neighbor.stop()?;

    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let start = Instant::now();
        black_box(Dataset::open(dir)?);
        times.push(start.elapsed().as_secs_f64() * 1e3);
    }
    times.sort_by(f64::total_cmp);

    let samples = dataset.samples();
    let ordinal = |i: u64| mixed(i) % samples;
    // Visit all shards once first: a lookup is timed, not the first touch of a page.
    for pass in 0..2 {
        let mut seen = vec![false; dataset.manifest().shards.len()];
        let start = Instant::now();
        for i in 0..LOOKUPS {
            let (shard, row) = dataset.place(ordinal(i)).ok_or("no such ordinal")?;
            seen[shard] = true;
            let sample = dataset.index(shard).ok_or("no such shard")?.sample(row)?;
            black_box(sample);
        }
        if pass == 1 {
            println!("lookup_row_ns={:.0}", start.elapsed().as_secs_f64() * 1e9 / LOOKUPS as f64);
            if LOOKUPS > 50 * seen.len() as u64 && seen.contains(&false) {
                return Err("some shards were never touched".into());
            }
        }
    }
    let lookups = LOOKUPS / 10;
    let keys: Vec<String> = (0..lookups).map(|i| key(ordinal(i))).collect();
    for pass in 0..2 {
        let start = Instant::now();
        for (i, key) in keys.iter().enumerate() {
            let found = dataset.find(key.as_bytes())?;
            if found != dataset.place(ordinal(i as u64)) {
                return Err(format!("{key} was found at {found:?}").into());
            }
        }
        if pass == 1 {
            println!("lookup_key_ns={:.0}", start.elapsed().as_secs_f64() * 1e9 / lookups as f64);
        }
    }
    println!("samples={samples}");
    println!("open_ms={:.2}", times[ROUNDS / 2]);
    println!("open_first_ms={first:.2}");
    println!("private_kb={}", opened.private.saturating_sub(before.private));
    println!("anonymous_kb={}", opened.anonymous.saturating_sub(before.anonymous));
    println!("shared_kb={}", opened.shared.saturating_sub(before.shared));
    Ok(())
}

/// Opens the data set, reports it, and keeps it open until its input ends.
fn hold(dir: &Path) -> Result<()> {
    let dataset = Dataset::open(dir)?;
    println!("{}", dataset.samples());
    stdout().flush()?;
    let mut line = String::new();
    stdin().read_line(&mut line)?;
    Ok(())
}

/// Starts another process that has the data set open.
struct Neighbor(Child);

impl Neighbor {
    fn start(dir: &Path) -> Result<Neighbor> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("hold").arg(dir).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn()?;
        let out = child.stdout.take().ok_or("no output")?;
        let mut line = String::new();
        BufReader::new(out).read_line(&mut line)?;
        Ok(Neighbor(child))
    }

    fn stop(mut self) -> Result<()> {
        drop(self.0.stdin.take());
        self.0.wait()?;
        Ok(())
    }
}

/// Returns a memory figure of this process in kilobytes.
struct Memory {
    private: u64,
    shared: u64,
    anonymous: u64,
}

impl Memory {
    fn now() -> Result<Memory> {
        fn sum(text: &str, prefix: &str) -> u64 {
            let lines = text.lines().filter(|line| line.starts_with(prefix));
            lines.filter_map(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok()).sum()
        }

        let text = fs::read_to_string("/proc/self/smaps_rollup")?;
        Ok(Memory {
            private: sum(&text, "Private_Clean:") + sum(&text, "Private_Dirty:"),
            shared: sum(&text, "Shared_Clean:") + sum(&text, "Shared_Dirty:"),
            anonymous: sum(&text, "Anonymous:"),
        })
    }
}

/// splitmix64.
fn mixed(n: u64) -> u64 {
    let n = (n + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let n = (n ^ n >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let n = (n ^ n >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ n >> 31
}
