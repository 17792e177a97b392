//! `Summary`: what a whole watch has seen, collected sample by sample in constant memory.

use std::collections::BTreeMap;

use serde::Serialize;

use super::super::gpus::Sample;
use super::loader_look::LoaderLook;
use super::loaders::LoaderRecord;
use super::look::Look;
use super::snapshot::Snapshot;
use super::training::Training;

/// The means of a watch: of the GPUs those of all samples, of all others what was done from its begin to its end.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct Summary {
    /// Number of samples.
    pub(crate) samples: u64,
    #[serde(flatten)]
    pub(crate) look: Look,
}

/// The sum of the known values of a figure.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    of: f64,
    count: u64,
}

impl Sum {
    fn add(&mut self, value: Option<f64>) {
        if let Some(value) = value {
            self.of += value;
            self.count += 1;
        }
    }

    fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.of / self.count as f64)
    }
}

/// The sums of the figures of one GPU.
type GpuSums = [Sum; 5];

/// What a watch has collected.
#[derive(Debug, Default)]
pub(crate) struct Collected {
    first: Snapshot,
    last: Snapshot,
    samples: u64,
    gpus: BTreeMap<u64, GpuSums>,
    /// Seconds of processors that the training used, and seconds of the watch.
    core_seconds: f64,
    seconds: f64,
    training: Option<Training>,
    /// The first and the last file of each loader.
    first_files: Vec<LoaderRecord>,
    last_files: Vec<LoaderRecord>,
    looks: Vec<LoaderLook>,
}

impl Collected {
    /// Begins with a first snapshot.
    pub(crate) fn new(first: Snapshot) -> Collected {
        let mut collected = Collected { last: first.clone(), ..Collected::default() };
        collected.keep_files(&first);
        collected.first = first;
        collected
    }

    /// Adds a snapshot, and returns what was done since the one before.
    pub(crate) fn add(&mut self, next: Snapshot) -> Look {
        let look = Look::between(&self.last, &next, &self.looks);
        self.samples += 1;
        for sample in &look.gpus {
            add_gpu(self.gpus.entry(sample.gpu).or_default(), sample);
        }
        let seconds = next.at - self.last.at;
        if let Some(training) = look.training.as_ref().filter(|training| training.processes > 0) {
            self.core_seconds += training.cores * seconds;
            self.seconds += seconds;
            self.training = Some(training.clone());
        }
        self.keep_files(&next);
        self.looks.clone_from(&look.loaders);
        self.last = next;
        look
    }

    fn keep_files(&mut self, of: &Snapshot) {
        for file in &of.loaders {
            if !self.first_files.iter().any(|known| known.is_same(file)) {
                self.first_files.push(file.clone());
            }
            match self.last_files.iter_mut().find(|known| known.is_same(file)) {
                Some(known) => known.clone_from(file),
                None => self.last_files.push(file.clone()),
            }
        }
    }

    /// Returns the means of all that was added.
    pub(crate) fn summary(&self) -> Summary {
        let first = Snapshot { loaders: self.first_files.clone(), ..self.first.clone() };
        let last = Snapshot { loaders: self.last_files.clone(), ..self.last.clone() };
        let mut look = Look::between(&first, &last, &[]);
        // The rates are over this time; a sample has the time since the begin of the watch.
        look.seconds = last.at - first.at;
        look.gpus = self.gpus.iter().map(|(gpu, sums)| mean_of(*gpu, sums)).collect();
        look.training = self.training();
        Summary { samples: self.samples, look }
    }

    /// Returns the training as it was last, with the means of what it used.
    fn training(&self) -> Option<Training> {
        let mut training = self.training.clone()?;
        let first = self.first.processes.as_deref();
        if let Some(processes) = self.last.processes.as_deref().filter(|last| !last.is_empty()) {
            let seconds = (self.last.at - self.first.at).max(1e-9);
            training = super::training::between(first, processes, seconds);
        }
        training.cores = self.core_seconds / self.seconds.max(1e-9);
        Some(training)
    }
}

fn add_gpu(sums: &mut GpuSums, sample: &Sample) {
    let figures = [
        sample.sm_percent,
        sample.memory_controller_percent,
        sample.memory_used_percent,
        sample.from_host_mb_per_s,
        sample.to_host_mb_per_s,
    ];
    sums.iter_mut().zip(figures).for_each(|(sum, figure)| sum.add(figure));
}

fn mean_of(gpu: u64, sums: &GpuSums) -> Sample {
    let [sm, controller, used, from, to] = sums.each_ref().map(Sum::mean);
    Sample {
        gpu,
        sm_percent: sm,
        memory_controller_percent: controller,
        memory_used_percent: used,
        from_host_mb_per_s: from,
        to_host_mb_per_s: to,
    }
}
