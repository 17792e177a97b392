//! Measures how shards are best read: `pread` or a memory map, with hints or without, how wide a gap
//! is worth reading over, and what checksums cost.
//!
//! `sources make DIR MIB` writes shards of samples with parts of 110 kB and 60 bytes, random bytes;
//! `sources time DIR ROUNDS` prints tables; `sources open NAME` times the opening of any data set. Every case reads the same bytes and adds them up, so that
//! a map's pages are touched. Cold means that the shards' pages were given back to the system
//! (`POSIX_FADV_DONTNEED`) before the case; rounds are interleaved, the median is printed.
#![allow(clippy::print_stdout, clippy::print_stderr)]
#![expect(clippy::print_stdout, reason = "a program that prints its measurements")]

use std::collections::BTreeMap;
use std::error::Error;
use std::fs::{self, File};
use std::hint::black_box;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use rustix::fs::{Advice, fadvise};
use tarflume::internal::{Limits, PartNeeds, ReadPlan, RowDraw, RunBytes};
use tarflume::{Dataset, Identity, Open, Source, SourceKind, Verify};
use tarflume_formats::manifest::{FILE_NAME, Manifest};
use tarflume_formats::{Access, Durability, Mapped, ShardWriter, crc32c};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const JPG: u64 = 110_000;
const SAMPLES: u64 = 2000; // a shard: 221 MB
const RUN: u64 = 1 << 20;
/// Reads by which hints run ahead.
const AHEAD: usize = 8;

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["make", dir, mib] => make(Path::new(dir), mib.parse()?),
        ["time", dir, rounds] => time(Path::new(dir), rounds.parse()?),
        ["open", name] => open(name),
        _ => Err("usage: sources make DIR MIB | time DIR ROUNDS | open NAME".into()),
    }
}

fn make(dir: &Path, mib: u64) -> Result<()> {
    fs::create_dir_all(dir)?;
    let shards = (mib << 20).div_ceil(SAMPLES * (JPG + 1600));
    let mut entries = Vec::new();
    let mut seed = 1u64;
    for number in 0..shards {
        let name = format!("shard-{number:03}.tar");
        let mut shard = ShardWriter::create(dir, &name)?;
        for row in 0..SAMPLES {
            shard.begin(format!("{:08}", number * SAMPLES + row).as_bytes());
            for (ext, length) in [("jpg", JPG), ("json", 60)] {
                for word in shard.part(ext.as_bytes(), length)?.chunks_mut(8) {
                    seed = mixed(seed);
                    word.copy_from_slice(&seed.to_le_bytes()[..word.len()]);
                }
            }
            shard.commit(None)?;
        }
        entries.push(shard.finish()?.publish(dir, &name, Durability::Synced)?);
    }
    let samples = shards * SAMPLES;
    let extensions = BTreeMap::from([("jpg".into(), samples), ("json".into(), samples)]);
    let manifest = Manifest::new("sources", None, extensions, entries);
    fs::write(dir.join(FILE_NAME), manifest.to_json())?;
    Ok(())
}

/// Opens, finds the last sample, and opens every sidecar: 11 rounds.
fn open(name: &str) -> Result<()> {
    let mut ms = [const { Vec::new() }; 3];
    for _ in 0..11 {
        let start = Instant::now();
        let dataset = Dataset::open(name)?;
        black_box(dataset.fingerprint()?);
        ms[0].push(start.elapsed().as_secs_f64() * 1e3);
        let start = Instant::now();
        black_box(dataset.key(dataset.len() - 1)?);
        ms[1].push(start.elapsed().as_secs_f64() * 1e3);
        let start = Instant::now();
        dataset.open_all()?;
        ms[2].push(start.elapsed().as_secs_f64() * 1e3);
    }
    for (what, ms) in ["open", "first key", "open_all"].iter().zip(&mut ms) {
        ms.sort_by(f64::total_cmp);
        println!("{what}: {:.2} ms ({:.2}-{:.2})", ms[5], ms[0], ms[10]);
    }
    Ok(())
}

