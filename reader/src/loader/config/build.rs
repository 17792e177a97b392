//! From a builder's words to a loader: all that can't be met is said here, before anything of a shard is
//! read.

use std::sync::{Arc, Mutex};

use crate::batch::BatchPool;
use crate::dataset::Dataset;
use crate::decode::Decode;
use crate::decode::raw::Raw;
use crate::error::{Error, Result};
use crate::loader::bad_samples::BadList;
use crate::loader::config::builder::{BatchSize, LoaderBuilder};
use crate::loader::config::sampler::Sampler;
use crate::loader::gpu::placement::without_device;
use crate::loader::indexed::readahead::reach;
use crate::loader::indexed::worker::{IndexedWorker, Materials};
use crate::loader::metrics::counters::Counters;
use crate::loader::metrics::stats::Setting;
use crate::loader::pipeline::columns::{ColumnSet, Columns};
use crate::loader::pipeline::memory_budget::{
    MemoryBudget, MemoryShare, SPARE_SLABS, default_memory, fewer_batches,
};
use crate::loader::shared::{JobPosition, LoaderShared};
use crate::order::{Ledger, Order, Share};
use crate::pool::Pool;
use crate::size::Size;
use crate::source::open::SourceKind;

/// A builder's data set, and the rows of its batches.
pub(crate) struct Opened {
    pub(crate) dataset: Dataset,
    /// Rows of a batch on each rank.
    pub(crate) batch: u64,
}

impl Opened {
    pub(crate) fn rows(&self) -> usize {
        usize::try_from(self.batch).unwrap_or(usize::MAX)
    }
}

impl LoaderBuilder {
    /// The state of a [`crate::loader::Loader`]; see `build` there.
    pub(crate) fn shared(mut self) -> Result<Arc<LoaderShared>> {
        let opened = self.open()?;
        let warning = without_device(&self.columns);
        Ok(Arc::new(self.assemble(opened, 0, warning)?))
    }

    /// Opens the data set, and gives the loader columns if it has none.
    pub(crate) fn open(&mut self) -> Result<Opened> {
        let taken = Err(Error::usage("a builder builds once"));
        let dataset = std::mem::replace(&mut self.dataset, taken)?;
        let dataset = match &self.opener {
            Some(opener) => dataset.with_opener(opener.clone()),
            None => dataset.with_source(self.source),
        };
        self.shuffle.check()?;
        let batch = rows(self.batch, self.split.world())?;
        if self.columns.is_empty() {
            self.columns = all_parts(&dataset)?;
        }
        Ok(Opened { dataset, batch })
    }

    /// The state of a loader, `slabs` of whose slabs a device holds.
    pub(crate) fn assemble(
        mut self,
        opened: Opened,
        slabs: u64,
        warning: Option<String>,
    ) -> Result<LoaderShared> {
        let rows = opened.rows();
        let Opened { dataset, batch } = opened;
        let recipe = Arc::new(ColumnSet::new(std::mem::take(&mut self.columns), rows)?);
        known_parts(&dataset, &recipe)?;
        let (order, progress) = self.resumed(&dataset)?;
        let share = Share::new(&order, self.split)?;
        let threads = threads(self.threads)?;
        let fixed = recipe.batch_bytes();
        let default = default_memory(fixed, self.prefetch, slabs, threads);
        let memory = self.memory.map_or(default, Size::bytes);
        let shares = MemoryBudget::beside_slots((memory, slabs), fixed, self.prefetch, threads)?;
        // Slabs that a device holds come back in its own time and are expensive to make: all are kept.
        let spare = SPARE_SLABS + if slabs == 0 { 0 } else { slabs + shares.depth as u64 };
        let setting = Setting {
            stream: false,
            copies: recipe.copies(),
            mapped: self.opener.is_none() && self.source == SourceKind::Mapped,
            asked: self.prefetch.max(1),
            depth: shares.depth,
        };
        let meter = Arc::new(Counters::of(threads, setting));
        let fewer = fewer_batches(self.prefetch, &shares, fixed);
        let labour = IndexedWorker::new(Materials {
            dataset,
            recipe,
            order: share.order().clone(),
            policy: self.policy,
            meter: meter.clone(),
            threads,
            decode: Arc::new(MemoryShare::new("decoding", shares.decode, meter.waits[0].clone())),
            reads: Arc::new(MemoryShare::new("reading", shares.reads, meter.waits[1].clone())),
        });
        let shared = LoaderShared {
            labour: Arc::new(labour),
            ledger: Mutex::new(Ledger::new(order.data())),
            order,
            share,
            remainder: self.remainder,
            batch,
            reach: reach(&self.shuffle),
            shares,
            warning: [fewer, warning].into_iter().flatten().reduce(|a, b| format!("{a}; {b}")),
            pool: Pool::of_process(threads)?,
            meter,
            shelf: Arc::new(BatchPool::new(spare as usize)),
            bad: Arc::new(BadList::new(self.bad_budget)),
            progress: Mutex::new(progress),
            resumed: Mutex::new(self.resume.is_some().then_some(progress)),
        };
        shared.steps(progress.position)?;
        Ok(shared)
    }

