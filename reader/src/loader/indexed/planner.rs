//! From the order to jobs: which samples the next batch holds, and what must be read for it.

use std::sync::Arc;
use std::time::Duration;

use crate::error::{Error, Result};
use crate::fetch::fetched::Fetched;
use crate::fetch::plan::{Draw, Limits};
use crate::loader::bad_samples::OnBad;
use crate::loader::indexed::new_shards::NewShards;
use crate::loader::indexed::readahead::Readahead;
use crate::loader::indexed::worker::IndexedWorker;
use crate::loader::pipeline::memory_budget::MemoryBudget;
use crate::loader::pipeline::pending_batch::{Dealt, Enough, PendingBatch, Workspace};
use crate::loader::pipeline::queue::{BatchPlanner, Planned};
use crate::order::{Cursor, Steps};
use tarflume_formats::poison::IgnorePoison;

/// Parts that lie no more than this many bytes apart are read at once: a read costs as much as copying
/// some thousand bytes. Much more, and asking for the JSON alone would read small images, too.
const GAP: u64 = 8 << 10;

/// No read is cut shorter than this many bytes for the sake of threads, and no task has less to do.
const SHORT: u64 = 64 << 10;
/// A task of so much time is long enough, whatever it reads.
const TASK: Duration = Duration::from_micros(50);

/// Deals the batches of one epoch to one rank.
pub(crate) struct IndexedPlanner {
    labour: Arc<IndexedWorker>,
    steps: Steps,
    cursor: Cursor,
    scout: Option<Readahead>,
    shares: MemoryBudget,
    epoch: u64,
    /// The next step.
    step: u64,
    /// Bytes that the last batch reads.
    batch_bytes: u64,
    /// Shards that were asked in this epoch whether they still are what was opened.
    checked: Vec<bool>,
    fresh: NewShards,
}

impl IndexedPlanner {
    pub(crate) fn new(
        labour: Arc<IndexedWorker>,
        (steps, cursor, scout): (Steps, Cursor, Option<Readahead>),
        shares: MemoryBudget,
        epoch: u64,
    ) -> IndexedPlanner {
        let shards = labour.with.dataset.shards().len();
        let (checked, fresh) = (vec![false; shards], NewShards::new(shards));
        IndexedPlanner {
            labour,
            steps,
            cursor,
            scout,
            shares,
            epoch,
            step: 0,
            batch_bytes: 0,
            checked,
            fresh,
        }
    }

    /// Deals the rows of the next step.
    fn deal(&mut self, desk: &mut Workspace) -> Result<()> {
        desk.dealt.clear();
        desk.draws.clear();
        for (position, padding) in self.steps.rows(self.step) {
            if self.cursor.position() != position {
                self.cursor.seek(position);
            }
            let draw = self.cursor.next().ok_or_else(|| {
                Error::usage(format!("position {position} lies behind the end of the epoch"))
            })?;
            desk.draws.push(Draw { slot: desk.dealt.len(), ordinal: draw.ordinal });
            desk.dealt.push(Dealt { ordinal: draw.ordinal, pass: draw.pass, padding });
        }
        Ok(())
    }

    /// How much entry points may take, and how long reads may be: so that every thread has some of a batch, four pieces each if it is
    /// large enough.
    fn limits(&self) -> Limits {
        let piece = self.batch_bytes / (4 * self.labour.with.threads as u64);
        let run = self.shares.run.min(piece.max(SHORT));
        Limits { run, gap: GAP, entry_points: self.shares.entry_points }
    }

    /// The most samples of a task for which every thread has some of a batch. Only a batch that no
    /// other batch is prepared beside must keep all threads busy: the first, or every one if the bound
    /// has no room for two.
    fn most(&self) -> usize {
        let with = &self.labour.with;
        match self.step == 0 || self.shares.depth == 1 {
            true => with.recipe.layout.rows().div_ceil(2 * with.threads).max(1),
            false => usize::MAX,
        }
    }

    /// How much work a task should hold.
    fn enough(&self) -> Enough {
        let cost = self.labour.with.meter.sample_cost();
        let samples = cost.map_or(usize::MAX, |cost| samples_of(TASK, cost));
        Enough { bytes: SHORT, samples: samples.min(self.most()) }
    }

    /// Asks each shard that is read from once an epoch whether it still is what was opened.
    fn check(&mut self, job: &PendingBatch) -> Result<()> {
        let mut fresh = Vec::new();
        for run in job.desk.plan.runs().iter().filter(|run| !run.reads.is_empty()) {
            if !std::mem::replace(&mut self.checked[run.shard], true) {
                fresh.push(run.shard);
            }
        }
        self.labour.with.dataset.expect_unchanged(&fresh)
    }

    /// How much memory the job's variable columns take.
    fn measure(&self, job: &mut PendingBatch) -> Result<u64> {
        let with = &self.labour.with;
        let least = match with.policy.on_bad {
            OnBad::Substitute => self.labour.middling()?,
            OnBad::Error | OnBad::Skip => &[],
        };
        let bytes = job.desk.measure(&with.recipe, least);
        self.shares.allow(bytes, (self.epoch, self.step), 4)
    }
}

impl BatchPlanner for IndexedPlanner {
    fn plan(&mut self, job: &mut PendingBatch) -> Result<Planned> {
        if self.step == self.steps.count() {
            return Ok(Planned::End);
        }
        if let Some(scout) = &mut self.scout {
            let with = &self.labour.with;
            scout.before(self.step, &with.dataset, &with.recipe.wanted, &mut self.fresh);
        }
        let desk = &mut *job.desk;
        self.deal(desk)?;
        desk.reset_outcomes();
        let limits = self.limits();
        let with = &self.labour.with;
        self.fresh.open_ahead(&with.dataset, &desk.draws);
        desk.plan.fill(&with.dataset, &desk.draws, &with.recipe.wanted, limits)?;
        let bad = desk.bad.get_mut().ignore_poison();
        bad.clear();
        bad.extend(desk.plan.take_bad());
        let bad = usize::from(!bad.is_empty());
        self.batch_bytes = desk.plan.runs().iter().map(|run| run.bytes).sum();
        self.check(job)?;
        let group = self.labour.with.recipe.group().min(self.most());
        job.desk.deal_tasks(group, self.enough());
        for run in 0..job.desk.plan.runs().len() {
            Fetched::advise(&self.labour.with.dataset, &job.desk.plan, run);
        }
        job.variable = self.measure(job)?;
        job.content.epoch = self.epoch;
        job.content.step = self.step;
        job.content.position = self.steps.position_after(self.step);
        self.step += 1;
        Ok(Planned::Tasks(job.desk.tasks.len() + bad))
    }
}

/// How many samples of `cost` take `time`; one at least.
fn samples_of(time: Duration, cost: Duration) -> usize {
    let samples = time.as_nanos().div_ceil(cost.as_nanos().max(1));
    usize::try_from(samples).unwrap_or(usize::MAX)
}
