//! Times candidates for a part's checksum: crc32c, and blake3 cut to 64 bits, beside blake3 of the
//! whole tar.
//!
//! One thread, data in memory, interleaved rounds, medians:
//! `cargo run --profile dist -p tarflume-formats --example checksums`
#![expect(clippy::print_stdout, reason = "a program that prints a table")]

use std::hint::black_box;
use std::time::Instant;

use tarflume_formats::crc32c;

/// Bytes hashed by each case in each round.
const TOTAL: usize = 64 << 20;
/// The size of an ImageNet photograph, and of a JSON file or thumbnail.
const PIECES: [usize; 2] = [110_000, 3_000];
/// The bytes that the shard writer passes to its hasher at a time.
const WINDOW: usize = 192 * 1024;
const ROUNDS: usize = 15;

type Case = (&'static str, usize, fn(&[u8]) -> u64);

fn blake3_cut(bytes: &[u8]) -> u64 {
    let hash = blake3::hash(bytes);
    hash.as_bytes()[..8].iter().fold(0, |n, &b| n << 8 | u64::from(b))
}

fn main() {
    let data = random(TOTAL);
    let mut cases: Vec<Case> = Vec::new();
    for piece in PIECES {
        cases.push(("crc32c of each part", piece, |bytes| u64::from(crc32c(bytes))));
        cases.push(("blake3 of each part, cut to 64 bits", piece, blake3_cut));
    }
    let mut seconds = vec![Vec::new(); cases.len() + 1];
    for _ in 0..ROUNDS {
        for (i, (_, piece, sum)) in cases.iter().enumerate() {
            let start = Instant::now();
            let all = data.chunks(*piece).fold(0, |all, bytes| all ^ sum(black_box(bytes)));
            black_box(all);
            seconds[i].push(start.elapsed().as_secs_f64());
        }
        let start = Instant::now();
        let mut hasher = blake3::Hasher::new();
        for bytes in data.chunks(WINDOW) {
            hasher.update(black_box(bytes));
        }
        black_box(hasher.finalize());
        seconds[cases.len()].push(start.elapsed().as_secs_f64());
    }
    println!("| checksum | bytes a part | GB/s, median (slowest-fastest) | ns a part |");
    println!("|---|---|---|---|");
    let named = cases.iter().map(|(name, piece, _)| (*name, Some(*piece)));
    for ((name, piece), times) in named.chain([("blake3 of the whole tar", None)]).zip(&mut seconds)
    {
        times.sort_by(f64::total_cmp);
        let time = times[ROUNDS / 2];
        let range = format!("{:.2}-{:.2}", speed(times[ROUNDS - 1]), speed(times[0]));
        let size = piece.map_or(String::new(), |n| n.to_string());
        let each = piece
            .map_or(String::new(), |n| format!("{:.0}", time * 1e9 / TOTAL.div_ceil(n) as f64));
        println!("| {name} | {size} | {:.2} ({range}) | {each} |", speed(time));
    }
}

/// Billions of bytes a second.
fn speed(seconds: f64) -> f64 {
    TOTAL as f64 / seconds / 1e9
}

/// Bytes that are equally hard for every checksum.
fn random(length: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    (0..length.div_ceil(8))
        .flat_map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state.to_le_bytes()
        })
        .collect()
}
