//! `FetchedSample`: a sample of an indexed shard whose bytes were read.

use tarflume_types::{Error, Result};

use crate::fetch::run_bytes::RunBytes;
use crate::fetch::view::ItemView;
use crate::loader::indexed::source::IndexedSource;
use crate::loader::pipeline::columns::{ColumnSet, PartBytes, SampleFacts, SampleView};

/// An item of a plan, and the bytes of its run.
#[derive(Clone, Copy)]
pub(crate) struct FetchedSample<'a> {
    pub(crate) source: &'a IndexedSource,
    pub(crate) item: ItemView<'a>,
    pub(crate) fetched: &'a RunBytes,
    /// The pass over the data set, on which random numbers depend.
    pub(crate) pass: u64,
}

impl SampleView for FetchedSample<'_> {
    fn row(&self) -> usize {
        self.item.row()
    }

    fn ordinal(&self) -> u64 {
        self.item.ordinal()
    }

    #[inline]
    fn facts(&self) -> SampleFacts<'_> {
        let ordinal = self.item.ordinal();
        let seed = self.source.sample_seed(self.pass, ordinal);
        SampleFacts { key: self.item.key(), ordinal, seed }
    }

    #[inline]
    fn part(&self, need: usize) -> PartBytes<'_> {
        let part = &self.item.parts()[need];
        let ext = part.ext.map_or("", |ext| self.source.columns().wanted.ext(ext));
        let entry_points = self.item.entry_points(part);
        let excerpt = self.item.excerpt(part);
        PartBytes { ext, bytes: self.fetched.bytes(part), entry_points, excerpt }
    }

    fn verify(&self) -> Result<()> {
        let IndexedSource { dataset, verify, .. } = self.source;
        let wanted = &self.source.columns().wanted;
        self.fetched.verify(dataset, self.item, wanted, *verify, self.pass)
    }

    fn locate(&self, need: Option<usize>, error: Error) -> Error {
        // An error of the whole sample is at its first part.
        let part = self.item.parts().get(need.unwrap_or(0));
        let error = error.in_part(part.map_or(0, |part| part.at));
        self.item.place(&self.source.dataset, error)
    }
}

/// Bytes that a planned sample may take in a slab column; 0 in a fixed one.
pub(super) fn item_bytes(columns: &ColumnSet, column: usize, item: ItemView<'_>) -> u64 {
    if columns.is_variable(column) { variable_bytes(columns, column, item) } else { 0 }
}

/// Bytes that a planned sample may take in a variable slab column.
#[inline]
pub(super) fn variable_bytes(columns: &ColumnSet, column: usize, item: ItemView<'_>) -> u64 {
    let parts = item.parts();
    columns.room(column, item.key().len(), |n| (parts[n].length, parts[n].pixels))
}
