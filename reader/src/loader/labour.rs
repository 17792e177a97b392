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
use crate::fetch::{Bytes, Item, Limits, Plan, Run, Verify};
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
    buffer: Vec<u8>,
    scratch: Scratch,
    /// Samples of a run that are bad or must be read again.
    failed: Vec<(Item, Option<Error>)>,
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
    /// Bytes of a read that holds several samples.
    pub(crate) run: u64,
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
            buffer: Vec::new(),
            failed: Vec::new(),
            scratch: Scratch::with_memory(self.with.decode.clone()),
            spare: Plan::default(),
        })
    }

    fn put_back(&self, mut hand: Hand) {
        if hand.buffer.len() > (self.with.run as usize).max(Scratch::KEEP) {
            hand.buffer = Vec::new();
        }
        self.hands.lock().unwrap_or_else(PoisonError::into_inner).push(hand);
    }

    /// Reads a run as a whole and writes its samples; where reading fails, reads each alone.
    fn run(&self, job: &Job, task: usize, hand: &mut Hand) {
        let plan = &job.desk.plan;
        let run = &plan.runs()[task];
        let items = plan.items_of(run);
        if let [item] = items {
            let done = self.alone((plan, item), job, hand);
            if let Err(error) = done {
                self.bad(job, item, error, hand);
            }
            return;
        }
        let mut failed = std::mem::take(&mut hand.failed);
        let read = self.together(plan, run, job, (&mut failed, hand));
        if read.is_err() {
            failed.clear();
            failed.extend(items.iter().map(|item| (*item, None)));
        }
        for (item, error) in failed.drain(..) {
            let error = match error {
                Some(error) => Err(error),
                None => self.alone((plan, &item), job, hand),
            };
            if let Err(error) = error {
                self.bad(job, &item, error, hand);
            }
        }
        hand.failed = failed;
    }

    /// Reads a run of several samples at once. Those that are bad are put on the list.
    ///
    /// # Errors
    /// Nothing could be read, or what was read became something else meanwhile.
    fn together(
        &self,
        plan: &Plan,
        run: &Run,
        job: &Job,
        (failed, hand): (&mut Vec<(Item, Option<Error>)>, &mut Hand),
    ) -> Result<()> {
        let source = self.with.dataset.shard(run.shard).source()?;
        let mut watch = Watch::start();
        let read = Plan::read(&*source, (run.start, run.length), &mut hand.buffer)?;
        self.with.meter.read.add(watch.lap(), 1, run.length);
        let items = plan.items_of(run);
        for item in items {
            if let Err(error) = self.write((plan, item), (job, item.row), read, &mut hand.scratch) {
                failed.push((*item, Some(error)));
            }
        }
        self.with.meter.decode.add(watch.stop(), items.len() as u64, 0);
        if read.is_lent() { source.check() } else { Ok(()) }
    }

    /// Reads one sample and writes it into its row.
    fn alone(&self, (plan, item): (&Plan, &Item), job: &Job, hand: &mut Hand) -> Result<()> {
        self.into_row((plan, item), (job, item.row), (&mut hand.buffer, &mut hand.scratch))
    }

    fn into_row(
        &self,
        (plan, item): (&Plan, &Item),
        to: (&Job, usize),
        (buffer, scratch): (&mut Vec<u8>, &mut Scratch),
    ) -> Result<()> {
        let source = self.with.dataset.shard(item.shard()).source()?;
        let (start, length) = item.span();
        // A long part is read into memory of its own, for as long as it takes.
        let long = length > Scratch::KEEP as u64;
        let granted = if long { self.with.reads.take(0, length).map(|()| length) } else { Ok(0) };
        let granted = granted.map_err(|e| self.placed(e, (plan, item), start))?;
        let mut watch = Watch::start();
        let read = Plan::read(&*source, (start, length), buffer);
        self.with.meter.read.add(watch.lap(), 1, length);
        let written = read.and_then(|read| {
            self.write((plan, item), to, read, scratch)?;
            if read.is_lent() { source.check() } else { Ok(()) }
        });
        self.with.meter.decode.add(watch.stop(), 1, 0);
        if granted > 0 {
            *buffer = Vec::new();
            self.with.reads.give(granted);
        }
        written.map_err(|e| self.placed(e, (plan, item), start))
    }

    /// Writes a sample that was read into row `row`.
    fn write(
        &self,
        (plan, item): (&Plan, &Item),
        (job, row): (&Job, usize),
        read: Bytes<'_>,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let wanted = &self.with.recipe.wanted;
        plan.fault(&self.with.dataset, item, wanted)?;
        let pass = job.desk.dealt[row].pass;
        let random = Key::new(self.seed, pass, b"sample  ").draw(item.ordinal);
        let verified = plan.verify(item, wanted, read, (self.with.policy.verify, random));
        verified.map_err(|e| self.placed(e, (plan, item), item.span().0))?;
        let name = plan.key(&self.with.dataset, item)?;
        let mut lent = job.content.slab.lend(row);
        let facts = (name, item.ordinal, random);
        let part = |n| plan.part(item, n, wanted, read);
        self.with.recipe.write(facts, part, &mut lent, scratch).map_err(|(n, e)| {
            let start = n.map_or(item.span().0, |n| plan.byte(item, n));
            self.placed(e.in_part(start), (plan, item), start)
        })
    }

    /// Adds shard, key and byte to an error that lacks them.
    fn placed(&self, error: Error, (plan, item): (&Plan, &Item), byte: u64) -> Error {
        let error = error.with_path(self.with.dataset.shard(item.shard()).path()).with_byte(byte);
        match plan.key(&self.with.dataset, item) {
            Ok(key) => error.with_key(name::shown(key)),
            Err(_) => error,
        }
    }

    /// Does with a bad sample what the policy says.
    fn bad(&self, job: &Job, item: &Item, error: Error, hand: &mut Hand) {
        let counted = |substitute| self.with.bad.add(BadSample::new(&error, item.ordinal, substitute));
        let done = match self.with.policy.on_bad {
            OnBad::Error => return job.fail(item.row, error),
            OnBad::Skip => counted(None).map(|()| job.desk.skipped(item.row)),
            OnBad::Substitute => match self.substitute(job, item, hand) {
                None => return job.fail(item.row, error),
                Some(by) => counted(Some(by)).map(|()| job.desk.replaced(item.row, by)),
            },
        };
        if let Err(error) = done {
            job.fail(item.row, error);
        }
    }

    /// Writes another sample into the row of a bad one: which one depends on (seed, pass, ordinal)
    /// alone.
    fn substitute(&self, job: &Job, item: &Item, hand: &mut Hand) -> Option<u64> {
        let Dealt { pass, .. } = job.desk.dealt[item.row];
        let key = Key::new(self.seed, pass, b"instead ").sub(item.ordinal);
        let limits = Limits { run: self.with.run, gap: 0, items: 1 };
        for attempt in 0..TRIES {
            let place = below(key.draw(attempt), self.with.order.epoch_samples());
            let ordinal = self.with.order.ordinal(0, place).ok().flatten()?;
            let wanted = &self.with.recipe.wanted;
            hand.spare.make(&self.with.dataset, [ordinal].into_iter(), wanted, limits).ok()?;
            let Hand { buffer, scratch, spare, .. } = hand;
            let Some(other) = spare.items().first() else { continue };
            let fits = job.desk.fits(&self.with.recipe, item.row, |n| spare.length(other, n));
            if fits && self.into_row((spare, other), (job, item.row), (buffer, scratch)).is_ok() {
                return Some(ordinal);
            }
        }
        None
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
        self.run(job, task, &mut hand);
        self.put_back(hand);
    }

    fn threads(&self) -> usize {
        self.with.threads
    }
}
