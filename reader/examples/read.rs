//! Reads a data set as a training program would and prints what it came to: for bench/read.
//!
//!     read DIR --shuffle none|shards|buffer|blocks|full --threads N --batch 256 --mode raw|image
//!         [--epochs 1] [--source file|mapped] [--verify off|sampled|all] [--parts jpg,json]
//!         [--memory 1GiB] [--limit SAMPLES] [--filter bilinear|fast] [--gap 2] [--stats yes]
//!
//! Prints KEY=VALUE: seconds `s` from opening to the last batch, `samples`, `mb`, `ttfb` seconds to the
//! first batch, `s4` and `n4` from the fourth batch on, then the statistics as comment lines.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::collections::HashMap;
use std::time::Instant;

use tarflume::{
    Error, Filter, Image, Loader, LoaderBuilder, RandomResizedCrop, Result, Shuffle, SourceKind,
    Verify,
};

fn main() {
    let mut words = std::env::args().skip(1);
    let dir = words.next().unwrap_or_else(|| "shards/".into());
    let mut flags = HashMap::new();
    while let (Some(flag), Some(value)) = (words.next(), words.next()) {
        flags.insert(flag.trim_start_matches("--").to_string(), value);
    }
    if let Err(error) = read(&dir, &flags) {
        eprintln!("{error}");
        std::process::exit(1);
    }
}

fn flag<'a>(flags: &'a HashMap<String, String>, name: &str, default: &'a str) -> &'a str {
    flags.get(name).map_or(default, String::as_str)
}

fn number(flags: &HashMap<String, String>, name: &str, default: u64) -> Result<u64> {
    let text = flag(flags, name, "");
    if text.is_empty() {
        return Ok(default);
    }
    text.parse().map_err(|_| Error::usage(format!("--{name} {text}: a number is wanted")))
}

fn shuffle(word: &str) -> Result<Shuffle> {
    let seed = 1;
    Ok(match word {
        "none" => Shuffle::None,
        "shards" => Shuffle::Shards { seed },
        "buffer" => Shuffle::Buffer { size: 1000, seed },
        "blocks" => Shuffle::Blocks { block: 64, window: 16, seed },
        "full" => Shuffle::Full { seed },
        other => return Err(Error::usage(format!("--shuffle {other}"))),
    })
}

fn image(flags: &HashMap<String, String>) -> Result<Image> {
    let gap = flag(flags, "gap", "2");
    let gap = gap.parse().map_err(|_| Error::usage(format!("--gap {gap}: a number is wanted")))?;
    let filter = match flag(flags, "filter", "bilinear") {
        "bilinear" => Filter::Bilinear,
        "fast" => Filter::BilinearFast,
        other => return Err(Error::usage(format!("--filter {other}"))),
    };
    let crop = RandomResizedCrop::new(224).flip(0.5);
    Ok(Image::new("jpg", crop).filter(filter).reducing_gap(Some(gap)))
}

fn builder(dir: &str, flags: &HashMap<String, String>) -> Result<LoaderBuilder> {
    let mut builder = Loader::builder(dir)
        .shuffle(shuffle(flag(flags, "shuffle", "none"))?)
        .batch(number(flags, "batch", 256)?)
        .threads(number(flags, "threads", 2)? as usize)
        .prefetch(number(flags, "prefetch", 4)? as usize)
        .remainder(tarflume::Remainder::Uneven)
        .memory_limit(flag(flags, "memory", "2GiB").parse()?)
        .source(match flag(flags, "source", "") {
            "file" => SourceKind::File,
            "mapped" => SourceKind::Mapped,
            _ => SourceKind::default(),
        })
        .verify(match flag(flags, "verify", "off") {
            "all" => Verify::All,
            "sampled" => Verify::Sampled,
            _ => Verify::Off,
        });
    if flag(flags, "mode", "raw") == "image" {
        builder = builder.column("jpg", image(flags)?);
    } else {
        for part in flag(flags, "parts", "jpg,json").split(',') {
            builder = builder.bytes(part);
        }
    }
    Ok(builder)
}

fn read(dir: &str, flags: &HashMap<String, String>) -> Result<()> {
    let start = Instant::now();
    let loader = builder(dir, flags)?.build()?;
    let limit = number(flags, "limit", u64::MAX)?;
    let mut samples = 0;
    let mut bytes = 0;
    let mut batches = 0;
    let mut first = None;
    let mut fourth = None;
    let mut last = start;
    for epoch in 0..number(flags, "epochs", 1)? {
        for batch in loader.epoch(epoch) {
            let batch = batch?;
            last = Instant::now();
            first.get_or_insert(last - start);
            samples += batch.len() as u64;
            bytes += batch.columns().map(|column| column.bytes().len() as u64).sum::<u64>();
            batches += 1;
            if batches == 4 {
                fourth = Some((last, samples));
            }
            if samples >= limit {
                break;
            }
        }
    }
    println!(
        "s={:.4}\nsamples={samples}\nmb={:.1}",
        (last - start).as_secs_f64(),
        bytes as f64 / 1e6
    );
    println!("ttfb={:.4}", first.map_or(0.0, |first| first.as_secs_f64()));
    if let Some((at, before)) = fourth {
        println!("s4={:.4}\nn4={}", (last - at).as_secs_f64(), samples - before);
    }
    if flags.contains_key("stats") {
        println!("{}", loader.stats().to_string().replace('=', ":"));
    }
    Ok(())
}
