//! A task of a batch: reads some runs of shards, a chunk at a time, and decodes their samples into their rows.

use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock};

use tarflume_formats::name;

use crate::dataset::Dataset;
use crate::decode::{Memory, Scratch};
use crate::error::{Error, Result};
use crate::fetch::fetched::{Fetched, Verify};
use crate::fetch::plan::{Bad, Item, PartRef, Plan};
use crate::loader::bad_samples::OnBad;
use crate::loader::metrics::clocks::{Clocks, slept};
use crate::loader::metrics::counters::{Counters, Watch};
use crate::loader::pipeline::columns::{ColumnSet, Facts, Given, MAX_GROUP};
use crate::loader::pipeline::pending_batch::PendingBatch;
use crate::loader::pipeline::queue::BatchWorker;
use crate::order::Key;
use crate::order::Order;
use crate::range;
use tarflume_formats::poison::IgnorePoison;

/// What is done about bad samples, and which are noticed.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Policy {
    pub(crate) on_bad: OnBad,
    pub(crate) verify: Verify,
}

/// What a thread works with; kept from task to task.
pub(crate) struct WorkerState {
    /// One for each run of a task; there is always one.
    pub(crate) fetched: Vec<Fetched>,
    pub(crate) scratch: Scratch,
    /// Samples of a run that are bad.
    failed: Vec<Bad>,
    /// For the samples that stand in for others.
    pub(crate) spare: Plan,
}

/// What samples are made from, and how.
pub(crate) struct Materials {
    pub(crate) dataset: Dataset,
    pub(crate) recipe: Arc<ColumnSet>,
    pub(crate) order: Order,
    pub(crate) policy: Policy,
    pub(crate) meter: Arc<Counters>,
    pub(crate) threads: usize,
    /// What decoders take from.
    pub(crate) decode: Arc<dyn Memory>,
    /// What reads of very long parts take from. Whoever holds some may wait for `decode`, and never
    /// the other way round.
    pub(crate) reads: Arc<dyn Memory>,
}

/// Does the tasks of batches that are read from indexed shards.
pub(crate) struct IndexedWorker {
    pub(crate) with: Materials,
    pub(crate) seed: u64,
    hands: Mutex<Vec<WorkerState>>,
    /// For each slab column, the most bytes that a substitute may take.
    pub(crate) middling: OnceLock<Vec<u64>>,
}

/// A share of memory, until it is dropped: a panic gives it back, too.
pub(crate) struct Granted<'a>(&'a dyn Memory, u64);

impl Drop for Granted<'_> {
    fn drop(&mut self) {
        self.0.give(self.1);
    }
}

impl IndexedWorker {
    pub(crate) fn new(with: Materials) -> IndexedWorker {
        let (hands, middling) = (Mutex::default(), OnceLock::new());
        IndexedWorker { seed: with.order.seed(), with, hands, middling }
    }

    fn hand(&self) -> WorkerState {
        let hand = self.hands.lock().ignore_poison().pop();
        hand.unwrap_or_else(|| WorkerState {
            fetched: vec![Fetched::new()],
            scratch: Scratch::with_memory(self.with.decode.clone()),
            failed: Vec::new(),
            spare: Plan::default(),
        })
    }

    fn put_back(&self, mut hand: WorkerState) {
        hand.fetched.iter_mut().for_each(Fetched::clear);
        self.hands.lock().ignore_poison().push(hand);
    }

    /// Reads runs and writes their samples.
    fn run(&self, job: &PendingBatch, runs: Range<usize>, hand: &mut WorkerState) {
        let plan = &job.desk.plan;
        let mut failed = std::mem::take(&mut hand.failed);
        if hand.fetched.len() < runs.len() {
            hand.fetched.resize_with(runs.len(), Fetched::new);
        }
        let mut granted = None;
        for (run, fetched) in runs.clone().zip(&mut hand.fetched) {
            // A run that something must be granted for is alone in its task.
            match self.fetch((plan, run), fetched, &mut failed) {
                Ok(found) => granted = found,
                Err(error) => return job.fail(first_row(plan, run), error),
            }
        }
        let measured = Clocks::seldom();
        let WorkerState { fetched, scratch, .. } = hand;
        self.write_runs(job, runs.clone(), fetched, scratch, &mut failed);
        if let Some((since, before)) = measured {
            self.with.meter.sampled(since.spent(), before);
        }
        for (run, fetched) in runs.zip(&mut hand.fetched) {
            if let Err(error) = whole(fetched, granted.is_some()) {
                // Nothing that was read can be believed, nor what was found to be bad in it.
                let items = &plan.items()[plan.runs()[run].items.clone()];
                failed.retain(|bad| items.iter().all(|item| item.slot != bad.slot));
                job.fail(first_row(plan, run), error);
            }
        }
        drop(granted);
        for bad in failed.drain(..) {
            self.bad(job, bad, hand);
        }
        hand.failed = failed;
    }

