//! JPEG decoders side by side in one process: entropy decoding alone, full decoding, and what
//! training does with an image. Prints Markdown; `run.py` puts the machine above it and counts
//! instructions.
//!
//! - `work`: images to be decoded, and what a competitor is; `photos`, `crops`: which images, which
//!   windows of them;
//! - `shim`, `turbo`: the rival libjpeg-turbo; `pure`: those in Rust; `ours`; `resize`;
//! - `tables`: the competitors of each table; `rounds`: measuring; `quality`: the check of the pixels; `report`.

mod crops;
mod ours;
mod photos;
mod pure;
mod quality;
mod report;
mod resize;
mod rounds;
mod shim;
mod tables;
mod turbo;
mod work;

use std::path::PathBuf;
use std::process::ExitCode;

use tables::{TABLES, Table};
use work::Data;

const USAGE: &str = "tarflume-bench-jpeg [OPTION VALUE]... FILE_OR_FOLDER...
  --rounds N         passes of each competitor [9]
  --tables A,B       of entropy, full, crop [all]
  --threads A,B      [1,2]
  --data A,B         of photos, mosaics, progressive (the photos in progressive scans) [the first two]
  --photos N         at most so many photographs [all]
  --mosaics N        so many large pictures made of them [32]
  --once NAME        one pass of this competitor of the one table, over the one kind of data:
                     for tools that count instructions; `nobody` only loads the data
  --list             names of the tables' competitors
";

/// What the command line says.
struct Options {
    rounds: usize,
    tables: String,
    threads: String,
    data: String,
    photos: usize,
    mosaics: usize,
    once: Option<String>,
    list: bool,
    paths: Vec<PathBuf>,
}

fn main() -> ExitCode {
    match parse_args().and_then(|options| run(&options)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

fn parse_args() -> Result<Options, String> {
    let mut options = Options {
        rounds: 9,
        tables: "entropy,full,crop".into(),
        threads: "1,2".into(),
        data: "photos,mosaics".into(),
        photos: usize::MAX,
        mosaics: 32,
        once: None,
        list: false,
        paths: Vec::new(),
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        if word == "--list" {
            options.list = true;
        } else if !word.starts_with("--") {
            options.paths.push(word.into());
        } else {
            let value = words.next().ok_or_else(|| format!("{word} needs a value\n{USAGE}"))?;
            let number = || value.parse().map_err(|_| format!("{word} {value}: no number"));
            match word.as_str() {
                "--rounds" => options.rounds = number()?,
                "--photos" => options.photos = number()?,
                "--mosaics" => options.mosaics = number()?,
                "--tables" => options.tables = value,
                "--threads" => options.threads = value,
                "--data" => options.data = value,
                "--once" => options.once = Some(value),
                _ => return Err(format!("{word} is not known\n{USAGE}")),
            }
        }
    }
    if options.paths.is_empty() && !options.list || options.rounds == 0 {
        return Err(USAGE.into());
    }
    Ok(options)
}

fn run(options: &Options) -> Result<(), String> {
    let wanted = |list: &str, word: &str| list.split(',').any(|w| w == word);
    let tables: Vec<&Table> = TABLES.iter().filter(|t| wanted(&options.tables, t.word)).collect();
    if options.list {
        tables
            .iter()
            .for_each(|t| t.competitors.iter().for_each(|c| println!("{}|{}", t.word, c.name)));
        return Ok(());
    }
    let found = photos::load(&options.paths, options.photos)?;
    let mut sets: Vec<Data> = Vec::new();
    let mosaics = if wanted(&options.data, "mosaics") {
        photos::mosaics(&found.photos, options.mosaics)?
    } else {
        Vec::new()
    };
    let progressive = if wanted(&options.data, "progressive") {
        photos::progressive(&found.photos)?
    } else {
        Vec::new()
    };
    let left_out = LeftOut { progressive: found.progressive, unreadable: found.unreadable };
    if wanted(&options.data, "photos") {
        let times = if options.once.is_some() { 1 } else { 2 };
        sets.push(photos::data("photographs", found.photos, times));
    }
    if !mosaics.is_empty() {
        sets.push(photos::data("mosaics 2000x1500 4:2:0", mosaics, 1));
    }
    if !progressive.is_empty() {
        sets.push(photos::data("progressive photographs", progressive, 2));
    }
    if let Some(name) = &options.once {
        return once(name, &tables, &sets);
    }
    describe(&sets, left_out);
    for table in &tables {
        for data in &sets {
            for threads in options.threads.split(',') {
                let threads = threads.parse().map_err(|_| "--threads: no number".to_string())?;
                let measured = rounds::measure(data, table.competitors, threads, options.rounds)?;
                report::rates(table.title, data, threads, &measured, table.against);
            }
            if let Some(reference) = &table.reference {
                let rows = quality::compare(data, reference, table.competitors)?;
                report::qualities(table.title, data, reference.name, &rows);
            }
        }
    }
    Ok(())
}

/// One pass and nothing else.
fn once(name: &str, tables: &[&Table], sets: &[Data]) -> Result<(), String> {
    const ONE: &str = "--once needs one table and one kind of data";
    let [table] = tables else { return Err(ONE.into()) };
    let [data] = sets else { return Err(ONE.into()) };
    println!("images={}", data.items.len());
    if name == "nobody" {
        return Ok(());
    }
    let named = table.competitors.iter().find(|c| c.name == name);
    let competitor = named.ok_or_else(|| format!("no {name} in {}", table.word))?;
    rounds::pass(data, &mut [(competitor.make)(data)]).map(|_| ())
}

/// The numbers of files that no set has.
struct LeftOut {
    progressive: usize,
    /// Files that libjpeg-turbo makes no RGB of.
    unreadable: usize,
}

fn describe(sets: &[Data], left_out: LeftOut) {
    let LeftOut { progressive, unreadable } = left_out;
    for data in sets {
        let megapixels: f64 = data.photos.iter().map(|p| p.room() as f64 / 3e6).sum();
        println!(
            "- {}: {} files, {:.1} MB, mean {:.0} kpx, {} images a pass, entry points of {} bytes a file",
            data.name,
            data.photos.len(),
            data.photos.iter().map(|p| p.jpeg.len()).sum::<usize>() as f64 / 1e6,
            megapixels * 1000.0 / data.photos.len() as f64,
            data.items.len(),
            data.photos.iter().flat_map(|p| &p.points).map(Vec::len).sum::<usize>()
                / data.photos.len()
        );
    }
    println!(
        "- left out: {progressive} progressive files, {unreadable} that libjpeg-turbo makes no RGB of; \
         fast_image_resize uses {:?}\n",
        resize::instructions()
    );
}
