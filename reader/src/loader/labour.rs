//! A task of a batch: reads one run of a shard and decodes its samples into their rows.

use std::sync::{Arc, Mutex, PoisonError};

use tarflume_formats::name;

use super::bad::{BadList, BadSample, OnBad};
use super::flow::Labour;
use super::job::{Dealt, Job};
use super::recipe::Recipe;
use super::stats::{Meter, Watch};
use crate::batch::Content;
use crate::dataset::Dataset;
use crate::decode::{Memory, Scratch};
use crate::error::{Error, Result};
use crate::fetch::fetched::{Fetched, Verify};
use crate::fetch::plan::{Bad, Draw, Item, Limits, PartRef, Plan};
use crate::order::Order;
use crate::order::mix::{Key, below};
use crate::slab::Slab;

/// Substitutes that are tried before the sample is an error after all.
const TRIES: u64 = 16;

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
    pub(crate) bad: Arc<BadList>,
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
}

impl IndexedLabour {
    pub(crate) fn new(with: Materials) -> IndexedLabour {
        IndexedLabour { seed: with.order.seed(), with, hands: Mutex::default() }
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
                    if let Err(error) = this.write((plan, item), to, fetched, scratch) {
                        failed.push(Bad { slot: item.slot, ordinal: item.ordinal, error });
                    }
                }
            },
            &mut failed,
        );
        if let Err(error) = done {
            job.fail(0, error);
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
        if granted > 0 {
            self.with.reads.take(0, granted).map_err(|e| self.placed(e, plan, run))?;
        }
        let mut watch = Watch::start();
        fetched.read(&self.with.dataset, plan, run, failed);
        self.with.meter.read.add(watch.lap(), 1, bytes);
        write(self, fetched, scratch, failed);
        let items = plan.runs()[run].items.len() as u64;
        self.with.meter.decode.add(watch.stop(), items, 0);
        let whole = if fetched.is_lent() { fetched.check() } else { Ok(()) };
        if granted > 0 {
            fetched.clear();
            self.with.reads.give(granted);
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
        let dataset = &self.with.dataset;
        fetched.verify(dataset, plan, item, wanted, self.with.policy.verify)?;
        let name = plan.key(item);
        let random = Key::new(self.seed, pass, b"sample  ").draw(item.ordinal);
        let parts = plan.parts_of(item);
        let part = |n: usize| {
            let part: &PartRef = &parts[n];
            (part.ext.map_or("", |ext| wanted.ext(ext)), fetched.bytes(part))
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
        let counted = |substitute| self.with.bad.add(BadSample::new(&error, ordinal, substitute));
        let done = match self.with.policy.on_bad {
            OnBad::Error => return job.fail(slot, error),
            OnBad::Skip => counted(None).map(|()| job.desk.skipped(slot)),
            OnBad::Substitute => match self.substitute(job, slot, ordinal, hand) {
                None => return job.fail(slot, error),
                Some(by) => counted(Some(by)).map(|()| job.desk.replaced(slot, by)),
            },
        };
        if let Err(error) = done {
            job.fail(slot, error);
        }
    }

    /// Writes another sample into the row of a bad one: which one depends on (seed, pass, ordinal)
    /// and the data alone.
    fn substitute(&self, job: &Job, slot: usize, ordinal: u64, hand: &mut Hand) -> Option<u64> {
        let Dealt { pass, .. } = job.desk.dealt[slot];
        let key = Key::new(self.seed, pass, b"instead ").sub(ordinal);
        let Materials { dataset, order, recipe, .. } = &self.with;
        for attempt in 0..TRIES {
            let place = below(key.draw(attempt), order.epoch_samples());
            let ordinal = order.ordinal(0, place).ok().flatten()?;
            let mut spare = std::mem::take(&mut hand.spare);
            let draw = [Draw { slot, ordinal }];
            let planned = spare.fill(dataset, &draw, &recipe.wanted, Limits::default());
            let written = planned.is_ok() && self.instead(job, (&spare, slot, pass), hand);
            hand.spare = spare;
            if written {
                return Some(ordinal);
            }
        }
        None
    }

    /// Reads and writes the one sample of `spare`; false if it does not fit or is bad, too.
    fn instead(
        &self,
        job: &Job,
        (spare, slot, pass): (&Plan, usize, u64),
        hand: &mut Hand,
    ) -> bool {
        let Some(item) = spare.items().first() else { return false };
        let length = |n: usize| spare.parts_of(item)[n].length;
        if !job.desk.fits(&self.with.recipe, slot, spare.key(item).len(), length) {
            return false;
        }
        if spare.runs().is_empty() {
            return true;
        }
        let (mut failed, mut good) = (Vec::new(), false);
        let done = self.read(
            (spare, 0),
            hand,
            |this, fetched, scratch, _| {
                let to = (job, slot, pass);
                good = fetched.has(0) && this.write((spare, item), to, fetched, scratch).is_ok();
            },
            &mut failed,
        );
        done.is_ok() && good
    }
}

impl Labour for IndexedLabour {
    fn content(&self) -> Result<Box<Content>> {
        let slab = Slab::new(self.with.recipe.layout.clone())?;
        Ok(Box::new(Content { slab, facts: Vec::new(), epoch: 0, step: 0, position: 0 }))
    }

    fn make_room(&self, job: &mut Job) -> Result<()> {
        let Job { content, desk, .. } = job;
        let rows = desk.dealt.len();
        content.slab.make_room(rows, |column, row| desk.room(column, row))
    }

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
