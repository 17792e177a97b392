//! `IndexedPlanner`: from the order to batches: which samples the next batch holds, and what is read for them.

use std::time::Duration;

use crate::fetch::draw::{Limits, RowDraw};
use crate::fetch::plan::{UnreadableSample, WantedParts};
use crate::fetch::run_bytes::RunBytes;
use crate::loader::bad_samples::OnBad;
use crate::loader::indexed::ahead::reach::HOLE;
use crate::loader::indexed::ahead::readahead::Readahead;
use crate::loader::indexed::groups::step_rows::{StepPlace, StepRows};
use crate::loader::indexed::new_shards::NewShards;
use crate::loader::indexed::sample::variable_bytes;
use crate::loader::indexed::source::{IndexedSource, IndexedWorkspace};
use crate::loader::indexed::tasks::TaskMinimum;
use crate::loader::pipeline::memory_budget::MemoryBudget;
use crate::loader::pipeline::oversize::oversized;
use crate::loader::pipeline::pending_batch::{BatchWorkspace, PendingBatch, RowLists};
use crate::loader::pipeline::source::Planned;
use tarflume_formats::IgnorePoison;
use tarflume_types::Result;

/// Parts with at most so many bytes between them are read together: a read costs as much as copying some thousand bytes.
/// With a much larger gap, a loader of JSON alone would read small images, too.
const GAP: u64 = 8 << 10;

/// No read is cut shorter than this many bytes to give every thread one, and no task has less to do.
const SHORT: u64 = 64 << 10;
/// So many small samples are read before they are decoded, also where decoders take one at a time: the clocks that are read
/// around decoding cost as much as a tiny sample.
const SMALL_GROUP: usize = 8;
/// About one of so many bytes of the memory limit is for variable columns.
const TIMES: u64 = 4;
/// A task of so much time is long enough, whatever it reads.
const TASK: Duration = Duration::from_micros(50);

/// Plans the batches of one epoch on one rank.
pub(crate) struct IndexedPlanner {
    steps: StepRows,
    readahead: Option<Readahead>,
    budget: MemoryBudget,
    epoch: u64,
    /// The next step.
    step: u64,
    /// Bytes that the last batch reads.
    batch_bytes: u64,
    /// Shards that were compared in this epoch with what was opened.
    checked: Vec<bool>,
    new_shards: NewShards,
}

impl IndexedPlanner {
    /// Begins epoch `epoch` of a data set of `shards` shards.
    pub(crate) fn new(
        shards: usize,
        steps: StepRows,
        readahead: Option<Readahead>,
        budget: MemoryBudget,
        epoch: u64,
    ) -> IndexedPlanner {
        let checked = vec![false; shards];
        let new_shards = NewShards::new(shards);
        IndexedPlanner {
            steps,
            readahead,
            budget,
            epoch,
            step: 0,
            batch_bytes: 0,
            checked,
            new_shards,
        }
    }

    /// Steps of the epoch.
    pub(crate) fn steps(&self) -> u64 {
        self.steps.count()
    }

    /// Plans the next batch; see [`BatchSource::plan`](crate::loader::pipeline::source::BatchSource::plan).
    pub(super) fn plan(
        &mut self,
        source: &IndexedSource,
        batch: &mut PendingBatch<IndexedWorkspace>,
    ) -> Result<Planned> {
        if self.step == self.steps.count() {
            return Ok(Planned::End);
        }
        let dataset = &source.dataset;
        let columns = source.columns();
        if let Some(readahead) = &mut self.readahead {
            let wanted = WantedParts { needs: &columns.wanted, pictures: Some(source) };
            readahead.before(self.step, dataset, wanted, &mut self.new_shards);
        }
        let BatchWorkspace { rows, source: lists, .. } = &mut *batch.workspace;
        let place = self.draw(rows, &mut lists.draws)?;
        rows.reset_outcomes();
        // What was fetched ahead has the holes that are read here, or more.
        let hole = dataset.hole().map_or(HOLE, |hole| hole.min(HOLE));
        let limits = read_limits(self.batch_bytes, source.writer.threads, &self.budget);
        let limits = Limits { hole, ..limits };
        self.new_shards.open_ahead(dataset, &lists.draws);
        let wanted = WantedParts { needs: &columns.wanted, pictures: Some(source) };
        lists.plan.fill_excerpts(dataset, &lists.draws, wanted, limits)?;
        let bad = lists.bad.get_mut().ignore_poison();
        bad.clear();
        bad.extend(lists.plan.take_bad());
        batch.variable_bytes = self.fit(source, &mut batch.workspace, limits)?;
        let lists = &mut batch.workspace.source;
        // Samples that can't be looked up are one task more: policies may read substitutes.
        let bad_task = usize::from(!lists.bad.get_mut().ignore_poison().is_empty());
        self.batch_bytes = lists.plan.runs().iter().map(|run| run.bytes).sum();
        self.check_shards(source, lists)?;
        let most = self.most(source);
        let group = columns.group().max(SMALL_GROUP).min(most);
        lists.tasks.fill(&lists.plan, group, self.enough(source));
        lists.plan.run_views().for_each(|run| RunBytes::advise(dataset, run));
        let tasks = lists.tasks.len() + bad_task;
        batch.content.epoch = self.epoch;
        batch.content.step = self.step;
        batch.content.position = place.after;
        batch.first = place.first;
        self.step += 1;
        Ok(Planned::Tasks(tasks))
    }

