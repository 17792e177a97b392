//! From a builder's words to a loader: all that can't be met is said here, before anything of a shard is
//! read.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use crate::batch::BatchPool;
use crate::dataset::Dataset;
use crate::decode::Decode;
use crate::decode::raw::Raw;
use crate::device::Device;
use crate::device::memory::jpeg_store::ALIGNED;
use crate::error::{Error, Result};
use crate::loader::bad_samples::{BadList, OnBad};
use crate::loader::config::builder::{BatchSize, LoaderBuilder};
use crate::loader::config::sampler::Sampler;
use crate::loader::gpu::placement::ColumnPlacement;
use crate::loader::gpu::resident_config::ResidentSize;
use crate::loader::gpu::resident_jpegs::ResidentJpegs;
use crate::loader::gpu::resident_plan::Extent;
use crate::loader::gpu::resident_preload::Preload;
use crate::loader::indexed::readahead::reach;
use crate::loader::indexed::worker::{IndexedWorker, Materials, Policy};
use crate::loader::metrics::counters::Counters;
use crate::loader::metrics::stats::Setting;
use crate::loader::pipeline::columns::{ColumnSet, Columns};
use crate::loader::pipeline::memory_budget::{
    MemoryBudget, MemoryShare, SPARE_SLABS, default_memory, fewer_batches,
};
use crate::loader::shared::{JobPosition, LoaderShared, PreloadFn};
use crate::order::{By, Ledger, Order, Remainder, Share, Split};
use crate::pool::Pool;
use crate::source::open::SourceKind;

impl LoaderBuilder {
    /// What [`crate::loader::Loader`] stands before; see `build` there.
    pub(crate) fn inner(mut self) -> Result<Arc<LoaderShared>> {
        let taken = Err(Error::usage("a builder builds once"));
        let dataset = std::mem::replace(&mut self.dataset, taken)?;
        let dataset = match &self.opener {
            Some(opener) => dataset.with_opener(opener.clone()),
            None => dataset.with_source(self.source),
        };
        self.shuffle.check()?;
        let world = self.split.world();
        let batch = rows(self.batch, world)?;
        if self.columns.is_empty() {
            self.columns = all_parts(&dataset)?;
        }
        let rows = usize::try_from(batch).unwrap_or(usize::MAX);
        let (mut division, stays) = self.divide(&dataset, batch)?;
        let (resident, recalled) =
            stays.map_or((None, None), |(fit, fill, r)| (Some((fit, fill)), r));
        let recipe = Arc::new(ColumnSet::new(std::mem::take(&mut self.columns), rows)?);
        known_parts(&dataset, &recipe)?;
        let mut order = self.order(&dataset)?;
        let mut progress = JobPosition { epoch: 0, position: 0 };
        if let Some(state) = &self.resume {
            order = state.resume(&order, self.split)?;
            progress = JobPosition { epoch: state.epoch(), position: state.position() };
        }
        let share = Share::new(&order, self.split)?;
        let threads = threads(self.threads)?;
        let slabs = division.slabs();
        let fixed = recipe.batch_bytes();
        let default = default_memory(fixed, self.prefetch, slabs, threads);
        let memory = self.memory.unwrap_or(Ok(default))?;
        let shares = MemoryBudget::beside_slots((memory, slabs), fixed, self.prefetch, threads)?;
        // Those of a device's slots come back at their own time, and are dear to make: all are kept.
        let spare = SPARE_SLABS + if slabs == 0 { 0 } else { slabs + shares.depth as u64 };
        let setting = Setting {
            stream: false,
            copies: recipe.copies(),
            mapped: self.opener.is_none() && self.source == SourceKind::Mapped,
            asked: self.prefetch.max(1),
            depth: shares.depth,
        };
        let meter = Arc::new(Counters::of(threads, setting));
        let bad = Arc::new(BadList::new(self.bad_budget));
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
        let inner = LoaderShared {
            staging: division.take_staging(),
            slots: division.slots(&labour.with.recipe)?,
            resident,
            recalled,
            labour: Arc::new(labour),
            ledger: Mutex::new(Ledger::new(order.data())),
            order,
            share,
            remainder: self.remainder,
            batch,
            reach: reach(&self.shuffle),
            shares,
            warning: fewer_batches(self.prefetch, &shares, fixed),
            pool: Pool::of_process(threads)?,
            meter,
            shelf: Arc::new(BatchPool::new(spare as usize)),
            stocked: AtomicBool::new(false),
            bad,
            progress: Mutex::new(progress),
            resumed: Mutex::new(self.resume.is_some().then_some(progress)),
        };
        inner.steps(progress.position)?;
        Ok(Arc::new(inner))
    }

