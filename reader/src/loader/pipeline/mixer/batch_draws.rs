//! What is the same for everything that mixes the rows of a closed batch: the columns that it needs and adds, the rows that take
//! part, and the key of the draws.

use std::sync::Arc;

use tarflume_device::batch::{Content, RowFacts, RowState};
use tarflume_transforms::mixing::Taker;
use tarflume_types::{DType, Error, Result, Row, RowShape};

use crate::decode::pictures::annotations::on_picture::draws_of_column;
use crate::decode::values::on_picture::PictureDraws;
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

/// The column of pictures `image` among `columns`, for the option of this name.
///
/// # Errors
/// There is no such column of pictures.
pub(super) fn picture_of<'a>(
    option: &str,
    image: &str,
    columns: impl Iterator<Item = (&'a str, &'a dyn Decode)>,
) -> Result<PictureDraws> {
    let columns: Vec<_> = columns.collect();
    let found = columns.iter().find(|(name, _)| *name == image);
    let (name, decode) = found.ok_or_else(|| {
        let names: Vec<_> = columns.iter().map(|(name, _)| *name).collect();
        let names = names.join(", ");
        Error::usage(format!("{option}: there is no column '{image}'; the columns are: {names}"))
    })?;
    draws_of_column(*decode).ok_or_else(|| {
        let text = format!("{option}: its rows are no pictures that a recipe makes, one a row");
        Error::usage(text).of_column(name)
    })
}

/// What `make` returns for the type and shape of the pictures of a column, for the option of this name.
///
/// # Errors
/// The pictures have different sizes, and those of `make`.
pub(super) fn of_pictures<T>(
    option: &str,
    columns: &ColumnSet,
    column: usize,
    make: fn(DType, &[usize]) -> Result<T>,
) -> Result<T> {
    let made = match &columns.layout.shapes()[column] {
        RowShape::Fixed(dtype, shape) => make(*dtype, shape),
        RowShape::Variable(_) | RowShape::Padded(_) | RowShape::Packed(_) => {
            Err(Error::usage(format!(
                "its rows have different sizes, and {option} takes pictures of one size: give its pictures a size, as with \
             FixedSizeCrop, or leave {option} out"
            )))
        }
    };
    made.map_err(|error| error.of_column(&columns.names[column]))
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
