//! `StepRows`: the samples of each step of an epoch on one rank.

use std::sync::Arc;

use tarflume_device::slab::PackPlace;
use tarflume_types::{Error, Result};

use super::group_rows::{GroupRows, GroupSteps};
use super::progress::GroupProgress;
use crate::loader::pipeline::pending_batch::{PlannedRow, RowLists};
use crate::order::{Cursor, Draw, Lengths, Steps};

/// The steps of an epoch. They are drawn in their order.
pub(crate) enum StepRows {
    /// Positions that are neighbors in the order.
    Neighbors { steps: Steps, cursor: Cursor },
    /// Samples of one bucket, or of some packs.
    Groups { steps: GroupSteps, progress: Arc<GroupProgress>, rows: GroupRows, next: u64 },
}

/// What a step is, beside its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StepPlace {
    /// The position of its first row in the epoch; with buckets and packs, samples of the job that come before.
    pub(crate) first: u64,
    /// The position of the job after it.
    pub(crate) after: u64,
}

impl StepRows {
    /// The number of steps.
    pub(crate) fn count(&self) -> u64 {
        match self {
            StepRows::Neighbors { steps, .. } => steps.count(),
            StepRows::Groups { steps, .. } => steps.count(),
        }
    }

    /// Plans the rows of step `step`.
    ///
    /// # Errors
    /// The step is past the end of the epoch.
    pub(crate) fn draw(&mut self, step: u64, lists: &mut RowLists) -> Result<StepPlace> {
        lists.planned.clear();
        match self {
            StepRows::Neighbors { steps, cursor } => {
                draw_step(steps, cursor, step, |draw, padding| {
                    lists.planned.push(PlannedRow::of(draw, padding));
                })?;
                let first = steps.rows(step).next().map_or(0, |(position, _)| position);
                Ok(StepPlace { first, after: steps.position_after(step) })
            }
            StepRows::Groups { steps, progress, rows, next } => {
                if !steps.next_into(rows) {
                    return Err(Error::usage(format!("step {step} is past the end of the epoch")));
                }
                progress.plan(rows);
                let planned = rows.rows.iter().map(|row| PlannedRow::of(row.draw, row.padding));
                lists.planned.extend(planned);
                lists.packs = rows.packs.map(|packs| packs as usize);
                if let Some(lengths) = progress.lengths() {
                    place(rows, lengths, &mut lists.planned);
                }
                let first = std::mem::replace(next, rows.after);
                Ok(StepPlace { first, after: rows.after })
            }
        }
    }
}

/// Gives rows their places in packs: each begins where the one before it ends.
fn place(rows: &GroupRows, lengths: &Lengths, planned: &mut [PlannedRow]) {
    let mut last = PackPlace::default();
    for (row, planned) in rows.rows.iter().zip(planned) {
        let pack = row.pack as usize;
        let begin = if pack == last.pack { last.begin + last.length } else { 0 };
        let length = lengths.of(row.draw.ordinal) as usize;
        planned.place = PackPlace { pack, begin, length };
        last = planned.place;
    }
}

/// Draws the samples of a step; `each` gets them, and whether a row is padding.
///
/// # Errors
/// The step is past the end of the epoch.
pub(crate) fn draw_step(
    steps: &Steps,
    cursor: &mut Cursor,
    step: u64,
    mut each: impl FnMut(Draw, bool),
) -> Result<()> {
    for (position, padding) in steps.rows(step) {
        if Cursor::position(cursor) != position {
            cursor.seek(position);
        }
        let draw = cursor.next().ok_or_else(|| {
            Error::usage(format!("position {position} is past the end of the epoch"))
        })?;
        each(draw, padding);
    }
    Ok(())
}