    /// Writes the samples of runs that were read, a few at a time.
    fn write_runs(
        &self,
        job: &PendingBatch,
        runs: Range<usize>,
        fetched: &[Fetched],
        scratch: &mut Scratch,
        failed: &mut Vec<Bad>,
    ) {
        let plan = &job.desk.plan;
        let watch = Watch::start(range::DECODE);
        let of_run = |(run, fetched): (usize, _)| {
            plan.runs()[run].items.clone().map(move |item| (&plan.items()[item], item, fetched))
        };
        let items = runs.clone().zip(fetched).flat_map(of_run);
        let mut items =
            items.filter(|(_, number, fetched): &(_, _, &Fetched)| fetched.has(*number));
        loop {
            let mut group = [None; MAX_GROUP];
            let taken = items.by_ref().take(self.with.recipe.group());
            let there = group.iter_mut().zip(taken).map(|(to, (item, _, from))| {
                *to = Some((item, from));
            });
            if there.count() == 0 {
                break;
            }
            self.write_group(job, &group, scratch, failed);
        }
        let count = runs.map(|run| plan.runs()[run].items.len() as u64).sum();
        self.with.meter.decode.add(watch.stop(), count, 0);
        self.with.meter.count(scratch);
    }

    /// Writes a few samples, which decoders see together beforehand.
    fn write_group(
        &self,
        job: &PendingBatch,
        group: &[Option<(&Item, &Fetched)>; MAX_GROUP],
        scratch: &mut Scratch,
        failed: &mut Vec<Bad>,
    ) {
        let plan = &job.desk.plan;
        if group[1].is_some() {
            let facts = group.map(|place| {
                place.map(|(item, _)| self.facts(plan, item, job.desk.dealt[item.slot].pass))
            });
            let part = |sample: usize, n| match group[sample] {
                Some((item, fetched)) => self.part((plan, item), fetched, n),
                None => Given::default(),
            };
            self.with.recipe.prepare(&facts, part, scratch);
        }
        for (item, fetched) in group.iter().flatten() {
            let to = (job, item.slot, job.desk.dealt[item.slot].pass);
            match self.write((plan, item), to, fetched, scratch) {
                // What comes must not depend on the bound: no policy helps here.
                Err(error) if scratch.take_refusal() => job.fail(item.slot, error),
                Err(error) => {
                    failed.push(Bad { slot: item.slot, ordinal: item.ordinal, error });
                }
                Ok(()) => {}
            }
        }
    }

