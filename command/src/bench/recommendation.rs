//! How many threads a loader needs on this machine: measurements with several numbers, and a choice.

use std::time::{Duration, Instant};

use serde::Serialize;
use tarflume_base::Failure;

use super::images::{self, Images};
use super::options::Options;
use super::{measurement, open};

/// The share of the best rate that the chosen number of threads reaches.
const NEARLY_BEST: f64 = 0.95;
/// The rate that is wanted beyond the one that an accelerator takes, so that a slow moment is no wait.
const SPARE: f64 = 1.1;

/// The rate with each number of threads, and the number to use.
#[derive(Debug, Serialize)]
pub(crate) struct Recommendation {
    /// `decoded` pictures, or parts as they are stored: `raw`.
    pub(crate) measured: &'static str,
    pub(crate) curve: Vec<Point>,
    /// Samples per second that an accelerator takes, with `--step-ms`.
    pub(crate) needed_samples_per_s: Option<f64>,
    pub(crate) choice: Choice,
    /// The extensions of the pictures, the preferred one first.
    pub(crate) images: Vec<String>,
}

/// The rate with a number of threads.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Point {
    pub(crate) threads: usize,
    pub(crate) samples_per_s: f64,
}

/// The number of threads to use, and why.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Choice {
    pub(crate) threads: usize,
    pub(crate) samples_per_s: f64,
    pub(crate) reason: Reason,
}

/// Why a number of threads is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Reason {
    /// The fewest that feed the accelerator, with a tenth to spare.
    FeedsAccelerator,
    /// None feeds the accelerator; this is the fastest.
    TooSlow,
    /// The fewest that reach 95 % of the best rate.
    NearlyBest,
}

/// Measures the data set with 1, 2, 4, ... and `most` threads.
///
/// # Errors
/// Returns an error if the loader refuses the options, or if shards or samples are damaged.
pub(crate) fn recommend(options: &Options, most: usize) -> Result<Recommendation, Failure> {
    let dataset = open(options)?;
    let parts = dataset.extensions()?;
    let images = if options.raw { None } else { images::of(&parts, dataset.len()) };
    let mut curve = Vec::new();
    for threads in numbers(most) {
        let options = Options { threads: Some(threads), ..options.clone() };
        curve.push(Point { threads, samples_per_s: rate(&options, images.as_ref())? });
    }
    let needed = options
        .step
        .map(|step| options.batch as f64 / step.max(Duration::from_nanos(1)).as_secs_f64());
    Ok(Recommendation {
        measured: if images.is_some() { "decoded" } else { "raw" },
        choice: choose(&curve, needed),
        curve,
        needed_samples_per_s: needed,
        images: images.map_or(Vec::new(), |images| images.exts),
    })
}

fn rate(options: &Options, images: Option<&Images>) -> Result<f64, Failure> {
    let opened = Instant::now();
    let mut builder = measurement::builder(open(options)?, options);
    if let Some(images) = images {
        builder = measurement::decoded(builder, images).0;
    }
    let measured =
        measurement::measure(&builder.build()?, options.until, opened, images.is_some())?;
    Ok(measured.samples_per_s)
}

/// The powers of two below `most`, and `most`.
fn numbers(most: usize) -> Vec<usize> {
    let mut numbers: Vec<usize> =
        (0..usize::BITS).map(|n| 1 << n).take_while(|&threads| threads < most).collect();
    numbers.push(most.max(1));
    numbers
}

/// The fewest threads that suffice.
fn choose(curve: &[Point], needed: Option<f64>) -> Choice {
    let best = curve
        .iter()
        .copied()
        .max_by(|one, other| one.samples_per_s.total_cmp(&other.samples_per_s))
        .expect("a curve has a point");
    let enough = needed.map_or(NEARLY_BEST * best.samples_per_s, |needed| SPARE * needed);
    let found = curve.iter().copied().find(|point| point.samples_per_s >= enough);
    let reason = match (needed, found) {
        (Some(_), Some(_)) => Reason::FeedsAccelerator,
        (Some(_), None) => Reason::TooSlow,
        (None, _) => Reason::NearlyBest,
    };
    let Point { threads, samples_per_s } = found.unwrap_or(best);
    Choice { threads, samples_per_s, reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine whose rate grows up to four threads.
    fn curve() -> Vec<Point> {
        [(1, 1000.0), (2, 1900.0), (4, 3500.0), (8, 3600.0), (12, 3550.0)]
            .map(|(threads, samples_per_s)| Point { threads, samples_per_s })
            .to_vec()
    }

    #[test]
    fn the_fewest_threads_are_chosen_that_suffice() {
        for (needed, threads, reason) in [
            (None, 4, Reason::NearlyBest),
            (Some(800.0), 1, Reason::FeedsAccelerator),
            (Some(1700.0), 2, Reason::FeedsAccelerator),
            (Some(1800.0), 4, Reason::FeedsAccelerator), // two reach it, without a tenth to spare
            (Some(3400.0), 8, Reason::TooSlow),
        ] {
            let choice = choose(&curve(), needed);
            assert_eq!((choice.threads, choice.reason), (threads, reason), "{needed:?}");
        }
    }

    #[test]
    fn numbers_of_threads_double_up_to_the_most() {
        assert_eq!(numbers(1), [1]);
        assert_eq!(numbers(2), [1, 2]);
        assert_eq!(numbers(12), [1, 2, 4, 8, 12]);
    }
}
