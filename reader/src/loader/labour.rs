//! A task of a batch: reads one run of a shard and decodes its samples into their rows.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tarflume_formats::name;

use super::bad::OnBad;
use super::flow::Labour;
use super::job::{Dealt, Job};
use super::recipe::{Given, Recipe};
use super::stats::{Meter, Watch};
use crate::dataset::Dataset;
use crate::decode::{Memory, Scratch};
use crate::error::{Error, Result};
use crate::fetch::fetched::{Fetched, Verify};
use crate::fetch::plan::{Bad, Draw, Item, Limits, PartRef, Plan};
use crate::order::Order;
use crate::order::mix::{Key, below};

/// Substitutes that are tried before the sample is an error after all.
const TRIES: u64 = 16;
/// Samples whose middling size decides how large a substitute may be.
const PROBES: u64 = 64;
/// Bytes that it may have beyond that.
const MARGIN: u64 = 64;

/// Bytes of entry points that it brings at most: every thread keeps so many.
const SPARE_POINTS: u64 = 64 << 10;

/// Limits of a plan of one sample.
fn alone(entry_points: u64) -> Limits {
    Limits { entry_points, ..Limits::default() }
}

/// What is done about bad samples, and which are noticed.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Policy {
    pub(crate) on_bad: OnBad,
    pub(crate) verify: Verify,
}

/// What a thread works with; kept from task to task.
struct Hand {
    fetched: Fetched,
    scratch: Scratch,
    /// Samples of a run that are bad.
    failed: Vec<Bad>,
    /// For the samples that stand in for others.
    spare: Plan,
}

/// What samples are made from, and how.
pub(crate) struct Materials {
    pub(crate) dataset: Dataset,
    pub(crate) recipe: Arc<Recipe>,
    pub(crate) order: Order,
    pub(crate) policy: Policy,
    pub(crate) meter: Arc<Meter>,
    pub(crate) threads: usize,
    /// What decoders take from.
    pub(crate) decode: Arc<dyn Memory>,
    /// What reads of very long parts take from. Whoever holds some may wait for `decode`, and never
    /// the other way round.
    pub(crate) reads: Arc<dyn Memory>,
}

/// Does the tasks of batches that are read from indexed shards.
pub(crate) struct IndexedLabour {
    pub(crate) with: Materials,
    seed: u64,
    hands: Mutex<Vec<Hand>>,
    /// For each slab column, the most bytes that a substitute may take.
    middling: OnceLock<Vec<u64>>,
}

/// A share of memory, until it is dropped: a panic gives it back, too.
struct Granted<'a>(&'a dyn Memory, u64);

impl Drop for Granted<'_> {
    fn drop(&mut self) {
        self.0.give(self.1);
    }
}

impl IndexedLabour {
    pub(crate) fn new(with: Materials) -> IndexedLabour {
        let (hands, middling) = (Mutex::default(), OnceLock::new());
        IndexedLabour { seed: with.order.seed(), with, hands, middling }
    }

    fn hand(&self) -> Hand {
        let hand = self.hands.lock().unwrap_or_else(PoisonError::into_inner).pop();
        hand.unwrap_or_else(|| Hand {
            fetched: Fetched::new(),
            scratch: Scratch::with_memory(self.with.decode.clone()),
            failed: Vec::new(),
            spare: Plan::default(),
        })
    }

    fn put_back(&self, mut hand: Hand) {
        hand.fetched.clear();
        self.hands.lock().unwrap_or_else(PoisonError::into_inner).push(hand);
    }

