//! What is drawn for each picture: `ImageDraws` has what the draws depend on, `Geometry` where pixels go. Reads headers only.

use std::sync::Arc;

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
    /// The size of what the placement or these actions make.
    pub(in crate::decode) fn result(&self, actions: &[Action]) -> ImageSize {
        match self.placement {
            Some(placement) => placement.size,
            None => actions.iter().fold(self.upright(), |size, action| action.size(size)),
        }
    }

    /// The size of the upright picture.
    pub(in crate::decode) fn upright(&self) -> ImageSize {
        self.turn.size(self.stored)
    }
}

impl Image {
    /// Reads the header of the picture of a sample.
    ///
    /// # Errors
    /// The header is damaged.
    pub(in crate::decode) fn stored_geometry(&self, sample: &Sample<'_>) -> Result<Geometry> {
        let source = match (self.header(sample), sample.excerpt(0)) {
            (Err(error), Some(_)) => return Err(error.with_fault(DecodeFault::Excerpt)),
            (source, _) => source?,
        };
        let turn = if self.orientation { source.turn() } else { Turn::default() };
        Ok(Geometry { stored: source.size(), turn, placement: None })
    }

    /// Draws what happens to the picture of the sample of this seed. The actions of a recipe, which are for the upright
    /// picture, are appended to `actions`. `boxes` are those of the upright picture, for a recipe that draws with them.
    ///
    /// # Errors
    /// The transform cannot use the picture.
    pub(in crate::decode) fn draw_geometry(
        &self,
        seed: u64,
        geometry: &mut Geometry,
        boxes: Option<&[[f64; 4]]>,
        actions: &mut Vec<Action>,
    ) -> Result<()> {
        let upright = geometry.upright();
        if let Some(recipe) = &self.recipe {
            recipe.draw_with(seed, self.stream, self.shape_of(upright), boxes, actions)?;
            return Ok(());
        }
        let placement = self.transform.place(upright, &mut Random::stream(seed, self.stream))?;
        placement.check(upright)?;
        self.check_size(placement.size)?;
        geometry.placement = Some(placement);
        Ok(())
    }

    /// Whether the recipe draws with the boxes of a picture.
    pub(in crate::decode) fn needs_boxes(&self) -> bool {
        self.recipe.as_ref().is_some_and(|recipe| recipe.needs_boxes())
    }

    /// The name of an operation that annotations cannot follow.
    pub(in crate::decode) fn blends(&self) -> Option<&'static str> {
        self.recipe.as_ref().and_then(|recipe| recipe.blends())
    }

    /// The column for one picture with these boxes.
    pub(in crate::decode) fn with_boxes(&self, boxes: &[[f64; 4]]) -> Image {
        Image { boxes: Some(Arc::from(boxes)), ..self.clone() }
    }

    /// The stream of its draws.
    pub(in crate::decode) fn draws_from(&self) -> u64 {
        self.stream
    }

    /// The address of its transform, which its clones share.
    pub(in crate::decode) fn transform_address(&self) -> usize {
        Arc::as_ptr(&self.transform).cast::<()>().addr()
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
