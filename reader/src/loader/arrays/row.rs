//! `ArrayRow`: one row of all arrays, whose bytes were read.

use tarflume_types::{Error, Result};

use crate::loader::arrays::buffers::ArrayBuffers;
use crate::loader::arrays::rows::ArrayRows;
use crate::loader::indexed::source::sample_seed;
use crate::loader::pipeline::columns::{PartBytes, SampleFacts, SampleView};
use crate::loader::pipeline::pending_batch::PlannedRow;

/// A row of a batch, and the bytes of the arrays in it.
#[derive(Clone, Copy)]
pub(crate) struct ArrayRow<'a> {
    pub(crate) arrays: &'a ArrayRows,
    pub(crate) buffers: &'a ArrayBuffers,
    /// The seed of the order.
    pub(crate) seed: u64,
    /// The row of the batch.
    pub(crate) row: usize,
    /// The place of the row in the buffers.
    pub(crate) at: usize,
    pub(crate) planned: PlannedRow,
}

impl SampleView for ArrayRow<'_> {
    fn row(&self) -> usize {
        self.row
    }

    fn ordinal(&self) -> u64 {
        self.planned.ordinal
    }

    /// Rows of arrays have numbers and no keys.
    #[inline]
    fn facts(&self) -> SampleFacts<'_> {
        let PlannedRow { ordinal, pass, .. } = self.planned;
        SampleFacts { key: &[], ordinal, seed: sample_seed(self.seed, pass, ordinal) }
    }

    /// The parts of the columns are the arrays, in their order.
    #[inline]
    fn part(&self, need: usize) -> PartBytes<'_> {
        PartBytes { bytes: self.buffers.row(need, self.at), ..PartBytes::default() }
    }

    /// Arrays have no checksums of rows.
    fn verify(&self) -> Result<()> {
        Ok(())
    }

    fn locate(&self, need: Option<usize>, error: Error) -> Error {
        match self.arrays.arrays().nth(need.unwrap_or(0)) {
            Some(array) => error.with_path(array.path()).with_key(self.planned.ordinal.to_string()),
            None => error,
        }
    }
}
