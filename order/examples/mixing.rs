//! Measures the order of a pass: nanoseconds an index, starts in the middle, how well it mixes.
//!
//! One KEY=VALUE a line. `mixing time` takes a minute; `mixing score` goes over a data set of 765
//! shards with 1000 classes; `mixing file PATH` scores an order that another program wrote (indexes as
//! little-endian u64); `mixing draw` gives points for a picture. bench/order/run.py calls them all.
#![allow(clippy::print_stdout, clippy::print_stderr)]
#![expect(clippy::print_stdout, reason = "a program that prints figures")]

use std::error::Error;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use tarflume_order::score::{AHEAD, Mixing, mixing, mixing_of};
use tarflume_order::{Key, Pass, Shuffle, below};

const SHARDS: u64 = 765;
const SAMPLES: u64 = 7_646_857;
const BATCH: u64 = 256;
const CLASSES: u64 = 1000;
const SEED: u64 = 42;
/// ImageNet, a large data set, and more than any list could hold.
const SIZES: [(&str, u64); 3] = [("1.28M", 1_281_167), ("100M", 100_000_000), ("2^40", 1 << 40)];

fn shuffles() -> Vec<(String, Shuffle)> {
    let seed = SEED;
    let mut all = vec![("None".into(), Shuffle::None), ("Shards".into(), Shuffle::Shards { seed })];
    for size in [1_000, 10_000, 100_000, 1_000_000, Shuffle::MAX_BUFFER] {
        all.push((format!("Buffer {size}"), Shuffle::Buffer { size, seed }));
    }
    for (block, window) in [(64, 16), (64, 256), (256, 64), (32, 1024), (256, 1024)] {
        all.push((format!("Blocks {block}x{window}"), Shuffle::Blocks { block, window, seed }));
    }
    all.push(("Full".into(), Shuffle::Full { seed }));
    all
}

/// `samples` in shards of nearly the same size.
fn starts(shards: u64, samples: u64) -> Arc<[u64]> {
    (0..=shards)
        .map(|shard| (u128::from(shard) * u128::from(samples) / u128::from(shards)) as u64)
        .collect()
}

/// Nanoseconds a call of `step`: the median of five rounds of `calls`.
fn nanoseconds(calls: u64, mut step: impl FnMut(u64) -> u64) -> f64 {
    let mut rounds: Vec<f64> = (0..5)
        .map(|_| {
            let start = Instant::now();
            (0..calls).for_each(|call| {
                black_box(step(call));
            });
            start.elapsed().as_secs_f64() * 1e9 / calls as f64
        })
        .collect();
    rounds.sort_by(f64::total_cmp);
    rounds[2]
}

fn time_shuffle(name: &str, shuffle: Shuffle) {
    for (size, samples) in SIZES {
        let starts = starts(SHARDS, samples);
        let made = nanoseconds(20, |pass| Pass::new(starts.clone(), shuffle, pass).len());
        println!("{name}|{size}|make_us={:.2}", made / 1e3);
        let pass = Pass::new(starts, shuffle, 0);
        // The worst start is at the last sample of a segment of a buffer.
        let worst = (samples / 2).next_multiple_of(2 << 20) - 1;
        let start = nanoseconds(1, |_| {
            pass.clone().cursor(worst.min(samples - 1)).next().unwrap_or_default()
        });
        println!("{name}|{size}|start_ms={:.4}", start / 1e6);
        // Two million steps: over a whole segment of a buffer, its drain and its filling included.
        let mut cursor = pass.clone().cursor(0);
        let steps = (samples / 5).min(420_000);
        let next = nanoseconds(steps, |_| cursor.next().unwrap_or_default());
        println!("{name}|{size}|next_ns={next:.2}");
        let calls = if matches!(shuffle, Shuffle::Buffer { .. }) { 3 } else { 500_000 };
        let key = Key::new(1, 1, b"example ");
        let index = nanoseconds(calls, |call| pass.index(below(key.draw(call), samples)));
        println!("{name}|{size}|slot_ns={index:.2}");
    }
}

/// What others keep: a table of all indexes, shuffled.
fn time_table() {
    for (size, samples) in &SIZES[..2] {
        let start = Instant::now();
        let mut table: Vec<u32> = (0..*samples as u32).collect();
        let key = Key::new(1, 1, b"example ");
        for left in (2..=*samples).rev() {
            table.swap(left as usize - 1, below(key.draw(left), left) as usize);
        }
        black_box(&table);
        let made = start.elapsed().as_secs_f64();
        println!("Fisher-Yates table of u32, Rust|{size}|start_ms={:.4}", made * 1e3);
        println!(
            "Fisher-Yates table of u32, Rust|{size}|next_ns={:.2}",
            made * 1e9 / *samples as f64
        );
    }
}

fn print_mixing(name: &str, mixing: Mixing) {
    println!("{name}|score|effective={:.2}", mixing.effective);
    println!("{name}|score|reads_per_batch={:.2}", mixing.reads_per_batch);
    for (batches, reads) in AHEAD.into_iter().zip(mixing.reads_ahead) {
        println!("{name}|score|reads_ahead_{batches}={reads:.2}");
    }
    println!("{name}|score|longest_jump={}", mixing.longest_jump);
}

fn score_all() {
    for (name, shuffle) in shuffles() {
        let pass = Pass::new(starts(SHARDS, SAMPLES), shuffle, 0);
        print_mixing(&name, mixing(&pass, BATCH, CLASSES));
    }
}

fn score_file(path: &str) -> Result<(), Box<dyn Error>> {
    let bytes = std::fs::read(path)?;
    let indexes = bytes.as_chunks::<8>().0.iter().map(|index| u64::from_le_bytes(*index));
    print_mixing("file", mixing_of(indexes, bytes.len() as u64 / 8, BATCH, CLASSES));
    Ok(())
}

/// Sixteen batches from the middle of a pass, every eighth sample.
fn draw() {
    for (name, shuffle) in shuffles() {
        let pass = Pass::new(starts(SHARDS, SAMPLES), shuffle, 0);
        let cursor = pass.cursor(SAMPLES / 2 / BATCH * BATCH);
        let points: Vec<String> =
            cursor.take(16 * BATCH as usize).step_by(8).map(|index| index.to_string()).collect();
        println!("{name}|draw|indexes={}", points.join(","));
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["time"] => {
            shuffles().iter().for_each(|(name, shuffle)| time_shuffle(name, *shuffle));
            time_table();
        }
        ["score"] => score_all(),
        ["file", path] => score_file(path)?,
        ["draw"] => draw(),
        _ => return Err("mixing time | score | file PATH | draw".into()),
    }
    Ok(())
}
