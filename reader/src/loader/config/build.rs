//! How a `LoaderBuilder` makes a loader: all options are checked before anything of a shard is read.

use std::sync::{Arc, Mutex};

use tarflume_dataset::{Dataset, SourceKind};
use tarflume_device::batch::BatchPool;
use tarflume_formats::json::JsonRules;
use tarflume_types::{Error, Result};

use crate::decode::Decode;
use crate::decode::bytes::raw::Raw;
use crate::decode::values::json_advice::fields;
use crate::fetch::verify::Verify;
use crate::loader::arrays::any_source::AnySource;
use crate::loader::arrays::source::ArraySource;
use crate::loader::bad_samples::{BadList, OnBad};
use crate::loader::config::builder::{BatchSize, LoaderBuilder};
use crate::loader::config::groups::resolved::Grouped;
use crate::loader::config::sampler::Sampler;
use crate::loader::gpu::placement::without_device;
use crate::loader::indexed::groups::progress::GroupProgress;
use crate::loader::indexed::source::IndexedSource;
use crate::loader::metrics::stats::Setting;
use crate::loader::metrics::stats_file::StatsFile;
use crate::loader::metrics::warning::Warning;
use crate::loader::pipeline::columns::{ColumnSet, Columns};
use crate::loader::pipeline::memory_budget::{
    MemoryBudget, MemoryShare, SPARE_SLABS, default_memory, fewer_batches,
};
use crate::loader::shared::{JobPosition, LoaderShared};
use crate::order::{Buckets, Ledger, Order, Share};
use crate::pool::ThreadPool;
use tarflume_formats::message::Message;

/// The data set of a builder, and the rows of its batches.
pub(crate) struct OpenedDataset {
    pub(crate) dataset: Dataset,
    /// Rows of a batch on each rank; with buckets and packs, the most.
    pub(crate) batch: u64,
    /// The order, and what belongs together.
    grouped: Option<Grouped>,
}

impl OpenedDataset {
    pub(crate) fn rows(&self) -> usize {
        usize::try_from(self.batch).unwrap_or(usize::MAX)
    }
}

impl LoaderBuilder {
    /// The state of a [`crate::loader::Loader`]; see `build` there.
    pub(crate) fn shared(mut self) -> Result<Arc<LoaderShared>> {
        let opened = self.open()?;
        let warning = without_device(&self.common.columns);
        Ok(self.assemble(opened, 0, warning)?.started())
    }

    /// Opens the data set, and gives the loader columns if it has none.
    pub(crate) fn open(&mut self) -> Result<OpenedDataset> {
        let taken = Err(Error::usage("a builder builds once"));
        let dataset = std::mem::replace(&mut self.of.dataset, taken)?;
        let dataset = match &self.of.opener {
            Some(opener) => dataset.with_opener(opener.clone()),
            None => dataset.with_source(self.of.source),
        };
        self.of.shuffle.check()?;
        let batch = rows(self.of.batch, self.of.split.world())?;
        if let Some(arrays) = &self.of.arrays {
            self.check_arrays()?;
            arrays.check_order(self.of.shuffle)?;
            self.common.columns = arrays.columns();
        } else if self.common.columns.is_empty() {
            self.common.columns = all_parts(&dataset)?;
        }
        describe_arrays(&dataset, &mut self.common.columns)?;
        number_classes(&dataset, &mut self.common.columns);
        take_stored_values(&dataset, &mut self.common.columns);
        let grouped = self.grouped(&dataset, batch)?;
        self.common.add_made_columns()?;
        let batch = grouped.as_ref().map_or(batch, Grouped::most_rows);
        Ok(OpenedDataset { dataset, batch, grouped })
    }