    /// Reads a run and writes its samples.
    fn run(&self, job: &Job, task: usize, hand: &mut Hand) {
        let plan = &job.desk.plan;
        let mut failed = std::mem::take(&mut hand.failed);
        let done = self.read(
            (plan, task),
            hand,
            |this, fetched, scratch, failed| {
                for number in plan.runs()[task].items.clone().filter(|&n| fetched.has(n)) {
                    let item = &plan.items()[number];
                    let pass = job.desk.dealt[item.slot].pass;
                    let to = (job, item.slot, pass);
                    match this.write((plan, item), to, fetched, scratch) {
                        // What comes must not depend on the bound: no policy helps here.
                        Err(error) if scratch.take_refusal() => job.fail(item.slot, error),
                        Err(error) => {
                            let (slot, ordinal) = (item.slot, item.ordinal);
                            failed.push(Bad { slot, ordinal, error });
                        }
                        Ok(()) => {}
                    }
                }
            },
            &mut failed,
        );
        if let Err(error) = done {
            // Nothing that was read can be believed, nor what was found to be bad in it.
            failed.clear();
            let items = &plan.items()[plan.runs()[task].items.clone()];
            job.fail(items.iter().map(|item| item.slot).min().unwrap_or(0), error);
        }
        for bad in failed.drain(..) {
            self.bad(job, bad, hand);
        }
        hand.failed = failed;
    }

    /// Reads a run, lets `write` use what was read, and asks whether it was whole.
    fn read(
        &self,
        (plan, run): (&Plan, usize),
        hand: &mut Hand,
        write: impl FnOnce(&Self, &Fetched, &mut Scratch, &mut Vec<Bad>),
        failed: &mut Vec<Bad>,
    ) -> Result<()> {
        let Hand { fetched, scratch, .. } = hand;
        let bytes = plan.runs()[run].bytes;
        // A long part is read into memory of its own, for as long as it takes.
        let granted = if bytes > Fetched::KEEP as u64 { bytes } else { 0 };
        let granted = match granted {
            0 => None,
            bytes => {
                self.with.reads.take(0, bytes).map_err(|e| self.placed(e, plan, run))?;
                Some(Granted(&*self.with.reads, bytes))
            }
        };
        let mut watch = Watch::start();
        fetched.read(&self.with.dataset, plan, run, failed);
        self.with.meter.read.add(watch.lap(), 1, bytes);
        write(self, fetched, scratch, failed);
        let items = plan.runs()[run].items.len() as u64;
        self.with.meter.decode.add(watch.stop(), items, 0);
        let whole = if fetched.is_lent() { fetched.check() } else { Ok(()) };
        if granted.is_some() {
            fetched.clear();
        }
        whole
    }

