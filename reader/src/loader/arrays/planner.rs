//! `ArrayPlanner`: from the order to batches: which rows the next batch holds.

use crate::loader::arrays::source::ArraySource;
use crate::loader::indexed::groups::step_rows::draw_step;
use crate::loader::indexed::source::IndexedWorkspace;
use crate::loader::pipeline::memory_budget::MemoryBudget;
use crate::loader::pipeline::pending_batch::{PendingBatch, PlannedRow};
use crate::loader::pipeline::source::Planned;
use crate::order::{Cursor, Steps};
use tarflume_types::Result;

/// A row has a key without bytes: the budget of variable columns is all there is to ask.
const TIMES: u64 = 4;

/// Plans the batches of one epoch on one rank.
pub(crate) struct ArrayPlanner {
    steps: Steps,
    cursor: Cursor,
    budget: MemoryBudget,
    epoch: u64,
    /// The next step.
    step: u64,
}

impl ArrayPlanner {
    pub(crate) fn new(
        steps: Steps,
        cursor: Cursor,
        budget: MemoryBudget,
        epoch: u64,
    ) -> ArrayPlanner {
        ArrayPlanner { steps, cursor, budget, epoch, step: 0 }
    }

    /// Steps of the epoch.
    pub(super) fn steps(&self) -> u64 {
        self.steps.count()
    }

    /// Plans the next batch; see [`BatchSource::plan`](crate::loader::pipeline::source::BatchSource::plan).
    pub(super) fn plan(
        &mut self,
        source: &ArraySource,
        batch: &mut PendingBatch<IndexedWorkspace>,
    ) -> Result<Planned> {
        if self.step == self.steps.count() {
            return Ok(Planned::End);
        }
        let rows = &mut batch.workspace.rows;
        rows.planned.clear();
        draw_step(&self.steps, &mut self.cursor, self.step, |draw, padding| {
            rows.planned.push(PlannedRow::of(draw, padding));
        })?;
        rows.reset_outcomes();
        let bytes = rows.measure(&source.writer.columns, &[], |_, _| {});
        let tasks = source.tasks(rows.planned.len());
        batch.variable_bytes = self.budget.allow(bytes, self.epoch, self.step, TIMES)?;
        batch.content.epoch = self.epoch;
        batch.content.step = self.step;
        batch.content.position = self.steps.position_after(self.step);
        batch.first = self.steps.rows(self.step).next().map_or(0, |(position, _)| position);
        self.step += 1;
        Ok(Planned::Tasks(tasks))
    }
}
