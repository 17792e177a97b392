//! From the order to jobs: which samples the next batch holds, and what must be read for it.

use std::sync::Arc;

use super::bad::OnBad;
use super::bound::Shares;
use super::flow::{Feed, Fill};
use super::job::{Dealt, Job};
use super::labour::IndexedLabour;
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::Limits;
use crate::order::{Cursor, Steps};
use crate::size::Size;

/// Parts that lie no more than this many bytes apart are read at once.
const GAP: u64 = 64 << 10;

/// Deals the batches of one epoch to one rank.
pub(crate) struct IndexedFeed {
    labour: Arc<IndexedLabour>,
    steps: Steps,
    cursor: Cursor,
    shares: Shares,
    epoch: u64,
    /// The next step.
    step: u64,
    /// Lengths of the keys of a batch, by row.
    keys: Vec<usize>,
    /// Shards that were asked in this epoch whether they still are what was opened.
    checked: Vec<bool>,
}

impl IndexedFeed {
    pub(crate) fn new(
        labour: Arc<IndexedLabour>,
        (steps, cursor): (Steps, Cursor),
        shares: Shares,
        epoch: u64,
    ) -> IndexedFeed {
        let checked = vec![false; labour.with.dataset.shards()];
        IndexedFeed { labour, steps, cursor, shares, epoch, step: 0, keys: Vec::new(), checked }
    }

    /// Deals the rows of the next step.
    fn deal(&mut self, dealt: &mut Vec<Dealt>) {
        dealt.clear();
        for (position, padding) in self.steps.rows(self.step) {
            let draw = self.cursor.at(position);
            dealt.push(Dealt { ordinal: draw.ordinal, pass: draw.pass, padding });
        }
    }

    fn limits(&self, rows: usize) -> Limits {
        // All threads have some of a batch, four pieces each if it is large enough.
        let items = rows.div_ceil(4 * self.labour.with.threads);
        Limits { run: self.shares.run, gap: GAP, items: items.max(1) }
    }

    /// Asks each shard once an epoch whether it still is what was opened.
    fn check(&mut self, job: &Job) -> Result<()> {
        for run in job.desk.plan.runs() {
            if !std::mem::replace(&mut self.checked[run.shard], true) {
                self.labour.with.dataset.shard(run.shard).source()?.check()?;
            }
        }
        Ok(())
    }

    /// How much memory the job's variable columns take.
    fn measure(&mut self, job: &mut Job) -> Result<u64> {
        let with = &self.labour.with;
        let desk = &mut *job.desk;
        self.keys.clear();
        self.keys.resize(desk.dealt.len(), 0);
        for item in desk.plan.items() {
            // A key that can't be read makes its sample bad when it is written.
            self.keys[item.row] = desk.plan.key(&with.dataset, item).map_or(0, <[u8]>::len);
        }
        let substitutes = with.policy.on_bad == OnBad::Substitute;
        let bytes = desk.measure(&with.recipe, &self.keys, substitutes);
        if bytes <= self.shares.variable {
            return Ok(bytes);
        }
        let text = format!(
            "the parts of batch {} of epoch {} take {}, and the memory bound leaves {} for them: give \
             .memory() about {} more, or take smaller batches",
            self.step,
            self.epoch,
            Size(bytes),
            Size(self.shares.variable),
            Size((bytes - self.shares.variable).saturating_mul(4))
        );
        Err(Error::new(ErrorKind::Limit, text))
    }
}

impl Feed for IndexedFeed {
    fn fill(&mut self, job: &mut Job) -> Result<Fill> {
        if self.step == self.steps.count() {
            return Ok(Fill::End);
        }
        self.deal(&mut job.desk.dealt);
        let desk = &mut *job.desk;
        desk.reset_outcomes();
        let limits = self.limits(desk.dealt.len());
        let ordinals = desk.dealt.iter().map(|dealt| dealt.ordinal);
        let with = &self.labour.with;
        desk.plan.make(&with.dataset, ordinals, &with.recipe.wanted, limits)?;
        self.check(job)?;
        job.desk.plan.advise(&self.labour.with.dataset);
        job.variable = self.measure(job)?;
        job.content.epoch = self.epoch;
        job.content.step = self.step;
        job.content.position = self.steps.position_after(self.step);
        self.step += 1;
        Ok(Fill::Tasks(job.desk.plan.runs().len()))
    }
}
