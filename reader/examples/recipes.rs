//! Runs recipes of transforms in a loader, for a profile: `perf record target/dist/examples/recipes ...`.
//!
//!     recipes DIR deit.json [--floats yes] [--threads 2] [--samples 4096]
//!     recipes DIR global:2:large.json local:8:small.json
//!
//! A recipe is a file that holds what `recipe.to_json()` writes in Python. NAME:COUNT:FILE is a group of `Views`. Prints
//! samples a second from the fourth batch on, and the times of the operations.
#![allow(clippy::print_stdout)]

use std::collections::HashMap;
use std::time::Instant;

use tarflume::transforms::Recipe;
use tarflume::{Error, Image, Layout, Loader, LoaderBuilder, Normalize, Result, Shuffle, Views};

fn main() -> Result<()> {
    let mut files = Vec::new();
    let mut flags = HashMap::new();
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        if let Some(flag) = word.strip_prefix("--") {
            let value = words.next().ok_or_else(|| Error::usage(format!("{word} has no value")))?;
            flags.insert(flag.to_owned(), value);
        } else {
            files.push(word);
        }
    }
    run(&files, &flags)
}

fn number(flags: &HashMap<String, String>, name: &str, default: u64) -> Result<u64> {
    let Some(text) = flags.get(name) else { return Ok(default) };
    text.parse().map_err(|error| Error::usage(format!("--{name} {text}: {error}")))
}

fn run(words: &[String], flags: &HashMap<String, String>) -> Result<()> {
    let Some((shards, files)) = words.split_first() else {
        return Err(Error::usage("recipes DIR FILE | recipes DIR NAME:COUNT:FILE..."));
    };
    let builder = Loader::builder(shards)
        .shuffle(Shuffle::Full { seed: 0 })
        .threads(number(flags, "threads", 2)? as usize)
        .batch(64);
    let loader = columns(builder, files, flags.contains_key("floats"))?.build()?;
    let wanted = number(flags, "samples", 4096)?;
    let mut start = Instant::now();
    let mut seen = 0;
    let mut batches = 0;
    for epoch in 0.. {
        for batch in loader.epoch(epoch) {
            seen += batch?.len() as u64;
            batches += 1;
            if batches == 3 {
                start = Instant::now();
                seen = 0;
            }
        }
        if seen >= wanted {
            break;
        }
    }
    println!("{:.0} samples/s", seen as f64 / start.elapsed().as_secs_f64());
    println!("{}", loader.stats());
    Ok(())
}

fn columns(builder: LoaderBuilder, files: &[String], floats: bool) -> Result<LoaderBuilder> {
    if let [file] = files
        && !file.contains(':')
    {
        return Ok(builder.column("image", image(file, floats)?));
    }
    let mut views = Views::new();
    for group in files {
        let words: Vec<&str> = group.splitn(3, ':').collect();
        let &[name, count, file] = &words[..] else {
            return Err(Error::usage(format!("{group} is not NAME:COUNT:FILE")));
        };
        let count = count.parse().map_err(|error| Error::usage(format!("{group}: {error}")))?;
        views = views.group(name, count, image(file, floats)?);
    }
    Ok(builder.views(&views))
}

fn image(file: &str, floats: bool) -> Result<Image> {
    let text =
        std::fs::read_to_string(file).map_err(|error| Error::usage(format!("{file}: {error}")))?;
    let recipe: Recipe =
        serde_json::from_str(&text).map_err(|error| Error::usage(format!("{file}: {error}")))?;
    let image = Image::new("jpg", recipe);
    Ok(if floats { image.to_f32(Normalize::imagenet()).layout(Layout::Chw) } else { image })
}
