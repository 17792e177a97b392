//! The recommendation of `pack bench --recommend`: a curve, and settings to paste.

use std::io::{self, Write};

use tarflume::{Shuffle, SourceKind};
use tarflume_base::units;
use tarflume_formats::shown::Quoted;
use tarflume_formats::url::without_secrets;

use crate::bench::options::Options;
use crate::bench::recommendation::{Choice, Reason, Recommendation};

/// Characters of the longest bar.
const WIDTH: f64 = 40.0;

/// Writes the curve, the choice and the settings.
pub(super) fn write(
    to: &mut impl Write,
    found: &Recommendation,
    options: &Options,
) -> io::Result<()> {
    writeln!(
        to,
        "{}: {} samples, by the number of threads",
        without_secrets(&options.path.to_string_lossy()),
        found.measured
    )?;
    let best = found.curve.iter().map(|point| point.samples_per_s).fold(1.0, f64::max);
    for point in &found.curve {
        let bar = "#".repeat((WIDTH * point.samples_per_s / best).round() as usize);
        let rate = units::count(point.samples_per_s.round() as u64);
        writeln!(to, "{:>7}  {rate:>12} samples/s  {bar}", point.threads)?;
    }
    writeln!(to, "\n{}\n", reason(&found.choice, found.needed_samples_per_s))?;
    writeln!(to, "Python:\n{}\n", python(found, options))?;
    writeln!(to, "Rust:\n{}", rust(found, options))
}

fn reason(choice: &Choice, needed: Option<f64>) -> String {
    let threads = units::counted(choice.threads as u64, "thread", "threads");
    let rate = units::count(choice.samples_per_s.round() as u64);
    match choice.reason {
        Reason::NearlyBest => {
            format!(
                "{threads}: no fewer reach 95 % of the best rate. Each process of a node that has several ranks needs its own."
            )
        }
        Reason::FeedsAccelerator => format!(
            "{threads}: no fewer feed an accelerator that takes {needed} samples/s, with a tenth to spare. Each process \
             of a node that has several ranks needs its own.",
            needed = accelerator_rate(needed)
        ),
        Reason::TooSlow => format!(
            "{threads}: the best of them, but an accelerator that takes {needed} samples/s waits: {rate} samples/s are \
             no tenth more. 'pack bench' without --recommend tells what limits.",
            needed = accelerator_rate(needed)
        ),
    }
}

fn accelerator_rate(samples_per_s: Option<f64>) -> String {
    let rate = samples_per_s.expect("an accelerator's rate was given: the reason compares with it");
    units::count(rate.round() as u64)
}

/// The loader in Python.
fn python(found: &Recommendation, options: &Options) -> String {
    let mut settings = vec![
        format!("batch_size={}", options.batch),
        python_shuffle(&options.shuffle),
        format!("num_threads={}", found.choice.threads),
        format!("prefetch={}", options.prefetch),
    ];
    if options.source != SourceKind::File {
        settings.push(format!("source=\"{}\"", source(options.source).to_lowercase()));
    }
    if let Some(bytes) = options.memory {
        settings.push(format!("memory_limit=\"{bytes}B\""));
    }
    if !found.images.is_empty() {
        settings.push("image=tarflume.RandomResizedCrop(224, flip=0.5)".into());
    }
    format!(
        "loader = tarflume.torch.Loader(\n    {:?},\n    {},\n)",
        Quoted(without_secrets(&options.path.to_string_lossy()).as_bytes()),
        settings.join(", ")
    )
}

fn python_shuffle(shuffle: &Shuffle) -> String {
    match *shuffle {
        Shuffle::Shards { seed } => format!("shuffle=\"shards\", seed={seed}"),
        Shuffle::Buffer { size, seed } => {
            format!("shuffle=\"buffer\", buffer_size={size}, seed={seed}")
        }
        Shuffle::Blocks { block, window, seed } => {
            format!("shuffle=\"blocks\", block_size={block}, window={window}, seed={seed}")
        }
        Shuffle::Full { seed } => format!("shuffle=\"full\", seed={seed}"),
        _ => "shuffle=False".into(),
    }
}

fn source(kind: SourceKind) -> &'static str {
    match kind {
        SourceKind::Mapped => "Mapped",
        SourceKind::Threads => "Threads",
        _ => "File",
    }
}

/// The loader in Rust.
fn rust(found: &Recommendation, options: &Options) -> String {
    let mut calls = vec![
        format!(
            "Loader::builder({:?})",
            Quoted(without_secrets(&options.path.to_string_lossy()).as_bytes())
        ),
        format!(".shuffle({})", rust_shuffle(&options.shuffle)),
        format!(".batch({})", options.batch),
        format!(".threads({})", found.choice.threads),
        format!(".prefetch({})", options.prefetch),
    ];
    if options.source != SourceKind::File {
        calls.push(format!(".source(SourceKind::{})", source(options.source)));
    }
    if let Some(bytes) = options.memory {
        calls.push(format!(".memory_limit(Size::new({bytes}))"));
    }
    if !found.images.is_empty() {
        let exts = found.images.join(";");
        calls.push(format!(
            ".column(\"image\", Image::new(\"{exts}\", RandomResizedCrop::new(224).flip(0.5)))"
        ));
    }
    calls.push(".build()?;".into());
    format!("let loader = {}", calls.join("\n    "))
}

fn rust_shuffle(shuffle: &Shuffle) -> String {
    match *shuffle {
        Shuffle::Shards { seed } => format!("Shuffle::Shards {{ seed: {seed} }}"),
        Shuffle::Buffer { size, seed } => {
            format!("Shuffle::Buffer {{ size: {size}, seed: {seed} }}")
        }
        Shuffle::Blocks { block, window, seed } => {
            format!("Shuffle::Blocks {{ block: {block}, window: {window}, seed: {seed} }}")
        }
        Shuffle::Full { seed } => format!("Shuffle::Full {{ seed: {seed} }}"),
        _ => "Shuffle::None".into(),
    }
}
