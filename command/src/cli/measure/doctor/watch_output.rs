//! The output of `pack doctor --watch` that no terminal redraws: one line per sample, the whole watch at the end, or JSON.

use std::io::{self, Write};

use serde::Serialize;
use tarflume_base::units;
use tarflume_formats::shown;

use super::block::{self, Style};
use super::verdicts_output;
use crate::doctor::gpus::Sample;
use crate::doctor::watch::look::Look;
use crate::doctor::watch::summary::Summary;
use crate::doctor::watch::verdicts::Verdict;

/// Below this, a GPU is idle for more than a tenth of the time.
const BUSY_PERCENT: f64 = 90.0;

/// The columns of each sample. Those of the training and of its loaders are printed if one is watched.
const MACHINE: [&str; 9] = [
    "seconds",
    "SM %",
    "GPU mem %",
    "CPU %",
    "wait %",
    "disk %",
    "read MB/s",
    "write MB/s",
    "net MB/s",
];
const TRAINING: [&str; 5] = ["cores", "batches/s", "p50 ms", "p99 ms", "waited %"];

/// Writes the names of the columns.
pub(super) fn head(to: &mut impl Write, has_training: bool) -> io::Result<()> {
    row(to, MACHINE.map(str::to_string), has_training.then(|| TRAINING.map(str::to_string)))
}

fn row(to: &mut impl Write, machine: [String; 9], training: Option<[String; 5]>) -> io::Result<()> {
    for (n, cell) in machine.iter().chain(training.iter().flatten()).enumerate() {
        let gap = if n == 0 { "" } else { "  " };
        let names = MACHINE.iter().chain(&TRAINING);
        let width = names.clone().nth(n).map_or(0, |name| name.len());
        write!(to, "{gap}{cell:>width$}")?;
    }
    writeln!(to)
}

/// Writes a line: the means of the GPUs, the busiest disk, the slowest loader.
pub(super) fn line(to: &mut impl Write, look: &Look, has_training: bool) -> io::Result<()> {
    let disk = look.busiest_disk();
    let machine = [
        format!("{:.1}", look.seconds),
        figure(mean(look, |gpu| gpu.sm_percent), 0),
        figure(mean(look, |gpu| gpu.memory_used_percent), 0),
        figure(Some(look.cpu.busy_percent), 0),
        figure(Some(look.cpu.waiting_for_disk_percent), 0),
        figure(disk.map(|disk| disk.busy_percent), 0),
        figure(disk.map(|_| look.disks.iter().map(|disk| disk.read_mb_per_s).sum()), 1),
        figure(disk.map(|_| look.disks.iter().map(|disk| disk.write_mb_per_s).sum()), 1),
        figure(Some(look.network.iter().map(|one| one.received_mb_per_s).sum()), 1),
    ];
    row(to, machine, has_training.then(|| training(look)))
}

fn training(look: &Look) -> [String; 5] {
    let loaders = look.loaders.iter();
    let slowest = loaders.max_by(|a, b| {
        a.waited_percent.unwrap_or(-1.0).total_cmp(&b.waited_percent.unwrap_or(-1.0))
    });
    let wait = slowest.and_then(|loader| loader.batch_wait_ms);
    let rate = look.loaders.iter().map(|loader| loader.batches_per_s).sum();
    [
        figure(look.training.as_ref().map(|training| training.cores), 1),
        figure(slowest.map(|_| rate), 1),
        figure(wait.map(|wait| wait.p50), 1),
        figure(wait.map(|wait| wait.p99), 1),
        figure(slowest.and_then(|loader| loader.waited_percent), 0),
    ]
}

fn mean(look: &Look, figure: fn(&Sample) -> Option<f64>) -> Option<f64> {
    let known: Vec<f64> = look.gpus.iter().filter_map(figure).collect();
    (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
}

fn figure(value: Option<f64>, decimals: usize) -> String {
    value.map_or("-".to_string(), |value| format!("{value:.decimals$}"))
}

/// Writes the means and their interpretation.
pub(super) fn means(
    to: &mut impl Write,
    summary: &Summary,
    verdicts: &[Verdict],
    style: Style,
) -> io::Result<()> {
    writeln!(to, "\nmeans of {}", units::counted(summary.samples, "sample", "samples"))?;
    for line in block::lines(&summary.look, style) {
        writeln!(to, "{line}")?;
    }
    for gpu in &summary.look.gpus {
        if let Some(sm) = gpu.sm_percent {
            writeln!(to, "{}", verdict(gpu.gpu, sm, summary))?;
        }
    }
    verdicts_output::text(to, verdicts)
}

fn verdict(gpu: u64, sm: f64, summary: &Summary) -> String {
    let waited = summary.look.loaders.iter().filter_map(|loader| loader.waited_percent);
    let waited = waited.max_by(f64::total_cmp);
    if sm == 0.0 {
        format!("GPU {gpu} was idle.")
    } else if sm < BUSY_PERCENT {
        let idle = 100.0 - sm;
        match waited {
            Some(waited) => format!(
                "GPU {gpu} was idle {idle:.0} % of the time; the training waited for data in {waited:.0} % of its time."
            ),
            None => format!(
                "GPU {gpu} was idle {idle:.0} % of the time: print(loader.stats()) in the training program shows \
                 whether it waited for data."
            ),
        }
    } else {
        format!("GPU {gpu} was busy.")
    }
}

/// Writes a sample as one line of JSON.
pub(super) fn object(to: &mut impl Write, look: &Look) -> io::Result<()> {
    writeln!(to, "{}", shown::json(look))
}

#[derive(Serialize)]
struct Last<'a> {
    means: &'a Summary,
    #[serde(skip_serializing_if = "<[Verdict]>::is_empty")]
    requirements: &'a [Verdict],
}

/// Writes the means as the last line of JSON.
pub(super) fn last_object(
    to: &mut impl Write,
    summary: &Summary,
    verdicts: &[Verdict],
) -> io::Result<()> {
    writeln!(to, "{}", shown::json(&Last { means: summary, requirements: verdicts }))
}
