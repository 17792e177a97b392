//! `BadRows`: the rows of a prepared batch whose pictures the device could not decode, and how they are left out.
//!
//! Knows batches and the policy; calls no device.

use tarflume_device::batch::{Content, RowState};
use tarflume_device::slab::Slab;
use tarflume_formats::name;
use tarflume_types::{Error, Result};

use crate::loader::bad_samples::OnBad;
use crate::loader::shared::LoaderShared;

/// Bad rows of one batch, by their number in the slab, and why each is bad.
#[derive(Debug, Default)]
pub(crate) struct BadRows(Vec<(usize, Error)>);

impl BadRows {
    /// Adds a row. Of several errors of a row, in several columns, the first counts.
    ///
    /// # Errors
    /// Bad samples are errors.
    pub(crate) fn add(&mut self, on_bad: OnBad, row: usize, error: Error) -> Result<()> {
        if on_bad == OnBad::Error {
            return Err(error);
        }
        if self.0.iter().all(|(other, _)| *other != row) {
            self.0.push((row, error));
        }
        Ok(())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Leaves the rows out of the batch, in all columns. Nothing may read the batch at this time: other rows move.
    pub(crate) fn leave_out(self, content: &mut Content) {
        let rows: Vec<usize> = self.0.iter().map(|(row, _)| *row).collect();
        // All rows are looked up before one is marked: a skipped row changes the numbers of the rows behind it.
        let bad: Vec<_> =
            self.0.into_iter().map(|(row, error)| (facts_of(content, row), error)).collect();
        for (at, error) in bad {
            let Some(at) = at else { continue };
            let facts = &mut content.facts[at];
            (facts.state, facts.ordinal) = (RowState::Skipped, facts.planned);
            // The row of a bad substitute: its list already has the error of the planned sample.
            if content.bad.iter().all(|(row, _)| *row != at) {
                content.bad.push((at, error));
            }
        }
        content.bad.sort_by_key(|(row, _)| *row);
        content.slab.seal(|row| !rows.contains(&row));
    }
}

/// The index in the facts of a row of the slab, which has no skipped rows.
fn facts_of(content: &Content, row: usize) -> Option<usize> {
    let kept = content.facts.iter().enumerate().filter(|(_, f)| f.state != RowState::Skipped);
    kept.map(|(at, _)| at).nth(row)
}

/// The ordinal of the sample in a row of the slab.
pub(crate) fn ordinal(content: &Content, row: usize) -> Option<u64> {
    facts_of(content, row).map(|at| content.facts[at].ordinal)
}

/// The key of the sample in a row of the slab.
pub(crate) fn key(slab: &Slab, row: usize) -> &[u8] {
    let Some(offsets) = slab.offsets(0) else { return &[] };
    &slab.column(0)[offsets[row] - offsets[0]..offsets[row + 1] - offsets[0]]
}

/// Adds the place of the sample in a row to an error.
pub(crate) fn placed(host: &LoaderShared, content: &Content, row: usize, error: Error) -> Error {
    let error = error.with_key(name::shown(key(&content.slab, row)));
    let dataset = host.source.dataset();
    match ordinal(content, row).and_then(|ordinal| dataset.place(ordinal)) {
        Some((shard, _)) => error.with_path(dataset.shard(shard).path()),
        None => error,
    }
}
