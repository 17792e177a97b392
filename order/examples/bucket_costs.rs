//! Times batches by buckets: `cargo run --release -p tarflume-order --example bucket_costs [SAMPLES]`.
//!
//! Prints NAME=SECONDS. 40 buckets, batches of 64, 8 ranks, an exact shuffle.

#![allow(clippy::print_stdout)]

use std::sync::Arc;
use std::time::Instant;

use tarflume_order::{
    BucketShare, Buckets, Contents, Fingerprint, Order, Remainder, Result, SameBucket, Selection,
    Shuffle, Split,
};

const BUCKETS: usize = 40;
const ROWS: u64 = 64;

fn main() -> Result<()> {
    let given = std::env::args().nth(1).and_then(|number| number.parse().ok());
    let samples: u64 = given.unwrap_or(7_646_857);
    let contents = Contents::new(Fingerprint::of("data", ["v1"]), vec![10_000; 1000])?;
    let selection = Selection::all(contents.samples()).take(samples)?;
    let order = Order::new(Arc::new(contents), selection, Shuffle::Full { seed: 42 })?;

    let start = Instant::now();
    let each = (0..order.ordinals()).map(|n| (n.wrapping_mul(0x9e37_79b9) >> 7) as usize % BUCKETS);
    let buckets = Buckets::new(vec![ROWS; BUCKETS], each)?;
    println!("table={:.4}", start.elapsed().as_secs_f64());

    let share = BucketShare::new(&order, Split::new(3, 8)?, buckets, SameBucket::Rank)?;
    let none = vec![0; BUCKETS];
    let start = Instant::now();
    let mut steps = share.steps(0, &none, Remainder::Drop)?;
    println!("open={:.4}", start.elapsed().as_secs_f64());
    let start = Instant::now();
    let again = share.steps(1, &none, Remainder::Drop)?.count();
    println!("open_again={:.6}", start.elapsed().as_secs_f64());
    assert_eq!(again, steps.count());
    let start = Instant::now();
    let first = steps.next_batch().expect("a first batch");
    println!("first={:.6} rows={}", start.elapsed().as_secs_f64(), first.rows.len());

    let start = Instant::now();
    let mut batches = 1_u64;
    let mut half = first.taken;
    while let Some(batch) = steps.next_batch() {
        batches += 1;
        if batches == steps.count() / 2 {
            half = batch.taken;
        }
    }
    println!("epoch={:.4} batches={batches}", start.elapsed().as_secs_f64());
    let start = Instant::now();
    let mut rest = share.steps(0, &half, Remainder::Drop)?;
    rest.next_batch();
    println!("resume_at_half={:.4}", start.elapsed().as_secs_f64());
    Ok(())
}
