//! Times packs of samples: `cargo run --release -p tarflume-order --example pack_costs [SAMPLES]`.
//!
//! Prints NAME=SECONDS. Packs of 4,096 tokens, windows of 4,096 samples, 8 ranks of 8 packs, an exact shuffle.

#![allow(clippy::print_stdout)]

use std::sync::Arc;
use std::time::Instant;

use tarflume_order::{
    Contents, Fingerprint, Lengths, Order, PackBatch, PackLimits, PackShare, Remainder, Result,
    Selection, Shuffle, Split,
};

fn main() -> Result<()> {
    let given = std::env::args().nth(1).and_then(|number| number.parse().ok());
    let samples: u64 = given.unwrap_or(7_646_857);
    let contents = Contents::new(Fingerprint::of("data", ["v1"]), vec![10_000; 1000])?;
    let selection = Selection::all(contents.samples()).take(samples)?;
    let order = Order::new(Arc::new(contents), selection, Shuffle::Full { seed: 42 })?;

    let start = Instant::now();
    let limits = PackLimits { capacity: 4096, samples: 256, window: 4096 };
    let each =
        (0..order.ordinals()).map(|n| 16 + (n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) % 1500);
    let lengths = Lengths::new(limits, each)?;
    println!("table={:.4}", start.elapsed().as_secs_f64());

    let share = PackShare::new(&order, Split::new(3, 8)?, lengths)?;
    let start = Instant::now();
    let totals = share.totals(0)?;
    println!(
        "plan={:.4} packs={} filled={:.5}",
        start.elapsed().as_secs_f64(),
        totals.packs,
        totals.filled()
    );
    let start = Instant::now();
    let mut steps = share.steps(0, 0, 8, Remainder::Drop)?;
    let mut batch = PackBatch::default();
    steps.next_into(&mut batch);
    println!("first={:.6} samples={}", start.elapsed().as_secs_f64(), batch.rows.len());
    let start = Instant::now();
    let mut half = batch.position;
    while steps.next_into(&mut batch) {
        if steps.step() == steps.count() / 2 {
            half = batch.position;
        }
    }
    println!("epoch={:.4} batches={}", start.elapsed().as_secs_f64(), steps.count());
    let again = PackShare::new(&order, Split::new(3, 8)?, share.lengths().clone())?;
    let start = Instant::now();
    again.steps(0, half, 8, Remainder::Drop)?.next_into(&mut batch);
    println!("resume_at_half={:.4}", start.elapsed().as_secs_f64());
    Ok(())
}