    /// Reads a run; a long one into memory that is granted for as long as it takes.
    pub(crate) fn fetch(
        &self,
        (plan, run): (&Plan, usize),
        fetched: &mut Fetched,
        failed: &mut Vec<Bad>,
    ) -> Result<Option<Granted<'_>>> {
        let bytes = plan.runs()[run].bytes;
        let mut granted = None;
        if bytes > Fetched::KEEP as u64 {
            self.with.reads.take(0, bytes).map_err(|e| self.placed(e, plan, run))?;
            granted = Some(Granted(&*self.with.reads, bytes));
        }
        let watch = Watch::start(range::READ);
        fetched.read(&self.with.dataset, plan, run, failed);
        let took = watch.stop();
        self.with.meter.read.add(took, 1, bytes);
        self.with.meter.reads_asleep.add(slept(took, bytes), 1, 0);
        Ok(granted)
    }

    /// What a sample is known by: key, ordinal, random numbers.
    fn facts<'a>(&self, plan: &'a Plan, item: &Item, pass: u64) -> Facts<'a> {
        let random = Key::new(self.seed, pass, b"sample  ").draw(item.ordinal);
        Facts { key: plan.key(item), ordinal: item.ordinal, seed: random }
    }

    /// What meets need number `n` of a sample.
    fn part<'a>(
        &'a self,
        (plan, item): (&'a Plan, &Item),
        fetched: &'a Fetched,
        n: usize,
    ) -> Given<'a> {
        let part: &PartRef = &plan.parts_of(item)[n];
        let ext = part.ext.map_or("", |ext| self.with.recipe.wanted.ext(ext));
        Given { ext, bytes: fetched.bytes(part), entry_points: plan.entry_points(part) }
    }

    /// Writes a sample that was read into its row.
    pub(crate) fn write(
        &self,
        (plan, item): (&Plan, &Item),
        (job, row, pass): (&PendingBatch, usize, u64),
        fetched: &Fetched,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let ColumnSet { wanted, .. } = &*self.with.recipe;
        _ = scratch.take_refusal(); // forgotten, whatever an earlier sample made of it
        let dataset = &self.with.dataset;
        fetched.verify(dataset, plan, item, wanted, (self.with.policy.verify, pass))?;
        let name = plan.key(item);
        let facts = self.facts(plan, item, pass);
        let parts = plan.parts_of(item);
        let part = |n: usize| self.part((plan, item), fetched, n);
        let mut lent = job.content.slab.lend(row);
        self.with.recipe.write(facts, part, &mut lent, scratch).map_err(|(n, error)| {
            let start = n.or(Some(0)).and_then(|n| parts.get(n)).map_or(0, |part| part.at);
            let path = dataset.shard(item.shard).path();
            error.in_part(start).with_path(path).with_key(name::shown(name))
        })
    }

    /// Says of an error which sample of a run it is about.
    fn placed(&self, error: Error, plan: &Plan, run: usize) -> Error {
        let run = &plan.runs()[run];
        let error = error.with_path(self.with.dataset.shard(run.shard).path());
        let item = plan.items().get(run.items.start);
        let Some(item) = item else { return error };
        let at = plan.parts_of(item).iter().find(|part| part.ext.is_some());
        error.with_key(name::shown(plan.key(item))).with_byte(at.map_or(0, |part| part.at))
    }

    /// Does with a bad sample what the policy says.
    fn bad(&self, job: &PendingBatch, bad: Bad, hand: &mut WorkerState) {
        let Bad { slot, ordinal, error } = bad;
        match self.with.policy.on_bad {
            // Nothing is known of the sample: no policy helps here.
            _ if error.is_machine() => job.fail(slot, error),
            OnBad::Error => job.fail(slot, error),
            OnBad::Skip => job.bad(slot, error, None),
            OnBad::Substitute => match self.substitute(job, slot, ordinal, hand) {
                Ok(Some(by)) => job.bad(slot, error, Some(by)),
                Ok(None) => job.fail(slot, error),
                Err(refusal) => job.fail(slot, refusal),
            },
        }
    }
}

/// The first row of the batch that a run has a sample for.
fn first_row(plan: &Plan, run: usize) -> usize {
    let items = &plan.items()[plan.runs()[run].items.clone()];
    items.iter().map(|item| item.slot).min().unwrap_or(0)
}

/// Asks whether what was read was whole; lets it go if it was `granted`.
pub(crate) fn whole(fetched: &mut Fetched, granted: bool) -> Result<()> {
    let whole = if fetched.is_lent() { fetched.check() } else { Ok(()) };
    if granted {
        fetched.clear();
    }
    whole
}

impl BatchWorker for IndexedWorker {
    fn task(&self, job: &PendingBatch, task: usize) {
        let mut hand = self.hand();
        match job.desk.tasks.get(task) {
            Some(chunks) => {
                for chunk in &job.desk.chunks[chunks.clone()] {
                    self.run(job, chunk.clone(), &mut hand);
                }
            }
            None => job.desk.take_bad().into_iter().for_each(|bad| self.bad(job, bad, &mut hand)),
        }
        self.put_back(hand);
    }

    fn threads(&self) -> usize {
        self.with.threads
    }
}