    /// The order of the samples, and where it begins.
    fn resumed(&mut self, dataset: &Dataset) -> Result<(Order, JobPosition)> {
        let order = self.order(dataset)?;
        Ok(match &self.resume {
            Some(state) => {
                let at = JobPosition { epoch: state.epoch(), position: state.position() };
                (state.resume(&order, self.split)?, at)
            }
            None => (order, JobPosition { epoch: 0, position: 0 }),
        })
    }

    pub(crate) fn order(&mut self, dataset: &Dataset) -> Result<Order> {
        let chosen = Sampler {
            dataset,
            mixed: &self.mixed,
            reweighed: std::mem::take(&mut self.reweighed),
            left_out: std::mem::replace(&mut self.left_out, Ok(Vec::new()))?,
            range: self.range,
            shuffle: self.shuffle,
            epoch: self.epoch,
        };
        chosen.order()
    }

    pub(crate) fn left_out_again(&self) -> Result<Vec<u64>> {
        self.left_out.as_ref().map_err(again).cloned()
    }
}

fn again(error: &Error) -> Error {
    Error::new(error.kind(), error.text())
}

fn rows(batch: BatchSize, world: u64) -> Result<u64> {
    match batch {
        BatchSize::Rank(0) | BatchSize::Job(0) => Err(Error::usage("a batch has at least one row")),
        BatchSize::Rank(rows) => Ok(rows),
        BatchSize::Job(rows) if rows % world == 0 => Ok(rows / world),
        BatchSize::Job(rows) => Err(Error::usage(format!(
            "a global batch of {rows} rows can't be dealt to {world} ranks evenly: take a multiple of {world}"
        ))),
    }
}

pub(crate) fn threads(asked: Option<usize>) -> Result<usize> {
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    match asked.unwrap_or_else(cores) {
        0 => Err(Error::usage("a loader needs a thread: leave .threads() out for one a core")),
        threads @ 1..=4096 => Ok(threads),
        threads => Err(Error::usage(format!("{threads} threads; 4,096 at most"))),
    }
}

/// A column of bytes for every extension of the data set.
fn all_parts(dataset: &Dataset) -> Result<Columns> {
    let raw = |ext: &String| {
        (ext.clone(), Arc::new(Raw::new(ext.as_str()).if_there()) as Arc<dyn Decode>)
    };
    Ok(dataset.extensions()?.keys().map(raw).collect())
}

/// Refuses parts that no sample of the data set has.
fn known_parts(dataset: &Dataset, recipe: &ColumnSet) -> Result<()> {
    let known = dataset.extensions()?;
    for n in 0..recipe.wanted.len() {
        let alternatives = recipe.wanted.alternatives(n);
        if !alternatives.iter().any(|ext| known.contains_key(ext)) {
            let there: Vec<_> = known.keys().map(String::as_str).collect();
            let text = format!(
                "no sample has a part '{}'; the data set has: {}",
                alternatives.join("' or '"),
                there.join(", ")
            );
            return Err(Error::usage(text));
        }
    }
    Ok(())
}