    /// The shared state of a loader. A device holds `slabs` of its slabs.
    pub(crate) fn assemble(
        mut self,
        opened: OpenedDataset,
        slabs: u64,
        warning: Option<Message>,
    ) -> Result<LoaderShared> {
        let rows = opened.rows();
        let OpenedDataset { dataset, batch, grouped } = opened;
        let columns = std::mem::take(&mut self.common.columns);
        let mut columns = ColumnSet::new(columns, rows)?;
        columns.wanted.verify_copies(self.of.verify.unwrap_or_default());
        let object_mixers = self.common.object_mixers(&mut columns)?;
        let columns = Arc::new(columns);
        if self.of.arrays.is_none() {
            check_parts(&dataset, &columns)?;
        }
        let Resumed { order, position, groups } = self.resumed(&dataset, grouped)?;
        let mixer = self.common.mixer(order.seed(), &columns)?;
        let share = Share::new(&order, self.of.split)?;
        let threads = self.common.threads()?;
        let prefetch = self.common.prefetch()?;
        let fixed = self.common.batch_bytes(&columns, &object_mixers);
        let memory = self.common.memory_or(default_memory(fixed, prefetch, slabs, threads));
        let budget = MemoryBudget::beside_slots(memory, slabs, fixed, prefetch, threads)?;
        let fewer = fewer_batches(prefetch, &budget, fixed);
        let object_mixers = Arc::new(object_mixers.seeded(order.seed()));
        let of_samples = groups.as_ref().and_then(|groups| groups.buckets().cloned());
        let order_of_rank = share.order().clone();
        let source = self.any_source(dataset, columns, order_of_rank, of_samples, threads, &budget);
        let shared = LoaderShared {
            counters: source.counters().clone(),
            source: Arc::new(source),
            ledger: Mutex::new(Ledger::new(order.data())),
            order,
            share,
            remainder: self.of.remainder,
            batch,
            groups: groups.map(Arc::new),
            shuffle: self.of.shuffle,
            budget,
            warning: Warning::of([fewer, warning].into_iter().flatten()),
            pool: ThreadPool::of_process(threads)?,
            batch_pool: Arc::new(BatchPool::new(spare_slabs(slabs, &budget) as usize)),
            object_mixers,
            mixer,
            bad: Arc::new(BadList::new(self.common.bad_budget)),
            position: Mutex::new(position),
            resumed: Mutex::new(self.of.resume.is_some().then_some(position)),
            stats_file: StatsFile::of_process(),
        };
        shared.steps_of(position.epoch)?;
        Ok(shared)
    }

    fn any_source(
        &self,
        dataset: Dataset,
        columns: Arc<ColumnSet>,
        order: Order,
        buckets: Option<Buckets>,
        threads: usize,
        budget: &MemoryBudget,
    ) -> AnySource {
        let verify = self.of.verify.unwrap_or(if dataset.is_remote() {
            Verify::All
        } else {
            Verify::default()
        });
        let setting = Setting {
            stream: false,
            copies: columns.copies(),
            mapped: self.of.opener.is_none() && self.of.source == SourceKind::Mapped,
            requested: self.common.requested_prefetch(),
            depth: budget.depth,
        };
        if let Some(arrays) = self.of.arrays.clone() {
            let writer = self.common.writer(columns, threads, budget, setting);
            let seed = order.seed();
            return AnySource::Arrays(ArraySource { writer, arrays, seed }, dataset);
        }
        let writer = self.common.writer(columns, threads, budget, setting);
        let waited = writer.counters.waits[1].clone();
        let read_memory = Arc::new(MemoryShare::new("reading", budget.reads, waited));
        let mut source = IndexedSource::new(writer, dataset, order, verify, read_memory);
        source.buckets = buckets;
        AnySource::Shards(source)
    }

    /// Checks that no option needs samples of shards.
    fn check_arrays(&self) -> Result<()> {
        if !self.common.columns.is_empty() {
            let text = "the columns of a loader of arrays are the arrays: name no others";
            return Err(Error::usage(text));
        }
        if self.common.on_bad == OnBad::Substitute {
            let text = "bad rows of arrays are errors or are left out; no other row replaces them";
            return Err(Error::usage(text));
        }
        Ok(())
    }

    /// The order of the samples, and where it begins.
    fn resumed(&mut self, dataset: &Dataset, grouped: Option<Grouped>) -> Result<Resumed> {
        let split = self.of.split;
        let state = self.of.resume.as_ref();
        let mut position = JobPosition { epoch: 0, position: 0 };
        if let Some(state) = state {
            position = JobPosition { epoch: state.epoch(), position: state.position() };
        }
        if let Some(grouped) = grouped {
            let resumed = grouped.resumed(state, split, self.of.remainder)?;
            let groups = Some(resumed.progress);
            return Ok(Resumed { order: resumed.order, position, groups });
        }
        let order = self.order(dataset)?;
        let order = match &self.of.resume {
            Some(state) => state.resume(&order, split)?,
            None => order,
        };
        Ok(Resumed { order, position, groups: None })
    }

    pub(crate) fn order(&mut self, dataset: &Dataset) -> Result<Order> {
        let sampler = Sampler {
            dataset,
            arrays: self.of.arrays.as_ref(),
            mixed: &self.of.mixed,
            reweighed: std::mem::take(&mut self.of.reweighed),
            left_out: std::mem::replace(&mut self.of.left_out, Ok(Vec::new()))?,
            selected: std::mem::replace(&mut self.of.selected, Ok(None))?,
            weights: self.of.weights.take(),
            skip: self.of.skip,
            take: self.of.take,
            shuffle: self.of.shuffle,
            epoch: self.of.epoch,
        };
        sampler.order()
    }
}

