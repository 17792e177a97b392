//! `IndexedSource`: what workers and planners of indexed shards share, and how a run is read.

use std::sync::{Arc, Mutex, OnceLock};

use crate::decode::Memory;
use crate::fetch::draw::RowDraw;
use crate::fetch::excerpt::{JpegFacts, PictureNeeds};
use crate::fetch::plan::{ReadPlan, UnreadableSample};
use crate::fetch::run_bytes::RunBytes;
use crate::fetch::verify::Verify;
use crate::fetch::view::RunView;
use crate::loader::bad_samples::OnBad;
use crate::loader::indexed::tasks::TaskLists;
use crate::loader::metrics::clocks::slept;
use crate::loader::metrics::counters::{Counters, StageTimer};
use crate::loader::pipeline::columns::ColumnSet;
use crate::loader::pipeline::panics::catch_panic;
use crate::loader::pipeline::pending_batch::{PendingBatch, SourceWorkspace};
use crate::loader::pipeline::worker::{SampleWriter, WorkerState};
use crate::order::{Buckets, Key, Order};
use tarflume_dataset::Dataset;
use tarflume_device::range;
use tarflume_formats::IgnorePoison;
use tarflume_image::{StoredPicture, StoredRegion};
use tarflume_types::{Error, ErrorKind, Result};

/// What a batch of indexed shards is planned in.
#[derive(Debug, Default)]
pub(crate) struct IndexedWorkspace {
    pub(crate) draws: Vec<RowDraw>,
    pub(crate) plan: ReadPlan,
    pub(crate) tasks: TaskLists,
    /// Samples that planning found to be bad. The last task takes them.
    pub(crate) bad: Mutex<Vec<UnreadableSample>>,
}

impl SourceWorkspace for IndexedWorkspace {}

/// Errors of bytes that were right when they were read a second time.
#[derive(Debug, Default, Clone)]
pub(crate) struct RereadList {
    /// Number of errors.
    pub(crate) count: u64,
    /// The texts of the first ones.
    pub(crate) first: Vec<String>,
}

impl RereadList {
    /// So many texts are kept.
    const KEPT: usize = 100;

    fn add(&mut self, text: String) {
        self.count += 1;
        if self.first.len() < Self::KEPT {
            self.first.push(text);
        }
    }
}

/// What a thread reads into.
pub(crate) struct ReadBuffers {
    /// One for each run of a chunk; never empty.
    pub(crate) fetched: Vec<RunBytes>,
    /// Plans substitutes, and samples that are read whole.
    pub(crate) substitute: ReadPlan,
    /// Holds a sample that is read whole after its excerpt could not be used.
    pub(crate) whole: RunBytes,
}

impl Default for ReadBuffers {
    fn default() -> ReadBuffers {
        ReadBuffers {
            fetched: vec![RunBytes::new()],
            substitute: ReadPlan::default(),
            whole: RunBytes::new(),
        }
    }
}

/// The state of a thread that works for an indexed source.
pub(crate) type IndexedWorker = WorkerState<ReadBuffers>;

/// Makes batches from indexed shards.
pub(crate) struct IndexedSource {
    pub(crate) writer: SampleWriter<ReadBuffers>,
    pub(crate) dataset: Dataset,
    pub(crate) order: Order,
    /// The bucket of each sample, if batches are of one bucket each.
    pub(crate) buckets: Option<Buckets>,
    pub(crate) seed: u64,
    pub(crate) verify: Verify,
    /// The memory that reads of very long parts take from. A thread that holds some of it may wait for the memory of
    /// decoders, never the reverse: so no two threads wait for each other.
    read_memory: Arc<dyn Memory>,
    /// Whether bytes come over a network.
    remote: bool,
    /// The errors of bytes that were right when they were read a second time.
    pub(crate) reread: Mutex<RereadList>,
    /// For each slab column, the most bytes that a substitute may take.
    pub(crate) substitute_bytes: OnceLock<Vec<u64>>,
}

/// Reserved memory. Dropping it returns the memory, after a panic, too.
pub(crate) struct MemoryGrant<'a>(&'a dyn Memory, u64);

impl Drop for MemoryGrant<'_> {
    fn drop(&mut self) {
        self.0.give(self.1);
    }
}

impl IndexedSource {
    pub(crate) fn new(
        writer: SampleWriter<ReadBuffers>,
        dataset: Dataset,
        order: Order,
        verify: Verify,
        read_memory: Arc<dyn Memory>,
    ) -> IndexedSource {
        let seed = order.seed();
        let substitute_bytes = OnceLock::new();
        let remote = dataset.is_remote();
        IndexedSource {
            writer,
            dataset,
            order,
            buckets: None,
            seed,
            verify,
            read_memory,
            remote,
            reread: Mutex::default(),
            substitute_bytes,
        }
    }

