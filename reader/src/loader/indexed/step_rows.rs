//! `StepRows`: the samples of each step of an epoch on one rank.

use std::sync::Arc;

use tarflume_types::{Error, Result};

use crate::loader::indexed::buckets::BucketProgress;
use crate::order::{BucketSteps, Cursor, Draw, Steps};

/// The steps of an epoch. They are drawn in their order.
pub(crate) enum StepRows {
    /// Positions that are neighbors in the order.
    Neighbors { steps: Steps, cursor: Cursor },
    /// Samples of one bucket.
    Buckets { steps: BucketSteps, progress: Arc<BucketProgress>, next: u64 },
}

/// What a step is, beside its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StepPlace {
    /// The position of its first row in the epoch; with buckets, samples of the job that come before.
    pub(crate) first: u64,
    /// The position of the job after it.
    pub(crate) after: u64,
}

impl StepRows {
    /// The number of steps.
    pub(crate) fn count(&self) -> u64 {
        match self {
            StepRows::Neighbors { steps, .. } => steps.count(),
            StepRows::Buckets { steps, .. } => steps.count(),
        }
    }

    /// Draws the samples of step `step`; `each` gets them, and whether a row is padding.
    ///
    /// # Errors
    /// The step is past the end of the epoch.
    pub(crate) fn draw(
        &mut self,
        step: u64,
        mut each: impl FnMut(Draw, bool),
    ) -> Result<StepPlace> {
        match self {
            StepRows::Neighbors { steps, cursor } => {
                draw_step(steps, cursor, step, each)?;
                let first = steps.rows(step).next().map_or(0, |(position, _)| position);
                Ok(StepPlace { first, after: steps.position_after(step) })
            }
            StepRows::Buckets { steps, progress, next } => {
                let batch = steps.next_batch().ok_or_else(|| {
                    Error::usage(format!("step {step} is past the end of the epoch"))
                })?;
                batch.rows.iter().for_each(|row| each(row.draw, row.padding));
                let after = progress.plan(batch.taken);
                let first = std::mem::replace(next, after);
                Ok(StepPlace { first, after })
            }
        }
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
