//! Samples of all GPUs over time, and their means: "is my GPU busy while I train?"

use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;
use tarflume_base::Stop;

use super::gpus::{Gpus, Sample};

/// The longest delay between a stop request and the end.
const SLICE: Duration = Duration::from_millis(50);

/// The means of all samples.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct Means {
    /// Number of samples.
    pub(crate) samples: u64,
    /// For each GPU the means of its figures.
    pub(crate) gpus: Vec<Sample>,
}

/// Samples at a fixed interval, starting immediately, `count` times or until `stop` is requested or
/// `each`, which gets the time since the start, returns false.
pub(crate) fn watch(
    gpus: &dyn Gpus,
    every: Duration,
    count: Option<u64>,
    stop: &Stop,
    mut each: impl FnMut(Duration, &[Sample]) -> bool,
) -> Means {
    let begin = Instant::now();
    let mut seen = Vec::new();
    let mut next = Duration::ZERO;
    while !stop.requested() && count.is_none_or(|count| (seen.len() as u64) < count) {
        let left = next.saturating_sub(begin.elapsed());
        if !left.is_zero() {
            thread::sleep(left.min(SLICE));
            continue;
        }
        let sample = gpus.sample();
        let heard = each(begin.elapsed(), &sample);
        seen.push(sample);
        if !heard {
            break;
        }
        next = (next + every).max(begin.elapsed()); // looks that were missed are not made up for
    }
    means(&seen)
}

/// Returns the mean of each figure over the samples that have it, for each GPU.
fn means(seen: &[Vec<Sample>]) -> Means {
    let mut numbers: Vec<u64> = seen.iter().flatten().map(|sample| sample.gpu).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let gpus = numbers.into_iter().map(|gpu| means_of(seen, gpu)).collect();
    Means { samples: seen.len() as u64, gpus }
}

fn means_of(seen: &[Vec<Sample>], gpu: u64) -> Sample {
    Sample {
        gpu,
        sm_percent: mean(seen, gpu, |sample| sample.sm_percent),
        memory_controller_percent: mean(seen, gpu, |sample| sample.memory_controller_percent),
        memory_used_percent: mean(seen, gpu, |sample| sample.memory_used_percent),
        from_host_mb_per_s: mean(seen, gpu, |sample| sample.from_host_mb_per_s),
        to_host_mb_per_s: mean(seen, gpu, |sample| sample.to_host_mb_per_s),
    }
}

fn mean(seen: &[Vec<Sample>], gpu: u64, figure: fn(&Sample) -> Option<f64>) -> Option<f64> {
    let known: Vec<f64> =
        seen.iter().flatten().filter(|sample| sample.gpu == gpu).filter_map(figure).collect();
    (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::super::facts::{Driver, Gpu};
    use super::*;

    /// A GPU whose utilization rises by ten percent with each sample; a second one without data.
    struct Rising(Cell<u64>);

    impl Gpus for Rising {
        fn driver(&self, _: &mut Driver) {}

        fn gpus(&self) -> Vec<Gpu> {
            Vec::new()
        }

        fn sample(&self) -> Vec<Sample> {
            self.0.set(self.0.get() + 10);
            let rising = Sample { sm_percent: Some(self.0.get() as f64), ..Sample::default() };
            vec![rising, Sample { gpu: 1, ..Sample::default() }]
        }
    }

    #[test]
    fn watch_takes_the_requested_samples_and_prints_their_means() {
        let mut lines = 0;
        let gpus = Rising(Cell::new(0));
        let means = watch(&gpus, Duration::from_millis(1), Some(3), &Stop::new(), |_, _| {
            lines += 1;
            true
        });
        assert_eq!((lines, means.samples, means.gpus.len()), (3, 3, 2));
        assert_eq!(means.gpus[0].sm_percent, Some(20.0));
        assert_eq!(means.gpus[1].sm_percent, None);
    }

    #[test]
    fn watch_ends_on_request_and_when_its_output_is_closed() {
        let gpus = Rising(Cell::new(0));
        let stop = Stop::new();
        let means = watch(&gpus, Duration::from_secs(3600), None, &stop, |_, _| {
            stop.request();
            true
        });
        assert_eq!(means.samples, 1);
        let means = watch(&gpus, Duration::from_secs(3600), None, &Stop::new(), |_, _| false);
        assert_eq!(means.samples, 1);
        stop.request();
        let means = watch(&gpus, Duration::ZERO, None, &stop, |_, _| true);
        assert_eq!(means, Means::default());
    }
}
