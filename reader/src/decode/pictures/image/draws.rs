//! What is drawn for each picture: `ImageDraws` has what the draws depend on, `Geometry` where pixels go. Reads headers only.

use tarflume_image::{Extent, ImageSize, Placement, Random, StoredPicture, StoredRegion, Turn};
use tarflume_transforms::actions::Action;
use tarflume_types::{DType, DecodeFault, Error, Result, Row, RowShape};

use super::opening::{UNKNOWN, of_excerpt};
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

/// Where the pixels of a picture go, for what has to follow them.
#[derive(Debug, Clone, Copy)]
pub(in crate::decode) struct Geometry {
    /// The size of the stored picture.
    pub(in crate::decode) stored: ImageSize,
    /// The turn from the stored picture to the upright one; none if the column ignores the orientation.
    pub(in crate::decode) turn: Turn,
    /// What a transform that is no recipe does with the upright picture.
    pub(in crate::decode) placement: Option<Placement>,
}

impl Geometry {
    /// The size of the upright picture.
    pub(in crate::decode) fn upright(&self) -> ImageSize {
        self.turn.size(self.stored)
    }
}

impl Image {
    /// Reads the header of the picture of a sample and draws what happens to it. The actions of a recipe, which are for the
    /// upright picture, are appended to `actions`.
    ///
    /// # Errors
    /// The header is damaged, or the transform cannot use the picture.
    pub(in crate::decode) fn geometry(
        &self,
        sample: &Sample<'_>,
        actions: &mut Vec<Action>,
    ) -> Result<Geometry> {
        let geometry = self.drawn_geometry(sample, actions);
        match sample.excerpt(0) {
            Some(_) => geometry.map_err(|error| error.with_fault(DecodeFault::Excerpt)),
            None => geometry,
        }
    }

    fn drawn_geometry(
        &self,
        sample: &Sample<'_>,
        actions: &mut Vec<Action>,
    ) -> Result<Geometry> {
        let source = self.header(sample)?;
        let stored = source.size();
        let turn = if self.orientation { source.turn() } else { Turn::default() };
        let upright = turn.size(stored);
        if let Some(recipe) = &self.recipe {
            recipe.draw(sample.seed, self.stream, self.shape_of(upright), actions)?;
            return Ok(Geometry { stored, turn, placement: None });
        }
        let random = &mut Random::stream(sample.seed, self.stream);
        let placement = self.transform.place(upright, random)?;
        placement.check(upright)?;
        self.check_size(placement.size)?;
        Ok(Geometry { stored, turn, placement: Some(placement) })
    }

    /// The most pixels of a result, for a stored picture of `pixels` pixels if that is known.
    pub(in crate::decode) fn result_pixels(&self, pixels: Option<u64>) -> u64 {
        match self.transform.extent() {
            Extent::Fixed(size) => size.pixels(),
            Extent::UpTo(_) => {
                let known = pixels.filter(|&pixels| pixels != UNKNOWN);
                self.transform.most(known.unwrap_or(self.most_pixels))
            }
        }
    }

    /// Which stream of the sample's random numbers it uses.
    pub(in crate::decode) fn stream_number(&self) -> u64 {
        self.stream
    }

    /// The size of each result, if all have the same.
    pub(in crate::decode) fn result_size(&self) -> Option<ImageSize> {
        match self.transform.extent() {
            Extent::Fixed(size) => Some(size),
            Extent::UpTo(_) => None,
        }
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
