//! What is the same for everything that mixes the rows of a closed batch: the columns that it adds, the rows that take part, and
//! the key of the draws.

use std::sync::Arc;

use tarflume_device::batch::{Content, RowFacts, RowState};
use tarflume_transforms::mixing::Taker;
use tarflume_types::{DType, Result, Row, RowShape};

use crate::decode::{Decode, DecodeHooks, Sample, Scratch};
use crate::loader::pipeline::columns::ColumnSet;
use crate::order::Key;

/// A column that no part is needed for: its rows are written when the batch is mixed.
struct MixedColumn(RowShape);

impl Decode for MixedColumn {
    fn parts(&self) -> Vec<String> {
        Vec::new()
    }

    fn shape(&self) -> RowShape {
        self.0.clone()
    }

    fn hooks(&self) -> Option<&dyn DecodeHooks> {
        Some(self)
    }

    fn decode(&self, _: &Sample<'_>, _: Row<'_>, _: &mut Scratch) -> Result<()> {
        Ok(())
    }
}

impl DecodeHooks for MixedColumn {
    fn copies(&self) -> bool {
        true
    }
}

/// A column that is written when the batch is mixed.
pub(crate) fn mixed_column(
    name: String,
    dtype: DType,
    shape: Vec<usize>,
) -> (String, Arc<dyn Decode>) {
    (name, Arc::new(MixedColumn(RowShape::Fixed(dtype, shape))))
}

/// The number in the slab of a column that was found before it was given to the set.
pub(crate) fn number_of(columns: &ColumnSet, name: &str) -> usize {
    let found = columns.names.iter().position(|other| other == name);
    found.expect("the columns were found before they were given to the set")
}

/// The rows of a sealed batch that are mixed with each other.
pub(crate) fn takers(facts: &[RowFacts]) -> impl Iterator<Item = Taker> {
    let kept = facts.iter().enumerate().filter(|(_, facts)| facts.state != RowState::Skipped);
    kept.enumerate().filter_map(|(row, (planned, facts))| {
        let takes = facts.state == RowState::Whole && !facts.padding;
        takes.then_some(Taker { row, planned: planned as u64 })
    })
}

/// The key of the draws for a batch whose first row is the sample at position `first` of the epoch.
pub(crate) fn batch_key(content: &Content, seed: u64, purpose: &[u8; 8], first: u64) -> Key {
    // With a split by shard, positions of several ranks are equal; their samples are not.
    let sample = content.facts.first().map_or(0, |facts| facts.planned);
    Key::new(seed, content.epoch, purpose).sub(first).sub(sample)
}