    /// True if bytes that differ from their checksums are read a second time.
    pub(super) fn rereads(&self) -> bool {
        self.remote && self.verify != Verify::Off
    }

    /// Counts an excerpt whose whole part was right, if bytes come over a network.
    pub(super) fn count_reread(&self, error: &Error) {
        if self.remote {
            self.reread.lock().ignore_poison().add(error.to_string());
        }
    }

    /// Reads samples of a run again whose bytes were changed on their way. Returns true if there were any.
    pub(super) fn reread(
        &self,
        batch: &PendingBatch<IndexedWorkspace>,
        run: RunView<'_>,
        fetched: &mut RunBytes,
    ) -> bool {
        let wanted = &self.columns().wanted;
        let mut mended = false;
        for item in run.items() {
            if !fetched.has(item.number()) {
                continue;
            }
            let pass = batch.planned(item.row()).pass;
            if self.verify.picks(item.ordinal(), pass)
                && let Some(error) = fetched.mend(&self.dataset, run, item, wanted)
            {
                self.reread.lock().ignore_poison().add(error.to_string());
                mended = true;
            }
        }
        mended
    }

    /// The seed of a sample's random numbers.
    pub(super) fn sample_seed(&self, pass: u64, ordinal: u64) -> u64 {
        sample_seed(self.seed, pass, ordinal)
    }

    pub(crate) fn columns(&self) -> &ColumnSet {
        &self.writer.columns
    }

    pub(crate) fn counters(&self) -> &Counters {
        &self.writer.counters
    }

    pub(crate) fn on_bad(&self) -> OnBad {
        self.writer.on_bad
    }

    /// Reads a run. A long run is read into memory that is granted while the result is held; the samples of a run that is
    /// never granted are bad.
    pub(crate) fn fetch(
        &self,
        run: RunView<'_>,
        fetched: &mut RunBytes,
        failed: &mut Vec<UnreadableSample>,
    ) -> Result<Option<MemoryGrant<'_>>> {
        let bytes = run.bytes();
        let mut granted = None;
        if bytes > RunBytes::KEEP as u64 {
            if let Err(error) = self.read_memory.take(0, bytes) {
                fetched.refuse(&self.dataset, run, &error, failed);
                return Ok(None);
            }
            granted = Some(MemoryGrant(&*self.read_memory, bytes));
        }
        let watch = StageTimer::start(range::READ);
        let before = failed.len();
        fetched.read(&self.dataset, run, failed);
        let took = watch.stop();
        let bytes = run.read_bytes();
        self.counters().read.add(took, 1, bytes);
        self.counters().reads_asleep.add(slept(took, bytes), 1, 0);
        // A file that changed is noticed before its batch is planned; an object in a store only now.
        match failed[before..].iter().find(|bad| bad.error.kind() == ErrorKind::Stale) {
            Some(bad) if self.remote => {
                let error = bad.error.clone();
                failed.truncate(before);
                Err(error)
            }
            _ => Ok(granted),
        }
    }
}

impl PictureNeeds for IndexedSource {
    fn regions(
        &self,
        need: usize,
        draw: RowDraw,
        JpegFacts { size, orientation }: JpegFacts,
        each: &mut dyn FnMut(StoredRegion),
    ) -> bool {
        // Files are verified whole. Over a network, the bytes that are fetched are.
        if !self.remote && self.verify.picks(draw.ordinal, draw.pass) {
            return false;
        }
        let seed = self.sample_seed(draw.pass, draw.ordinal);
        let ordinal = draw.ordinal;
        let picture = StoredPicture { size, orientation, seed, ordinal };
        // A transform that fails here fails again when the sample is decoded, and is reported then.
        let found =
            catch_panic("the transform", || Ok(self.columns().regions(need, &picture, each)));
        found.unwrap_or(false)
    }
}

/// The seed of a sample's random numbers in a loader of seed `seed`, in pass `pass`.
pub fn sample_seed(seed: u64, pass: u64, ordinal: u64) -> u64 {
    Key::new(seed, pass, b"sample  ").draw(ordinal)
}

/// Checks that a shard did not change while a run was read from it and used. Releases the bytes if they were `granted`.
pub(crate) fn check_unchanged(fetched: &mut RunBytes, granted: bool) -> Result<()> {
    let unchanged = if fetched.is_lent() { fetched.check() } else { Ok(()) };
    if granted {
        fetched.clear();
    }
    unchanged
}