/// The finisher of SplitMix64.
fn mixed(n: u64) -> u64 {
    let n = n.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let n = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let n = (n ^ (n >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ (n >> 31)
}

/// A source of `kind` with a hint given when it was opened.
#[derive(Debug)]
struct Way {
    kind: SourceKind,
    random: bool,
}

#[derive(Debug)]
struct Hinted {
    file: File,
    map: Option<Mapped>,
    length: u64,
}

impl Open for Way {
    fn open(&self, path: &Path) -> tarflume::Result<(Arc<dyn Source>, Identity)> {
        let (source, identity) = self.kind.open(path)?;
        if !self.random {
            return Ok((source, identity));
        }
        let file = File::open(path).map_err(|e| tarflume_formats::Error::io(e, "open", path))?;
        let _ = fadvise(&file, 0, None, Advice::Random);
        let map = match self.kind {
            SourceKind::Mapped => Some(Mapped::open(path)?),
            _ => None,
        };
        map.iter().for_each(|map| map.advise(Access::Random));
        Ok((Arc::new(Hinted { file, map, length: source.len() }), identity))
    }
}

impl Source for Hinted {
    fn len(&self) -> u64 {
        self.length
    }

    fn read_at(&self, at: u64, into: &mut [u8]) -> tarflume::Result<()> {
        let read = self.file.read_exact_at(into, at);
        Ok(read.map_err(|e| tarflume_formats::Error::io(e, "read", "shard"))?)
    }

    fn view(&self, at: u64, length: usize) -> Option<&[u8]> {
        self.map.as_ref()?.get(at as usize..at as usize + length)
    }

    fn advise(&self, at: u64, length: u64) {
        let _ = fadvise(&self.file, at, std::num::NonZeroU64::new(length), Advice::WillNeed);
    }
}

/// One way to do one piece of work.
struct Case {
    name: String,
    way: Way,
    reads: Arc<Vec<(usize, u64, u64)>>,
    cold: bool,
    advise: bool,
    threads: usize,
    seconds: Vec<f64>,
}

impl Case {
    fn once(&mut self, dataset: &Dataset) -> Result<()> {
        if self.cold {
            give_back(dataset)?;
        }
        let way = Way { kind: self.way.kind, random: self.way.random };
        let dataset = dataset.with_opener(Arc::new(way));
        let start = Instant::now();
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..self.threads)
                .map(|thread| {
                    let dataset = &dataset;
                    let reads = &self.reads;
                    let piece = reads.len().div_ceil(self.threads);
                    let mine = &reads[thread * piece..((thread + 1) * piece).min(reads.len())];
                    let advise = self.advise;
                    scope.spawn(move || read(dataset, mine, advise).map_err(|e| e.to_string()))
                })
                .collect();
            threads.into_iter().try_for_each(|t| t.join().unwrap_or_else(|_| Err("died".into())))
        })?;
        self.seconds.push(start.elapsed().as_secs_f64());
        Ok(())
    }
}

fn read(dataset: &Dataset, reads: &[(usize, u64, u64)], advise: bool) -> tarflume::Result<()> {
    let mut buffer = Vec::new();
    let mut sum = 0u64;
    for (number, &(shard, at, length)) in reads.iter().enumerate() {
        if let (true, Some(&(shard, at, length))) = (advise, reads.get(number + AHEAD)) {
            dataset.shard(shard).source()?.advise(at, length);
        }
        let source = dataset.shard(shard).source()?;
        match source.view(at, length as usize) {
            Some(bytes) => sum = sum.wrapping_add(added(bytes)),
            None => {
                buffer.resize(buffer.len().max(length as usize), 0);
                source.read_at(at, &mut buffer[..length as usize])?;
                sum = sum.wrapping_add(added(&buffer[..length as usize]));
            }
        }
    }
    black_box(sum);
    Ok(())
}

/// Touches every byte.
fn added(bytes: &[u8]) -> u64 {
    let words = bytes.chunks_exact(8).map(|w| u64::from_le_bytes(w.try_into().unwrap_or_default()));
    words.fold(0, u64::wrapping_add)
}

fn give_back(dataset: &Dataset) -> Result<()> {
    for shard in dataset.shards() {
        fadvise(&File::open(shard.path())?, 0, None, Advice::DontNeed)?;
    }
    Ok(())
}

