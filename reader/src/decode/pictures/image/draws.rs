//! `ImageDraws`: what the draws of a column's recipe depend on, for each picture. Reads headers only.

use tarflume_image::{Random, StoredPicture, StoredRegion};
use tarflume_types::{DType, Error, Result, Row, RowShape};

use super::opening::of_excerpt;
use super::settings::Image;
use crate::decode::hybrid::pictures::PictureStorage;
use crate::decode::{Decode, DecodeHooks, ForResident, Sample, Scratch};

/// A column of `u64`, `[3]`: the seed of the draws, and the height and the width of the picture as the recipe sees it,
/// upright. The recipe draws the same actions from them again.
pub(super) struct ImageDraws(pub(super) Image);

impl Decode for ImageDraws {
    fn parts(&self) -> Vec<String> {
        self.0.parts()
    }

    fn shape(&self) -> RowShape {
        RowShape::Fixed(DType::U64, vec![3])
    }

    fn validate(&self) -> Result<()> {
        self.0.validate()
    }

    fn decode(&self, sample: &Sample<'_>, row: Row<'_>, _: &mut Scratch) -> Result<()> {
        of_excerpt(self.write(sample, row), sample)
    }

    // Without entry points a decoder gets no excerpt, and the whole part would be read.
    fn wants_entry_points(&self) -> bool {
        true
    }

    fn hooks(&self) -> Option<&dyn DecodeHooks> {
        Some(self)
    }
}

impl ImageDraws {
    fn write(&self, sample: &Sample<'_>, mut row: Row<'_>) -> Result<()> {
        let source = self.0.header(sample)?;
        let turn = if self.0.orientation { source.turn() } else { Default::default() };
        let upright = turn.size(source.size());
        let seed = Random::stream(sample.seed, self.0.stream).seed();
        row.put(bytemuck::bytes_of(&[seed, upright.height.into(), upright.width.into()]))
    }
}

impl DecodeHooks for ImageDraws {
    fn takes_excerpts(&self) -> bool {
        true
    }

    /// No more than the pictures themselves need.
    fn region(&self, picture: &StoredPicture) -> Option<StoredRegion> {
        self.0.region(picture)
    }

    fn for_resident(&self, _: PictureStorage) -> Result<Option<ForResident>> {
        Err(Error::usage(
            "the device draws the crops of a resident data set, and the loader does not get these draws: leave out \
             keep_transforms or the residency",
        ))
    }
}
