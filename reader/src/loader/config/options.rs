//! `CommonOptions`: the options that every kind of loader has, and what is built from them alone.

use std::fmt;
use std::sync::Arc;

use tarflume_formats::message;
use tarflume_formats::message::Name;
use tarflume_transforms::mixing::{Mix, MixPlan};
use tarflume_types::{Error, Result, Size};

use crate::decode::Decode;
use crate::loader::bad_samples::OnBad;
use crate::loader::metrics::counters::Counters;
use crate::loader::metrics::stats::Setting;
use crate::loader::pipeline::columns::{ColumnSet, Columns};
use crate::loader::pipeline::draws::kept_columns;
use crate::loader::pipeline::memory_budget::{MemoryBudget, MemoryShare};
use crate::loader::pipeline::mixer::object_mixers::{ObjectMixers, ObjectOptions};
use crate::loader::pipeline::mixer::{Mixer, added_columns};
use crate::loader::pipeline::worker::SampleWriter;

/// Batches in preparation at once, by default.
const PREFETCH: usize = 4;
/// More batches in preparation are an error: they would never all be needed.
const MOST_PREFETCH: usize = 65_536;
/// The most bad samples under `Skip` and `Substitute`, by default.
const BAD_BUDGET: u64 = 1000;

/// The options that every kind of loader has.
#[derive(Clone)]
pub(crate) struct CommonOptions {
    pub(crate) columns: Columns,
    pub(crate) on_bad: OnBad,
    pub(crate) bad_budget: u64,
    pub(crate) mix: Option<Mix>,
    pub(crate) objects: ObjectOptions,
    /// Whether batches have columns of what recipes drew.
    pub(crate) keep_transforms: bool,
    memory: Option<Size>,
    threads: Option<usize>,
    prefetch: usize,
}

impl Default for CommonOptions {
    fn default() -> CommonOptions {
        CommonOptions {
            columns: Vec::new(),
            on_bad: OnBad::default(),
            bad_budget: BAD_BUDGET,
            mix: None,
            objects: ObjectOptions::default(),
            keep_transforms: false,
            memory: None,
            threads: None,
            prefetch: PREFETCH,
        }
    }
}

impl fmt::Debug for CommonOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns: Vec<&str> = self.columns.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("CommonOptions")
            .field("columns", &columns)
            .field("on_bad", &self.on_bad)
            .field("bad_budget", &self.bad_budget)
            .field("mix", &self.mix)
            .field("mosaic", &self.objects.mosaic)
            .field("copy_paste", &self.objects.copy_paste)
            .field("keep_transforms", &self.keep_transforms)
            .field("memory", &self.memory)
            .field("threads", &self.threads)
            .field("prefetch", &self.prefetch)
            .finish()
    }
}

impl CommonOptions {
    /// The same options without columns and mixing, and with another policy.
    pub(crate) fn without_columns(&self, on_bad: OnBad) -> CommonOptions {
        let columns = Vec::new();
        CommonOptions {
            on_bad,
            columns,
            mix: None,
            objects: ObjectOptions::default(),
            keep_transforms: false,
            ..self.clone()
        }
    }

    pub(crate) fn add_column(&mut self, name: &str, decode: impl Decode) {
        self.columns.push((name.to_string(), Arc::new(decode)));
    }

    /// Adds the columns that mixing makes, and those of what was drawn.
    ///
    /// # Errors
    /// Those of [`added_columns`] and [`ObjectOptions::added_columns`].
    pub(crate) fn add_made_columns(&mut self) -> Result<()> {
        let keep = self.keep_transforms;
        let kept = if keep { kept_columns(&self.columns) } else { Vec::new() };
        let added = self.objects.added_columns(&self.columns, keep)?;
        self.columns.extend(added);
        if let Some(mix) = &self.mix {
            let added = added_columns(mix, &self.columns, keep)?;
            self.columns.extend(added);
        }
        self.columns.extend(kept);
        Ok(())
    }

    /// Bytes of a batch without its variable columns.
    pub(crate) fn batch_bytes(&self, columns: &ColumnSet, objects: &ObjectMixers) -> u64 {
        let row = self.mix.as_ref().map_or(0, |_| MixPlan::ROW_BYTES as u64);
        let plan = row.saturating_mul(columns.layout.rows() as u64);
        let changed = objects.batch_bytes(columns);
        columns.batch_bytes().saturating_add(plan).saturating_add(changed)
    }

    /// What changes pictures and objects of the batches of these columns.
    ///
    /// # Errors
    /// Those of [`ObjectOptions::mixers`].
    pub(crate) fn object_mixers(&self, columns: &mut ColumnSet) -> Result<ObjectMixers> {
        self.objects.mixers(columns, self.keep_transforms)
    }

    /// What mixes the batches of these columns.
    ///
    /// # Errors
    /// Those of [`Mixer::new`].
    pub(crate) fn mixer(&self, seed: u64, columns: &ColumnSet) -> Result<Option<Arc<Mixer>>> {
        let keep = self.keep_transforms;
        let mixer = self.mix.clone().map(|mix| Mixer::new(mix, seed, columns, keep)).transpose()?;
        Ok(mixer.map(Arc::new))
    }

    pub(crate) fn set_memory(&mut self, limit: Size) {
        self.memory = Some(limit);
    }

    pub(crate) fn set_threads(&mut self, threads: usize) {
        self.threads = Some(threads);
    }

    pub(crate) fn set_prefetch(&mut self, batches: usize) {
        self.prefetch = batches;
    }

    /// Batches in preparation at once.
    ///
    /// # Errors
    /// It is too large.
    pub(crate) fn prefetch(&self) -> Result<usize> {
        match self.prefetch {
            batches @ 0..=MOST_PREFETCH => Ok(batches),
            batches => Err(Error::usage(format!(
                "a prefetch of {batches} batches; {MOST_PREFETCH} at most"
            ))),
        }
    }

    /// Batches that statistics compare with: at least one is in preparation.
    pub(crate) fn requested_prefetch(&self) -> usize {
        self.prefetch.max(1)
    }

    /// The memory limit, or `default`, in bytes.
    pub(crate) fn memory_or(&self, default: u64) -> u64 {
        self.memory.map_or(default, Size::bytes)
    }

    /// The number of threads: one a core by default.
    ///
    /// # Errors
    /// It is 0 or too large.
    pub(crate) fn threads(&self) -> Result<usize> {
        match self.threads.unwrap_or_else(cores) {
            0 => Err(Error::usage(
                message!("a loader needs a thread: leave {threads} out for one a core"; threads = Name::Threads),
            )),
            threads @ 1..=4096 => Ok(threads),
            threads => Err(Error::usage(format!("{threads} threads; 4,096 at most"))),
        }
    }

    /// What the workers of a loader write samples with.
    pub(crate) fn writer<B: Default>(
        &self,
        columns: Arc<ColumnSet>,
        threads: usize,
        budget: &MemoryBudget,
        setting: Setting,
    ) -> SampleWriter<B> {
        let counters = Counters::of(threads, setting).of_operations(columns.operations());
        let counters = Arc::new(counters);
        let waited = counters.waits[0].clone();
        let decode_memory = Arc::new(MemoryShare::new("decoding", budget.decode, waited));
        SampleWriter::new(columns, self.on_bad, counters, threads, decode_memory)
    }
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