/// The order of a loader, and where it begins.
struct Resumed {
    order: Order,
    position: JobPosition,
    groups: Option<GroupProgress>,
}

fn rows(batch: BatchSize, world: u64) -> Result<u64> {
    match batch {
        BatchSize::Rank(0) | BatchSize::Global(0) => {
            Err(Error::usage("a batch has at least one row"))
        }
        BatchSize::Rank(rows) => Ok(rows),
        BatchSize::Global(rows) if rows % world == 0 => Ok(rows / world),
        BatchSize::Global(rows) => Err(Error::usage(format!(
            "a global batch of {rows} rows can't be dealt to {world} ranks evenly: take a multiple of {world}"
        ))),
    }
}

/// Slabs that the pool keeps: all that an epoch prepares, so that the next one begins without new pages, and those that a
/// device copies from. The memory limit counts them.
fn spare_slabs(slabs: u64, budget: &MemoryBudget) -> u64 {
    SPARE_SLABS + slabs + budget.depth as u64
}

/// A column of bytes for every extension of the data set.
fn all_parts(dataset: &Dataset) -> Result<Columns> {
    Ok(dataset.extensions()?.keys().map(|ext| raw(ext)).collect())
}

fn raw(ext: &str) -> (String, Arc<dyn Decode>) {
    (ext.to_string(), Arc::new(Raw::new(ext).allow_missing()))
}

/// Gives columns of bytes the type and shape of the arrays that the manifest describes.
fn describe_arrays(dataset: &Dataset, columns: &mut Columns) -> Result<()> {
    for (_, decode) in columns {
        let ext = decode.hooks().and_then(|hooks| hooks.undescribed()).map(str::to_string);
        // Only arrays have this extension, and manifests are read again for it.
        let Some(ext) = ext.filter(|ext| ext.ends_with(".raw")) else { continue };
        if let Some((dtype, shape)) = dataset.array(&ext)? {
            *decode = Arc::new(Raw::new(ext).dtype(dtype).shape(shape));
        }
    }
    Ok(())
}

/// Numbers the names of classes as the manifest does.
fn number_classes(dataset: &Dataset, columns: &mut Columns) {
    let Some(classes) = dataset.classes() else { return };
    for (_, decode) in columns {
        if let Some(numbered) = decode.hooks().and_then(|hooks| hooks.with_classes(classes)) {
            *decode = numbered;
        }
    }
}

/// Reads numbers from the typed columns of the sidecars, where they have them: the parts are then not needed.
fn take_stored_values(dataset: &Dataset, columns: &mut Columns) {
    for (_, decode) in columns {
        let Some(hooks) = decode.hooks() else { continue };
        let Some((ext, pointer)) = hooks.value_place() else { continue };
        if decode.validate().is_err() {
            continue; // `ColumnSet` returns the error, with the column's name
        }
        let values = dataset.stored_values(ext, pointer);
        if let Some(stored) = values.and_then(|values| hooks.with_values(values)) {
            *decode = stored;
        }
    }
}

/// Returns an error if a column needs a part that no sample of the data set has.
fn check_parts(dataset: &Dataset, columns: &ColumnSet) -> Result<()> {
    if dataset.is_empty() {
        let text = "the data set has no samples: its shards are empty";
        return Err(Error::usage(text));
    }
    let known = dataset.extensions()?;
    let Some(need) = columns
        .unmet(|need| columns.wanted.alternatives(need).iter().any(|ext| known.contains_key(ext)))
    else {
        return Ok(());
    };
    let alternatives = columns.wanted.alternatives(need);
    let there: Vec<_> = known.keys().map(String::as_str).collect();
    Err(Error::usage(format!(
        "no sample has a part '{}'; the data set has: {}{}",
        alternatives.join("' or '"),
        there.join(", "),
        field_instead(dataset, alternatives)
    )))
}

/// Returns the advice to name a field of the JSON part by its pointer, if the first sample has a field with the name of
/// the missing part.
fn field_instead(dataset: &Dataset, missing: &[String]) -> String {
    let Ok(sample) = dataset.get_parts(0, &["json"]) else { return String::new() };
    let json = sample.part("json").map_or(&[][..], |json| json.as_slice());
    let pointers = missing.iter().map(|part| format!("/{part}"));
    let fields = fields(json, "/", JsonRules::Python);
    match pointers.into_iter().find(|pointer| fields.contains(pointer)) {
        Some(pointer) => {
            format!("; its JSON has a field of this name, whose pointer is {pointer:?}")
        }
        None => String::new(),
    }
}
