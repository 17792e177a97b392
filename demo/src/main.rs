//! Shuffles the samples of each epoch, stops inside one, and resumes with another batch size: `make demo` runs it.
//!
//!     cargo run -p tarflume-demo -- shards/
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::process::ExitCode;

use tarflume::{Batch, Loader, LoaderBuilder, LoaderState, RandomResizedCrop, Remainder, Shuffle};

fn main() -> tarflume::Result<ExitCode> {
    let shards = std::env::args().nth(1).unwrap_or_else(|| "shards/".into());
    let loader = training(&shards, 3).build()?;
    let whole = keys(&loader, 0, usize::MAX)?;
    println!("epoch 0: {}", whole.join(" "));
    println!("epoch 1: {}", keys(&loader, 1, usize::MAX)?.join(" "));

    let loader = training(&shards, 3).build()?;
    let mut delivered = keys(&loader, 0, 1)?;
    let saved = loader.state().to_string(); // beside the model
    println!("stopped after one batch: {}\nstate:   {saved}", delivered.join(" "));

    let state: LoaderState = saved.parse()?;
    let loader = training(&shards, 2).threads(1).resume(state).build()?;
    let rest = keys(&loader, loader.current_epoch(), usize::MAX)?;
    println!("resumed: {}", rest.join(" "));
    delivered.extend(rest);
    if delivered != whole {
        eprintln!("the order after the stop is another one");
        return Ok(ExitCode::FAILURE);
    }
    println!("each of the {} samples came once, in the order of epoch 0", whole.len());
    Ok(ExitCode::SUCCESS)
}

/// Returns the loader of a training: crops, labels, and an order that the seed determines.
fn training(shards: &str, batch: u64) -> LoaderBuilder {
    Loader::builder(shards)
        .shuffle(Shuffle::Full { seed: 42 })
        .image("jpg", RandomResizedCrop::new(224).flip(0.5))
        .label("json", "/class")
        .batch(batch)
        .remainder(Remainder::Uneven)
}

/// Returns the keys of the next batches of an epoch, which are decoded.
fn keys(loader: &Loader, epoch: u64, batches: usize) -> tarflume::Result<Vec<String>> {
    let mut keys = Vec::new();
    for batch in loader.epoch(epoch).take(batches) {
        let batch: Batch = batch?;
        keys.extend(
            (0..batch.len()).map(|row| String::from_utf8_lossy(batch.key(row)).into_owned()),
        );
    }
    Ok(keys)
}