    /// Draws the rows of the next step from the order.
    fn draw(&mut self, rows: &mut RowLists, draws: &mut Vec<RowDraw>) -> Result<StepPlace> {
        let place = self.steps.draw(self.step, rows)?;
        draws.clear();
        let planned = rows.planned.iter().enumerate();
        draws.extend(planned.map(|(row, planned)| RowDraw {
            row,
            ordinal: planned.ordinal,
            pass: planned.pass,
        }));
        Ok(place)
    }

    /// The most samples of a task with which every thread has a part of the batch. Only a batch that no other batch is
    /// prepared beside must keep all threads busy: the first, or every one if the budget has no room for two.
    fn most(&self, source: &IndexedSource) -> usize {
        if self.step == 0 || self.budget.depth == 1 {
            source.columns().layout.rows().div_ceil(2 * source.writer.threads).max(1)
        } else {
            usize::MAX
        }
    }

    /// How much work a task should hold.
    fn enough(&self, source: &IndexedSource) -> TaskMinimum {
        let cost = source.counters().sample_cost();
        let samples = cost.map_or(usize::MAX, |cost| samples_of(TASK, cost));
        TaskMinimum { bytes: SHORT, samples: samples.min(self.most(source)) }
    }

    /// Checks each shard that is read from once an epoch: it must still be the file that was opened.
    fn check_shards(&mut self, source: &IndexedSource, lists: &IndexedWorkspace) -> Result<()> {
        let mut unchecked = Vec::new();
        for run in lists.plan.runs().iter().filter(|run| !run.reads.is_empty()) {
            if !std::mem::replace(&mut self.checked[run.shard], true) {
                unchecked.push(run.shard);
            }
        }
        source.dataset.expect_unchanged(&unchecked)
    }

    /// Decides how much memory the variable columns of a batch take. Samples that claim too much of it are bad.
    fn fit(
        &self,
        source: &IndexedSource,
        workspace: &mut BatchWorkspace<IndexedWorkspace>,
        limits: Limits,
    ) -> Result<u64> {
        let bytes = Self::measure(source, workspace)?;
        if bytes <= self.budget.variable {
            return Ok(bytes);
        }
        let BatchWorkspace { rows, source: lists, .. } = &mut *workspace;
        let claims = rows.claims();
        let oversize = oversized(&claims, self.budget.variable);
        let bad = lists.bad.get_mut().ignore_poison();
        let items = (0..lists.plan.items().len()).map(|number| lists.plan.item(number));
        bad.extend(items.filter(|item| oversize.binary_search(&item.row()).is_ok()).map(|item| {
            let error = self.budget.oversize(claims[item.row()], TIMES);
            UnreadableSample {
                row: item.row(),
                ordinal: item.ordinal(),
                error: item.place_part(&source.dataset, error),
                excerpt: false,
            }
        }));
        lists.draws.retain(|draw| bad.iter().all(|bad| bad.row != draw.row));
        let needs = &source.columns().wanted;
        let wanted = WantedParts { needs, pictures: Some(source) };
        lists.plan.fill_excerpts(&source.dataset, &lists.draws, wanted, limits)?;
        bad.extend(lists.plan.take_bad());
        let bytes = Self::measure(source, workspace)?;
        self.budget.allow(bytes, self.epoch, self.step, TIMES)
    }

    /// Bytes that the variable columns of a batch may take.
    fn measure(
        source: &IndexedSource,
        workspace: &mut BatchWorkspace<IndexedWorkspace>,
    ) -> Result<u64> {
        let columns = source.columns();
        let least = match source.on_bad() {
            OnBad::Substitute => source.substitute_bytes()?,
            OnBad::Error | OnBad::Skip => &[],
        };
        let plan = &workspace.source.plan;
        Ok(workspace.rows.measure(columns, least, |column, room| {
            for item in (0..plan.items().len()).map(|number| plan.item(number)) {
                let bytes = variable_bytes(columns, column, item);
                room[item.row()] = usize::try_from(bytes).unwrap_or(usize::MAX);
            }
        }))
    }
}

/// How long reads may be, and how much memory entry points may take. A batch that is large enough is read in four
/// pieces for each thread. The size of the last batch is the estimate for this one.
pub(crate) fn read_limits(batch_bytes: u64, threads: usize, budget: &MemoryBudget) -> Limits {
    let piece = batch_bytes / (4 * threads as u64);
    let run = budget.run.min(piece.max(SHORT));
    Limits { run, gap: GAP, hole: HOLE, entry_points: budget.entry_points }
}

/// How many samples of `cost` take `time`; at least one.
fn samples_of(time: Duration, cost: Duration) -> usize {
    let samples = time.as_nanos().div_ceil(cost.as_nanos().max(1));
    usize::try_from(samples).unwrap_or(usize::MAX)
}
