//! The shortest complete user: one epoch of images and labels.
//!
//!     cargo run --release -p tarflume --example epoch -- shards/
#![allow(clippy::print_stdout, clippy::print_stderr)]

use tarflume::{Loader, RandomResizedCrop, ResizeCenterCrop, Shuffle, Split};

fn main() -> tarflume::Result<()> {
    let shards = std::env::args().nth(1).unwrap_or_else(|| "shards/".into());
    let train = Loader::builder(&shards)
        .shuffle(Shuffle::Full { seed: 42 })
        .split(Split::from_env()?)
        .image("jpg", RandomResizedCrop::new(224).flip(0.5))
        .label("json", "/class")
        .batch(4)
        .build()?;
    let validate = Loader::builder(&shards)
        .image("jpg", ResizeCenterCrop::new(256, 224))
        .label("json", "/class")
        .batch(4)
        .remainder(tarflume::Remainder::Uneven)
        .build()?;
    for loader in [&train, &validate] {
        for batch in loader.epoch(0) {
            let batch = batch?;
            let images = batch.column("image")?;
            let labels = batch.column("label")?;
            let pixels = images.elements::<u8>()?;
            let labels = labels.elements::<i64>()?;
            println!("{:?}: {} bytes, labels {labels:?}", images.shape(), pixels.len());
        }
        println!("{}", loader.stats());
    }
    Ok(())
}