    /// Writes a sample that was read into its row.
    fn write(
        &self,
        (plan, item): (&Plan, &Item),
        (job, row, pass): (&Job, usize, u64),
        fetched: &Fetched,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let Recipe { wanted, .. } = &*self.with.recipe;
        _ = scratch.take_refusal(); // forgotten, whatever an earlier sample made of it
        let dataset = &self.with.dataset;
        fetched.verify(dataset, plan, item, wanted, (self.with.policy.verify, pass))?;
        let name = plan.key(item);
        let random = Key::new(self.seed, pass, b"sample  ").draw(item.ordinal);
        let parts = plan.parts_of(item);
        let part = |n: usize| {
            let part: &PartRef = &parts[n];
            let ext = part.ext.map_or("", |ext| wanted.ext(ext));
            Given { ext, bytes: fetched.bytes(part), entry_points: plan.entry_points(part) }
        };
        let facts = (name, item.ordinal, random);
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
    fn bad(&self, job: &Job, bad: Bad, hand: &mut Hand) {
        let Bad { slot, ordinal, error } = bad;
        match self.with.policy.on_bad {
            OnBad::Error => job.fail(slot, error),
            OnBad::Skip => job.bad(slot, error, None),
            OnBad::Substitute => match self.substitute(job, slot, ordinal, hand) {
                Ok(Some(by)) => job.bad(slot, error, Some(by)),
                Ok(None) => job.fail(slot, error),
                Err(refusal) => job.fail(slot, refusal),
            },
        }
    }

    /// For each slab column the most bytes that a substitute may take there: what samples from all over
    /// the data set take on average. Every row of every batch has as much room, so that which sample
    /// stands in for another does not depend on the batch they are in.
    pub(crate) fn middling(&self) -> &[u64] {
        self.middling.get_or_init(|| {
            let Materials { dataset, order, recipe, .. } = &self.with;
            let (mut sums, mut found) = (vec![0u128; recipe.columns()], 0);
            let mut plan = Plan::default();
            for probe in 0..PROBES {
                let place = u128::from(order.epoch_samples()) * u128::from(probe);
                let place = (place / u128::from(PROBES)) as u64;
                let Ok(Some(ordinal)) = order.ordinal(0, place) else { continue };
                let draw = [Draw { slot: 0, ordinal }];
                let planned = plan.fill(dataset, &draw, &recipe.wanted, alone(0));
                let (Ok(()), Some(item)) = (planned, plan.items().first()) else { continue };
                found += 1;
                let key = plan.key(item).len();
                for (column, sum) in sums.iter_mut().enumerate() {
                    *sum += u128::from(self.room(&plan, item, column, key));
                }
            }
            let each = |sum| u64::try_from(sum / found.max(1)).unwrap_or(u64::MAX);
            sums.into_iter().map(|sum| each(sum).saturating_add(MARGIN)).collect()
        })
    }

    /// Bytes that a planned sample may take in a slab column; 0 in a fixed one.
    fn room(&self, plan: &Plan, item: &Item, column: usize, key: usize) -> u64 {
        let recipe = &self.with.recipe;
        match recipe.is_variable(column) {
            true => recipe.room(column, key, |n| plan.parts_of(item)[n].length),
            false => 0,
        }
    }

    /// Writes another sample into the row of a bad one: which one depends on (seed, pass, ordinal)
    /// and the data alone.
    ///
    /// # Errors
    /// What has nothing to do with the samples: the memory bound, a shard that was cut.
    fn substitute(
        &self,
        job: &Job,
        slot: usize,
        ordinal: u64,
        hand: &mut Hand,
    ) -> Result<Option<u64>> {
        let Dealt { pass, .. } = job.desk.dealt[slot];
        let key = Key::new(self.seed, pass, b"instead ").sub(ordinal);
        let Materials { dataset, order, recipe, .. } = &self.with;
        for attempt in 0..TRIES {
            let place = below(key.draw(attempt), order.epoch_samples());
            let Some(ordinal) = order.ordinal(0, place)? else { continue };
            let mut spare = std::mem::take(&mut hand.spare);
            let draw = [Draw { slot, ordinal }];
            let planned = spare.fill(dataset, &draw, &recipe.wanted, alone(SPARE_POINTS));
            let written = planned.and_then(|()| self.instead(job, (&spare, slot, pass), hand));
            hand.spare = spare;
            if written? {
                return Ok(Some(ordinal));
            }
        }
        Ok(None)
    }

    /// Reads and writes the one sample of `spare`; false if it is too large or bad, too.
    fn instead(
        &self,
        job: &Job,
        (spare, slot, pass): (&Plan, usize, u64),
        hand: &mut Hand,
    ) -> Result<bool> {
        let Some(item) = spare.items().first() else { return Ok(false) };
        let key = spare.key(item).len();
        let middling = self.middling().iter().enumerate();
        let mut rooms = middling.map(|(n, &most)| (self.room(spare, item, n, key), most));
        if rooms.any(|(room, most)| room > most) {
            return Ok(false);
        }
        let (mut failed, mut written, mut refused) = (Vec::new(), None, false);
        let write = |this: &Self, fetched: &Fetched, scratch: &mut Scratch, _: &mut Vec<Bad>| {
            if fetched.has(0) {
                let to = (job, slot, pass);
                written = Some(this.write((spare, item), to, fetched, scratch));
                refused = scratch.take_refusal();
            }
        };
        self.read((spare, 0), hand, write, &mut failed)?;
        match written {
            Some(Err(error)) if refused => Err(error),
            written => Ok(matches!(written, Some(Ok(())))),
        }
    }
}

impl Labour for IndexedLabour {
    fn task(&self, job: &Job, task: usize) {
        let mut hand = self.hand();
        match task.checked_sub(job.desk.plan.runs().len()) {
            None => self.run(job, task, &mut hand),
            Some(_) => {
                job.desk.take_bad().into_iter().for_each(|bad| self.bad(job, bad, &mut hand))
            }
        }
        self.put_back(hand);
    }

    fn threads(&self) -> usize {
        self.with.threads
    }
}
