//! The output of `pack doctor --watch`: one line per GPU and sample, then the means.

use std::io::{self, Write};
use std::time::Duration;

use serde::Serialize;
use tarflume_base::units;
use tarflume_formats::shown;

use crate::doctor::gpus::Sample;
use crate::doctor::watch::Means;

/// Below this, a GPU is idle for more than a tenth of the time.
const BUSY_PERCENT: f64 = 90.0;

/// Writes the names of the columns.
pub(super) fn head(to: &mut impl Write) -> io::Result<()> {
    writeln!(
        to,
        "{:>8} {:>4} {:>6} {:>13} {:>13} {:>16} {:>14}",
        "seconds",
        "GPU",
        "SM %",
        "memory busy %",
        "memory used %",
        "from host MB/s",
        "to host MB/s"
    )
}

/// Writes a line for each GPU.
pub(super) fn lines(to: &mut impl Write, time: Duration, samples: &[Sample]) -> io::Result<()> {
    let first = format!("{:.1}", time.as_secs_f64());
    samples.iter().try_for_each(|sample| line(to, &first, sample))
}

fn line(to: &mut impl Write, first: &str, sample: &Sample) -> io::Result<()> {
    writeln!(
        to,
        "{first:>8} {:>4} {:>6} {:>13} {:>13} {:>16} {:>14}",
        sample.gpu,
        figure(sample.sm_percent),
        figure(sample.memory_controller_percent),
        figure(sample.memory_used_percent),
        figure(sample.from_host_mb_per_s),
        figure(sample.to_host_mb_per_s)
    )
}

fn figure(value: Option<f64>) -> String {
    value.map_or("-".to_string(), |value| format!("{value:.0}"))
}

/// Writes the means and their interpretation.
pub(super) fn means(to: &mut impl Write, means: &Means) -> io::Result<()> {
    writeln!(to, "\nmeans of {}", units::counted(means.samples, "sample", "samples"))?;
    head(to)?;
    means.gpus.iter().try_for_each(|gpu| line(to, "mean", gpu))?;
    if means.gpus.is_empty() {
        writeln!(to, "the driver reports no GPU")?;
    }
    for gpu in &means.gpus {
        if let Some(sm) = gpu.sm_percent {
            writeln!(to, "{}", verdict(gpu.gpu, sm))?;
        }
    }
    Ok(())
}

fn verdict(gpu: u64, sm: f64) -> String {
    if sm == 0.0 {
        format!("GPU {gpu} was idle.")
    } else if sm < BUSY_PERCENT {
        format!(
            "GPU {gpu} was idle {:.0} % of the time: print(loader.stats()) in the training program shows \
             whether it waited for data.",
            100.0 - sm
        )
    } else {
        format!("GPU {gpu} was busy.")
    }
}

#[derive(Serialize)]
struct Look<'a> {
    seconds: f64,
    gpus: &'a [Sample],
}

/// Writes a sample as one line of JSON.
pub(super) fn object(to: &mut impl Write, time: Duration, samples: &[Sample]) -> io::Result<()> {
    writeln!(to, "{}", shown::json(&Look { seconds: time.as_secs_f64(), gpus: samples }))
}

#[derive(Serialize)]
struct Last<'a> {
    means: &'a Means,
}

/// Writes the means as the last line of JSON.
pub(super) fn last_object(to: &mut impl Write, means: &Means) -> io::Result<()> {
    writeln!(to, "{}", shown::json(&Last { means }))
}