    fn order(&mut self, dataset: &Dataset) -> Result<Order> {
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

    /// Divides the columns' work between host and device.
    fn divide(
        &mut self,
        dataset: &Dataset,
        batch: u64,
    ) -> Result<(ColumnPlacement, Option<Stays>)> {
        let device = self.device.take();
        let Some(residency) = self.resident.take() else {
            let rows = usize::try_from(batch).unwrap_or(usize::MAX);
            let on_bad = self.policy.on_bad;
            return Ok((ColumnPlacement::of(device, &mut self.columns, (rows, on_bad)), None));
        };
        let mut once = self.once(dataset, device.clone(), batch);
        let share = Share::new(&once.order(dataset)?, once.split)?;
        let order = share.order();
        let extent = Extent {
            samples: order.samples(),
            rows: usize::try_from(batch).unwrap_or(usize::MAX),
            lengths: &|parts| lengths(dataset, order, parts),
        };
        once.left_out = self.left_out_again();
        let driver = device.as_ref().map(|(device, _)| device.0.clone());
        let (division, mut plan) =
            ColumnPlacement::resident(device, &mut self.columns, &residency, &extent)?;
        let (fit, recalled) = (plan.fit, plan.recalled.take());
        once.columns = std::mem::take(&mut plan.keep);
        let inner = once.inner()?;
        let Some(driver) = driver else { return Ok((division, None)) };
        let filling = Preload::new(plan, driver, dataset.len(), inner);
        Ok((division, Some((fit, Box::new(move |goes_on| filling.fill(goes_on)), recalled))))
    }

    /// A loader of every sample that may come, once, in order. It has no columns yet.
    fn once(
        &self,
        dataset: &Dataset,
        device: Option<(Device, usize)>,
        batch: u64,
    ) -> LoaderBuilder {
        // A sample that is bad now is met again in every epoch, and dealt with as the user said.
        let on_bad = if self.policy.on_bad == OnBad::Error { OnBad::Error } else { OnBad::Skip };
        let split = if self.split.by() == By::Shard { self.split } else { Split::alone() };
        LoaderBuilder {
            left_out: self.left_out_again(),
            range: self.range,
            split,
            remainder: Remainder::Uneven,
            batch: BatchSize::Rank(batch.min(ONCE)),
            policy: Policy { on_bad, ..self.policy },
            bad_budget: self.bad_budget,
            source: self.source,
            opener: self.opener.clone(),
            memory: self.memory.as_ref().map(|bound| bound.as_ref().map_err(again).copied()),
            threads: self.threads,
            prefetch: self.prefetch,
            device: device.map(|(device, _)| (device, 2)),
            ..LoaderBuilder::new(Ok(dataset.clone()))
        }
    }

    fn left_out_again(&self) -> Result<Vec<u64>> {
        self.left_out.as_ref().map_err(again).cloned()
    }
}

/// What stays on the device, what fills it, and what is decoded there for each batch.
type Stays = (ResidentSize, PreloadFn, Option<ResidentJpegs>);

/// Bytes of the first part of each sample of `order` that has one of these extensions, as they are kept.
fn lengths(dataset: &Dataset, order: &Order, parts: &[String]) -> Result<u64> {
    let mut stays = vec![false; usize::try_from(dataset.len()).unwrap_or(0)];
    order.cursor(0, 0)?.for_each(|draw| stays[draw.ordinal as usize] = true);
    let mut all = 0u64;
    dataset.filter(|facts| {
        let mut exts = parts.iter().flat_map(|part| part.split(';'));
        let length = exts.find_map(|ext| facts.length(ext)).unwrap_or(0);
        if stays[facts.ordinal() as usize] {
            all = all.saturating_add(length.next_multiple_of(ALIGNED));
        }
        true
    })?;
    Ok(all)
}

/// The most rows of a batch that fills a store.
const ONCE: u64 = 64;

fn again(error: &Error) -> Error {
    Error::new(error.kind(), error.text())
}

fn rows(batch: BatchSize, world: u64) -> Result<u64> {
    match batch {
        BatchSize::Rank(0) | BatchSize::PendingBatch(0) => {
            Err(Error::usage("a batch has at least one row"))
        }
        BatchSize::Rank(rows) => Ok(rows),
        BatchSize::PendingBatch(rows) if rows % world == 0 => Ok(rows / world),
        BatchSize::PendingBatch(rows) => Err(Error::usage(format!(
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
