//! Opens a very large data set, and plans an epoch of it in many threads and processes: for bench/scale.
//!
//!     scale open DIR
//!     scale sit DIR --threads 16 --rank R --world 24
//!
//! `open` prints KEY=VALUE: `open_ms` to open the data set, `first_ordinal_us` from then to the first
//! ordinal of a full shuffle, `samples`. `sit` prints these, too; then each thread of each rank draws
//! its share of the epoch and looks all of it up, as a loader does before it reads, and `draws` says
//! how many these were, `lookup_us` what one of them took. It prints `ready`, and keeps what it has in
//! memory until its input ends.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::collections::HashMap;
use std::io::{Read, Write, stdin, stdout};
use std::thread;
use std::time::Instant;

use tarflume::internal::{Limits, PartNeeds, ReadPlan, RowDraw};
use tarflume::{Dataset, Error, Result, Shuffle, Split};
use tarflume_order::{Contents, Order, Remainder, Selection, Steps};

const BATCH: u64 = 256;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["open", dir] => open(dir).map(drop),
        ["sit", dir, ref flags @ ..] => sit(dir, flags),
        _ => Err(Error::usage("scale open DIR | sit DIR --threads N --rank R --world W")),
    };
    if let Err(error) = done {
        eprintln!("{error}");
        std::process::exit(1);
    }
}

fn open(dir: &str) -> Result<(Dataset, Order)> {
    let start = Instant::now();
    let dataset = Dataset::open(dir)?;
    println!("open_ms={:.3}", start.elapsed().as_secs_f64() * 1e3);
    let start = Instant::now();
    let print = dataset.fingerprint()?;
    let contents = Contents::new(print, dataset.counts().iter().copied())?;
    let all = Selection::all(contents.samples());
    let order = Order::new(contents.into(), all, Shuffle::Full { seed: 1 })?;
    let first = order.ordinal(0, 0)?;
    println!("first_ordinal_us={:.1}", start.elapsed().as_secs_f64() * 1e6);
    first.ok_or_else(|| Error::usage("the data set has no samples"))?;
    println!("samples={}", dataset.len());
    Ok((dataset, order))
}

fn number(flags: &HashMap<&str, &str>, name: &str) -> Result<u64> {
    let text = flags.get(name).copied().unwrap_or_default();
    text.parse().map_err(|_| Error::usage(format!("{name} {text}: a number is wanted")))
}

fn sit(dir: &str, flags: &[&str]) -> Result<()> {
    let flags: HashMap<&str, &str> = flags.chunks_exact(2).map(|f| (f[0], f[1])).collect();
    let threads = number(&flags, "--threads")?;
    let rank = number(&flags, "--rank")?;
    let world = number(&flags, "--world")?;
    let (dataset, order) = open(dir)?;
    let start = Instant::now();
    // Every thread takes the steps of a separate rank, so that all together cover the epoch.
    let splits: Vec<Split> = (0..threads)
        .map(|thread| Split::new(rank * threads + thread, world * threads))
        .collect::<Result<_, _>>()?;
    let plans = thread::scope(|scope| {
        let running: Vec<_> =
            splits.iter().map(|split| scope.spawn(|| plan(&dataset, &order, *split))).collect();
        running
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|_| Err(Error::usage("a thread panicked"))))
            .collect::<Result<Vec<_>>>()
    })?;
    let draws: u64 = plans.iter().map(|(_, draws)| draws).sum();
    let seconds = start.elapsed().as_secs_f64();
    println!("lookup_us={:.2}", seconds * 1e6 / draws as f64);
    println!("draws={draws}\nready");
    let wait = stdout().flush().and_then(|()| stdin().read_to_end(&mut Vec::new()));
    wait.map(drop).map_err(|e| Error::usage(format!("cannot wait: {e}")))
}

/// Plans all batches of a share of the epoch; the last plan, and how many samples there were.
fn plan(dataset: &Dataset, order: &Order, split: Split) -> Result<(ReadPlan, u64)> {
    let mut wanted = PartNeeds::new();
    wanted.require("jpg")?;
    wanted.require("json")?;
    let steps = Steps::by_position(order.epoch_samples(), 0, BATCH, split, Remainder::Pad)?;
    let mut cursor = order.cursor(0, 0)?;
    let mut plan = ReadPlan::new();
    let mut draws = Vec::new();
    let mut sum = 0;
    for step in 0..steps.count() {
        draws.clear();
        for (position, _) in steps.rows(step) {
            if cursor.position() != position {
                cursor.seek(position);
            }
            let Some(draw) = cursor.next() else { break };
            draws.push(RowDraw { row: draws.len(), ordinal: draw.ordinal, pass: 0 });
        }
        plan.fill(dataset, &draws, &wanted, Limits::default())?;
        if let Some(bad) = plan.take_bad().next() {
            return Err(bad.error);
        }
        sum += draws.len() as u64;
    }
    Ok((plan, sum))
}
