//! `BoxedImage`: a column of pictures whose recipe draws with the boxes that lie on them.

use std::sync::Arc;

use tarflume_image::Random;
use tarflume_types::{DType, Error, Result, Row, RowShape};

use super::group::Group;
use super::on_picture::draws_of;
use crate::decode::pictures::in_buckets::{BucketDecoder, InBuckets};
use crate::decode::values::on_picture::{OnPicture, PictureRows};
use crate::decode::values::picture_buckets::PictureBuckets;
use crate::decode::{ColumnRecipe, Decode, DecodeHooks, Sample, Scratch};

/// The places of the picture and of the annotations among the parts.
const PICTURE: usize = 0;
const JSON: usize = 1;
/// Bytes of memory for each byte of the JSON part: its boxes as floats, in lists that grow by doubling. Boxes with an angle are
/// in three lists.
const READ: u64 = 32;

/// A column of pictures whose recipe draws with the boxes that lie on them, as
/// [`RandomIoUCrop`](crate::transforms::operations::detection::RandomIoUCrop) does. [`Annotations::picture`] makes it.
///
/// The host decodes such pictures, and reads them whole.
///
/// [`Annotations::picture`]: crate::Annotations::picture
#[derive(Debug, Clone)]
pub struct BoxedImage {
    group: Arc<Group>,
}

/// A column of what the draws depend on: the seed, height and width of the upright picture, and the bits of its boxes.
#[derive(Debug)]
struct BoxedDraws(BoxedImage);

/// The sample as the `Image` inside gets it: the picture alone.
fn without_boxes<'a>(sample: &Sample<'a>) -> Sample<'a> {
    Sample {
        parts: &sample.parts[..=PICTURE],
        entry_points: sample.entry_points.get(..=PICTURE).unwrap_or_default(),
        excerpts: &[],
        ..*sample
    }
}

impl BoxedImage {
    pub(super) fn new(group: Arc<Group>) -> BoxedImage {
        BoxedImage { group }
    }
}

impl Decode for BoxedImage {
    fn parts(&self) -> Vec<String> {
        let mut parts = self.group.image.parts();
        parts.push(self.group.part.clone());
        parts
    }

    fn shape(&self) -> RowShape {
        self.group.image.shape()
    }

    fn validate(&self) -> Result<()> {
        self.group.check_boxes()?;
        // Checks the picture, too.
        self.group.boxes_at().map_or(Ok(()), |at| self.group.check(at))
    }

    fn room(&self, lengths: &[u64]) -> u64 {
        self.group.image.room(&lengths[..=PICTURE])
    }

    fn decode(&self, sample: &Sample<'_>, row: Row<'_>, scratch: &mut Scratch) -> Result<()> {
        let picture = without_boxes(sample);
        let mut boxes = Vec::new();
        scratch.beside(READ * sample.part(JSON).len() as u64);
        let geometry = self.group.image.stored_geometry(&picture)?;
        self.group.upright_boxes(sample.part(JSON), &geometry, &mut boxes)?;
        let image = self.group.image.with_boxes(&boxes);
        image.decode(&picture, row, scratch)?;
        scratch.reserve_beside()
    }

    fn wants_entry_points(&self) -> bool {
        true
    }

    fn hooks(&self) -> Option<&dyn DecodeHooks> {
        Some(self)
    }
}

impl DecodeHooks for BoxedImage {
    fn in_buckets(&self, of: &PictureBuckets) -> Option<Arc<dyn Decode>> {
        let is_sized = self.lacks_bucket();
        is_sized.then(|| {
            let groups = self.group.in_buckets(of);
            Arc::new(InBuckets::new(of, |number, size| {
                let group = groups[number].clone();
                let size = group.image.result_size().unwrap_or(size);
                let picture = Some(group.image.pictured(size));
                BucketDecoder::new(BoxedImage { group }, picture)
            })) as Arc<dyn Decode>
        })
    }

    fn lacks_bucket(&self) -> bool {
        self.group.image.lacks_bucket()
    }

    fn picture_part(&self) -> Option<usize> {
        Some(PICTURE)
    }

    fn on_picture(&self) -> Option<OnPicture> {
        let picture = draws_of(&self.group.image);
        Some(OnPicture { picture, group: 0, rows: PictureRows::Picture })
    }

    fn wants_pixels(&self) -> bool {
        self.group.image.result_size().is_none()
    }

    fn room_of(&self, lengths: &[u64], pixels: &[Option<u64>]) -> Option<u64> {
        DecodeHooks::room_of(&self.group.image, &lengths[..=PICTURE], &pixels[..=PICTURE])
    }

    fn recipe(&self) -> Option<ColumnRecipe<'_>> {
        let of = self.group.image.recipe()?;
        Some(ColumnRecipe { draws: Arc::new(BoxedDraws(self.clone())), ..of })
    }

    fn for_resident(
        &self,
        _: crate::decode::hybrid::pictures::PictureStorage,
    ) -> Result<Option<crate::decode::ForResident>> {
        Err(Error::usage(
            "the device draws the crops of a resident data set, and has no boxes to draw with: use a loader without Resident \
             (`Residency`), or a recipe without RandomIoUCrop",
        ))
    }
}

impl Decode for BoxedDraws {
    fn parts(&self) -> Vec<String> {
        self.0.parts()
    }

    fn shape(&self) -> RowShape {
        RowShape::Variable(DType::U64)
    }

    fn room(&self, lengths: &[u64]) -> u64 {
        let json = lengths.get(JSON).copied().unwrap_or(0);
        8 * 3 + self.0.group.most_boxes(json) * 4 * 8
    }

    fn decode(&self, sample: &Sample<'_>, mut row: Row<'_>, _: &mut Scratch) -> Result<()> {
        let Group { image, .. } = &*self.0.group;
        let geometry = image.stored_geometry(&without_boxes(sample))?;
        let upright = geometry.upright();
        let seed = Random::stream(sample.seed, image.draws_from()).seed();
        let mut boxes = Vec::new();
        self.0.group.upright_boxes(sample.part(JSON), &geometry, &mut boxes)?;
        let mut words = vec![seed, upright.height.into(), upright.width.into()];
        words.extend(boxes.iter().flatten().map(|number| number.to_bits()));
        row.put(bytemuck::cast_slice(&words))
    }
}
