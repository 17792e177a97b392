//! What the order costs on this machine at 100 million samples: selecting, drawing, starting in the
//! middle, mixing, the ledger. Nothing on disk is needed.
//!
//! `cargo run --profile dist -p tarflume-order --example order_costs`

#![allow(clippy::print_stdout, clippy::unwrap_used)]

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use tarflume_order::{Contents, Fingerprint, Key, Order, Selection, Shuffle, below};

const SAMPLES: u64 = 100_000_000;
const SHARDS: u64 = 10_000;
const DRAWS: u64 = 2_000_000;

fn nanoseconds_each(times: u64, mut work: impl FnMut(u64)) -> f64 {
    let start = Instant::now();
    (0..times).for_each(&mut work);
    start.elapsed().as_nanos() as f64 / times as f64
}

fn selections() -> [(&'static str, Selection); 4] {
    let key = Key::new(1, 0, b"example ");
    let random = |of: u64| Selection::filter(SAMPLES, |o| below(key.draw(o), 1000) < of).unwrap();
    let few = (0..50_000).map(|i| i * 1999);
    [
        ("all", Selection::all(SAMPLES)),
        ("all but 50,000", Selection::leave_out(SAMPLES, few).unwrap()),
        ("half, at random", random(500)),
        ("one of 100, at random", random(10)),
    ]
}

fn main() {
    let key = Key::new(2, 0, b"example ");
    println!("index to ordinal, ns at random indexes of {SAMPLES}:");
    for (name, selection) in selections() {
        let each = nanoseconds_each(DRAWS, |i| {
            black_box(selection.ordinal(below(key.draw(i), selection.len())));
        });
        println!("  {name:24} {each:6.1}");
    }
    let contents = Contents::new(
        Fingerprint::of("example", ["contents"]),
        (0..SHARDS).map(|_| SAMPLES / SHARDS),
    );
    let contents = Arc::new(contents.unwrap());
    let order = |shuffle| Order::new(contents.clone(), Selection::all(SAMPLES), shuffle).unwrap();
    println!("a draw, ns one after the other; start in the middle of the epoch, microseconds:");
    for shuffle in [
        Shuffle::None,
        Shuffle::Shards { seed: 1 },
        Shuffle::Buffer { size: 10_000, seed: 1 },
        Shuffle::Blocks { block: 64, window: 64, seed: 1 },
        Shuffle::Full { seed: 1 },
    ] {
        let order = order(shuffle);
        let start = Instant::now();
        let mut cursor = order.cursor(3, SAMPLES / 2 + 12_345).unwrap();
        black_box(cursor.next());
        let start = start.elapsed().as_secs_f64() * 1e6;
        let each = nanoseconds_each(DRAWS, |_| {
            black_box(cursor.next());
        });
        println!("  {:36} {each:6.1} {start:10.1}", order.shuffle());
    }
    let full = order(Shuffle::Full { seed: 1 });
    let start = Instant::now();
    black_box(full.ledger(0, 0..SAMPLES).unwrap());
    println!("ledger of a whole epoch: {:.3} s", start.elapsed().as_secs_f64());
    let start = Instant::now();
    let parts = [700_001, 200_000, 99_999].map(|weight| (full.clone(), weight));
    let mixture = Order::mixture(parts).unwrap();
    println!("mixture with a period of 1,000,000: {:.3} s", start.elapsed().as_secs_f64());
    let mut cursor = mixture.cursor(1, 77).unwrap();
    let each = nanoseconds_each(DRAWS, |_| {
        black_box(cursor.next());
    });
    println!("a draw of it, full shuffle: {each:.1} ns");
}
