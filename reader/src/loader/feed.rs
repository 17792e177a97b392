//! From the order to jobs: which samples the next batch holds, and what must be read for it.

use std::sync::{Arc, PoisonError};

use super::bad::OnBad;
use super::bound::Shares;
use super::flow::{Feed, Fill};
use super::job::{Dealt, Desk, Job};
use super::labour::IndexedLabour;
use super::scout::Scout;
use crate::error::{Error, Result};
use crate::fetch::fetched::Fetched;
use crate::fetch::plan::{Draw, Limits};
use crate::order::{Cursor, Steps};

/// Parts that lie no more than this many bytes apart are read at once: a read costs as much as copying
/// some thousand bytes. Much more, and asking for the JSON alone would read small images, too.
const GAP: u64 = 8 << 10;

/// No read is cut shorter than this many bytes for the sake of threads.
const SHORT: u64 = 64 << 10;

/// Deals the batches of one epoch to one rank.
pub(crate) struct IndexedFeed {
    labour: Arc<IndexedLabour>,
    steps: Steps,
    cursor: Cursor,
    scout: Option<Scout>,
    shares: Shares,
    epoch: u64,
    /// The next step.
    step: u64,
    /// Bytes that the last batch reads.
    batch_bytes: u64,
    /// Shards that were asked in this epoch whether they still are what was opened.
    checked: Vec<bool>,
}

impl IndexedFeed {
    pub(crate) fn new(
        labour: Arc<IndexedLabour>,
        (steps, cursor, scout): (Steps, Cursor, Option<Scout>),
        shares: Shares,
        epoch: u64,
    ) -> IndexedFeed {
        let checked = vec![false; labour.with.dataset.shards().len()];
        let (step, batch_bytes) = (0, 0);
        IndexedFeed { labour, steps, cursor, scout, shares, epoch, step, batch_bytes, checked }
    }

    /// Deals the rows of the next step.
    fn deal(&mut self, desk: &mut Desk) -> Result<()> {
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

    /// How many samples a task should have: what decoders gain by, as long as every thread has some
    /// of a batch.
    fn group(&self) -> usize {
        let with = &self.labour.with;
        with.recipe.group().min(with.recipe.layout.rows().div_ceil(2 * with.threads)).max(1)
    }

    /// Asks each shard that is read from once an epoch whether it still is what was opened.
    fn check(&mut self, job: &Job) -> Result<()> {
        for run in job.desk.plan.runs().iter().filter(|run| !run.reads.is_empty()) {
            if !std::mem::replace(&mut self.checked[run.shard], true) {
                self.labour.with.dataset.shard(run.shard).source()?.check()?;
            }
        }
        Ok(())
    }

    /// How much memory the job's variable columns take.
    fn measure(&self, job: &mut Job) -> Result<u64> {
        let with = &self.labour.with;
        let least = match with.policy.on_bad {
            OnBad::Substitute => self.labour.middling()?,
            OnBad::Error | OnBad::Skip => &[],
        };
        let bytes = job.desk.measure(&with.recipe, least);
        self.shares.allow(bytes, (self.epoch, self.step), 4)
    }
}

impl Feed for IndexedFeed {
    fn fill(&mut self, job: &mut Job) -> Result<Fill> {
        if self.step == self.steps.count() {
            return Ok(Fill::End);
        }
        if let Some(scout) = &mut self.scout {
            let with = &self.labour.with;
            scout.before(self.step, &with.dataset, &with.recipe.wanted);
        }
        let desk = &mut *job.desk;
        self.deal(desk)?;
        desk.reset_outcomes();
        let limits = self.limits();
        let with = &self.labour.with;
        desk.plan.fill(&with.dataset, &desk.draws, &with.recipe.wanted, limits)?;
        let bad = desk.bad.get_mut().unwrap_or_else(PoisonError::into_inner);
        bad.clear();
        bad.extend(desk.plan.take_bad());
        let bad = usize::from(!bad.is_empty());
        self.batch_bytes = desk.plan.runs().iter().map(|run| run.bytes).sum();
        self.check(job)?;
        job.desk.deal_tasks(self.group());
        for run in 0..job.desk.plan.runs().len() {
            Fetched::advise(&self.labour.with.dataset, &job.desk.plan, run);
        }
        job.variable = self.measure(job)?;
        job.content.epoch = self.epoch;
        job.content.step = self.step;
        job.content.position = self.steps.position_after(self.step);
        self.step += 1;
        Ok(Fill::Tasks(job.desk.tasks.len() + bad))
    }
}