fn time(dir: &Path, rounds: usize) -> Result<()> {
    let dataset = Dataset::open(PathBuf::from(dir))?;
    dataset.open_all()?;
    let bytes = dataset.shard(0).index()?.tar().length;
    let shards = dataset.shards().len().min(3);
    let runs = (0..shards).flat_map(|s| (0..bytes / RUN).map(move |r| (s, r * RUN, RUN)));
    let runs = Arc::new(runs.collect::<Vec<_>>());
    let parts = random_parts(&dataset, 3000)?;
    let mut cases = Vec::new();
    for (pattern, reads) in [("runs of 1 MiB in order", runs), ("110 kB parts at random", parts)] {
        cases_of(pattern, &reads, &mut cases);
    }
    for _ in 0..rounds {
        for case in &mut cases {
            case.once(&dataset)?;
        }
    }
    println!(
        "| reads | cache | threads | source | hint at opening | advised {AHEAD} ahead | MB/s, median (slowest-fastest) |"
    );
    println!("|---|---|---|---|---|---|---|");
    for case in &mut cases {
        let bytes: u64 = case.reads.iter().map(|read| read.2).sum();
        println!("| {} | {} |", case.name, rates(&mut case.seconds, bytes as f64 / 1e6));
    }
    gaps(&dataset, rounds)?;
    checksums(&dataset, rounds)?;
    lookups(&dataset, rounds)
}

/// All ways to do these reads. Hints matter where a disk is read.
fn cases_of(pattern: &str, reads: &Arc<Vec<(usize, u64, u64)>>, cases: &mut Vec<Case>) {
    let hints =
        [(false, false, false), (true, false, false), (true, false, true), (true, true, true)];
    for (cold, random, advise) in hints {
        for threads in [1, 2] {
            for kind in [SourceKind::File, SourceKind::Mapped] {
                let temperature = if cold { "cold" } else { "warm" };
                let open = if random { "random" } else { "none" };
                let name =
                    format!("{pattern} | {temperature} | {threads} | {kind:?} | {open} | {advise}");
                let way = Way { kind, random };
                cases.push(Case {
                    name,
                    way,
                    reads: reads.clone(),
                    cold,
                    advise,
                    threads,
                    seconds: Vec::new(),
                });
            }
        }
    }
}

fn rates(seconds: &mut [f64], amount: f64) -> String {
    seconds.sort_by(f64::total_cmp);
    let [middle, least, most] =
        [seconds.len() / 2, seconds.len() - 1, 0].map(|n| amount / seconds[n]);
    format!("{middle:.0} ({least:.0}-{most:.0})")
}

fn random_parts(dataset: &Dataset, count: u64) -> Result<Arc<Vec<(usize, u64, u64)>>> {
    let mut parts = Vec::new();
    for n in 0..count {
        let (shard, row) = dataset.place(mixed(n) % dataset.len()).ok_or("no such sample")?;
        let sample = dataset.shard(shard).index()?.sample(row)?.ok_or("no such row")?;
        let part = sample.part(b"jpg")?.ok_or("no such part")?;
        parts.push((shard, part.offset, part.length));
    }
    Ok(Arc::new(parts))
}

/// Pieces of 16 KiB with holes between them: each alone, or all with their holes in runs.
fn gaps(dataset: &Dataset, rounds: usize) -> Result<()> {
    println!("\n| hole, KiB | cache | us a piece, read alone | us a piece, read with its hole |");
    println!("|---|---|---|---|");
    let length = dataset.shard(0).index()?.tar().length;
    for hole in [4u64, 16, 32, 64, 128, 256] {
        let stride = (hole + 16) << 10;
        let pieces = (length / stride).min(1000);
        let alone: Vec<_> = (0..pieces).map(|n| (0, n * stride, 16 << 10)).collect();
        let merged: Vec<_> = (0..pieces * stride / RUN).map(|n| (0, n * RUN, RUN)).collect();
        for cold in [false, true] {
            let mut us = [Vec::new(), Vec::new()];
            for round in 0..rounds * 4 {
                if cold {
                    give_back(dataset)?;
                }
                let dataset = dataset.with_source(SourceKind::File);
                let start = Instant::now();
                read(&dataset, if round % 2 == 0 { &alone } else { &merged }, false)?;
                us[round % 2].push(start.elapsed().as_secs_f64() * 1e6 / pieces as f64);
            }
            us.iter_mut().for_each(|us| us.sort_by(f64::total_cmp));
            let [alone, merged] = us.map(|us| us[us.len() / 2]);
            let cache = if cold { "cold" } else { "warm" };
            println!("| {hole} | {cache} | {alone:.1} | {merged:.1} |");
        }
    }
    Ok(())
}

