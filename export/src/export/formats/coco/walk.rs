//! Walks over the samples of an export, in their order.

use tarflume_base::Failure;

use crate::export::job::Job;
use crate::export::row::{ExportRow, Rows};
use crate::export::values::spans::Span;

/// Calls `take` with each sample and its number, from 1.
///
/// # Errors
/// Returns the errors of `take`, and an error if a sidecar or a tar cannot be read.
pub(super) fn each(
    job: &Job<'_>,
    mut take: impl FnMut(u64, &mut ExportRow<'_, '_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut rows = Rows::of(job, Span { shard: 0, row: 0, samples: job.listing.samples() });
    let mut number = 0;
    while let Some(mut row) = rows.next()? {
        number += 1;
        take(number, &mut row)?;
    }
    Ok(())
}