/// A warm epoch in order through plan and fetch, without, with some and with all checksums.
fn checksums(dataset: &Dataset, rounds: usize) -> Result<()> {
    println!("\n| source | verify | MB/s, median (slowest-fastest) |\n|---|---|---|");
    let mut wanted = PartNeeds::new();
    wanted.require("jpg")?;
    wanted.require("json")?;
    let samples = dataset.len().min(8000);
    for kind in [SourceKind::File, SourceKind::Mapped] {
        let dataset = dataset.with_source(kind);
        let mut seconds = [const { Vec::new() }; 3];
        for _ in 0..rounds + 1 {
            for (n, verify) in [Verify::Off, Verify::Sampled, Verify::All].into_iter().enumerate() {
                let start = Instant::now();
                epoch(&dataset, samples, &wanted, verify)?;
                seconds[n].push(start.elapsed().as_secs_f64());
            }
        }
        for (n, verify) in ["off", "sampled", "all"].into_iter().enumerate() {
            seconds[n].remove(0); // maps the pages
            let rate = rates(&mut seconds[n], samples as f64 * (JPG + 60) as f64 / 1e6);
            println!("| {kind:?} | {verify} | {rate} |");
        }
    }
    let bytes = vec![7u8; JPG as usize];
    let start = Instant::now();
    (0..1000).for_each(|_| {
        black_box(crc32c(black_box(&bytes)));
    });
    println!("\ncrc32c of {JPG} bytes in the cache: {:.2} us", start.elapsed().as_secs_f64() * 1e3);
    Ok(())
}

fn epoch(dataset: &Dataset, samples: u64, wanted: &PartNeeds, verify: Verify) -> Result<()> {
    let mut plan = ReadPlan::new();
    let mut fetched = RunBytes::new();
    let mut bad = Vec::new();
    let mut sum = 0;
    for batch in 0..samples / 250 {
        let draws = (0..250).map(|row| RowDraw { row, ordinal: batch * 250 + row as u64, pass: 0 });
        plan.fill(dataset, &draws.collect::<Vec<_>>(), wanted, Limits::default())?;
        for run in plan.run_views() {
            fetched.read(dataset, run, &mut bad);
            for item in run.items() {
                fetched.verify(dataset, item, wanted, verify, 0)?;
                for part in item.parts() {
                    sum ^= added(fetched.bytes(part));
                }
            }
            fetched.check()?;
        }
    }
    black_box(sum);
    Ok(())
}

/// What a sample costs before its bytes are read.
fn lookups(dataset: &Dataset, rounds: usize) -> Result<()> {
    let mut wanted = PartNeeds::new();
    wanted.require("jpg")?;
    wanted.require("json")?;
    let mut plan = ReadPlan::new();
    let mut filled = Vec::new();
    let mut shelf = Vec::new();
    for round in 0..rounds as u64 * 20 {
        let ordinals = (0..256).map(|row| mixed(round * 256 + row) % dataset.len());
        let draws: Vec<_> =
            ordinals.enumerate().map(|(row, ordinal)| RowDraw { row, ordinal, pass: 0 }).collect();
        let start = Instant::now();
        plan.fill(dataset, &draws, &wanted, Limits::default())?;
        filled.push(start.elapsed().as_secs_f64() * 1e9 / 256.0);
        let start = Instant::now();
        for draw in &draws {
            let (shard, _) = dataset.place(draw.ordinal).ok_or("no such sample")?;
            black_box(dataset.shard(shard).source()?.len());
        }
        shelf.push(start.elapsed().as_secs_f64() * 1e9 / 256.0);
    }
    for (name, ns) in
        [("plan, a sample drawn at random", &mut filled), ("an open shard's source", &mut shelf)]
    {
        ns.sort_by(f64::total_cmp);
        println!("{name}: {:.0} ns", ns[ns.len() / 2]);
    }
    Ok(())
}
